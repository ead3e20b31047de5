import { describe, expect, test } from "vitest"

import { awsEncode, signRequest } from "./sign.ts"
import type { RequestToSign } from "./sign.ts"

const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" }
const STAMP = "20150830T123600Z"

describe("signRequest", () => {
  // The first five are of the test suite that AWS publishes; the others were signed by botocore 1.43.
  test.each<[string, Partial<RequestToSign> & { address: string }, string, string]>([
    [
      "get-vanilla",
      { method: "GET", address: "https://example.amazonaws.com/" },
      "host;x-amz-date",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ],
    [
      "post-vanilla",
      { address: "https://example.amazonaws.com/" },
      "host;x-amz-date",
      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    ],
    [
      "post-vanilla-query",
      { address: "https://example.amazonaws.com/?Param1=value1" },
      "host;x-amz-date",
      "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
    ],
    [
      "post-header-key-sort",
      { address: "https://example.amazonaws.com/", headers: { "My-Header1": "value1" } },
      "host;my-header1;x-amz-date",
      "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    ],
    [
      "post-x-www-form-urlencoded",
      {
        address: "https://example.amazonaws.com/",
        headers: { "Content-Type": "application/x-www-form-urlencoded" },
        body: "Param1=value1",
      },
      "content-type;host;x-amz-date",
      "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ],
    [
      "a model whose name is encoded",
      {
        address:
          "https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
        headers: { "content-type": "application/json", accept: "application/vnd.amazon.eventstream" },
        body: '{"messages":[]}',
        region: "eu-west-1",
        service: "bedrock",
      },
      "accept;content-type;host;x-amz-date",
      "ad6f3d1ffcaf0962b5ffaf7fb5dd6dcc920e42e70b41b10b4d194442f069ccb6",
    ],
    [
      "temporary keys, a resource name, a query, spaces in a header, a body beyond ASCII",
      {
        address:
          "https://bedrock-runtime.us-west-2.amazonaws.com/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A123456789012%3Ainference-profile%2Fus.meta.llama3-1-8b-instruct-v1%3A0/converse-stream?b=2&a=x%20y&a=1",
        headers: { "content-type": "application/json", "x-note": "a   b " },
        body: '{"größe":"ü"}',
        credentials: { ...KEYS, sessionToken: "TOKEN+/=" },
        region: "us-west-2",
        service: "bedrock",
      },
      "content-type;host;x-amz-date;x-amz-security-token;x-note",
      "7e4b8f043c83a3df8d6a8ba986fcba1478fd2741eff8d77099eb3d54461a49d3",
    ],
  ])("%s", (_name, { address, ...parts }, names, signature) => {
    const request = requestOf(address, parts)
    const scope = `20150830/${request.region}/${request.service}/aws4_request`
    const token = request.credentials.sessionToken
    expect(signRequest(request)).toEqual({
      "x-amz-date": STAMP,
      ...(token === undefined ? {} : { "x-amz-security-token": token }),
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    })
  })

  test("headers that a proxy may change are not signed", () => {
    const plain = requestOf("https://example.amazonaws.com/", {})
    const headers = { "User-Agent": "hermes", Connection: "keep-alive", "content-length": "0", authorization: "old" }
    expect(signRequest({ ...plain, headers })).toEqual(signRequest(plain))
  })

  test("a non-default port is part of the host", () => {
    const at = (address: string) => signRequest(requestOf(address, {}))
    expect(at("https://example.amazonaws.com:443/")).toEqual(at("https://example.amazonaws.com/"))
    expect(at("https://example.amazonaws.com:8443/")).not.toEqual(at("https://example.amazonaws.com/"))
  })
})

test.each([
  ["anthropic.claude-v2:1", "anthropic.claude-v2%3A1"],
  ["arn:aws:bedrock:x:1:inference-profile/us.a", "arn%3Aaws%3Abedrock%3Ax%3A1%3Ainference-profile%2Fus.a"],
  ["a~b_c-d.e!'()*", "a~b_c-d.e%21%27%28%29%2A"],
])("awsEncode %s", (text, encoded) => {
  expect(awsEncode(text)).toBe(encoded)
})

function requestOf(address: string, parts: Partial<RequestToSign>): RequestToSign {
  return {
    method: "POST",
    url: new URL(address),
    headers: {},
    body: "",
    credentials: KEYS,
    region: "us-east-1",
    service: "service",
    now: Date.UTC(2015, 7, 30, 12, 36, 0),
    ...parts,
  }
}
