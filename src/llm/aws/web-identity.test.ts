import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { systemClock } from "../../base/clock.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveAwsCredentials } from "./credentials.ts"
import type { FetchText } from "./identity.ts"

const ROLE = "arn:aws:iam::1:role/agent"
const ANSWER = `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
  <AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s3+/=</SecretAccessKey><SessionToken>t&amp;1</SessionToken>
  <Expiration>2026-11-15T08:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`

interface Sent {
  readonly url: string
  readonly method: string
  readonly form: Readonly<Record<string, string>>
}

async function exchange(
  variables: Readonly<Record<string, string>>,
  answer: () => Awaited<ReturnType<FetchText>>,
  file = "token-1\n",
) {
  await using testHome = await temporaryHome({ workFiles: { token: file } })
  const sent: Sent[] = []
  const found = await resolveAwsCredentials({
    environment: environmentFrom({ AWS_WEB_IDENTITY_TOKEN_FILE: `${testHome.workdir}/token`, ...variables }),
    userHome: testHome.userHome,
    clock: systemClock,
    signal: new AbortController().signal,
    fetchText: (url, { method, body }) => {
      sent.push({ url, method, form: Object.fromEntries(new URLSearchParams(body)) })
      return Promise.resolve().then(answer)
    },
  })
  return { found, sent }
}

test("the token of the file is exchanged for temporary keys", async () => {
  const variables = { AWS_ROLE_ARN: ROLE, AWS_REGION: "eu-west-1", AWS_ROLE_SESSION_NAME: "pod-7" }
  expect(await exchange(variables, () => ({ status: 200, body: ANSWER }))).toEqual({
    found: {
      ok: true,
      value: {
        kind: "keys",
        accessKeyId: "ASIA1",
        secretAccessKey: "s3+/=",
        sessionToken: "t&1",
        expiresAt: Date.parse("2026-11-15T08:00:00Z"),
        source: `AWS web identity ${ROLE}`,
      },
    },
    sent: [
      {
        url: "https://sts.eu-west-1.amazonaws.com/",
        method: "POST",
        form: {
          Action: "AssumeRoleWithWebIdentity",
          Version: "2011-06-15",
          RoleArn: ROLE,
          RoleSessionName: "pod-7",
          WebIdentityToken: "token-1",
        },
      },
    ],
  })
})

test.each([
  [{}, "https://sts.us-east-1.amazonaws.com/"],
  [{ AWS_DEFAULT_REGION: "cn-north-1" }, "https://sts.cn-north-1.amazonaws.com.cn/"],
])("%j sends the request to %s with our session name", async (variables, url) => {
  const { sent } = await exchange({ AWS_ROLE_ARN: ROLE, ...variables }, () => ({ status: 200, body: ANSWER }))
  expect(sent).toMatchObject([{ url, form: { RoleSessionName: "hermes-agent" } }])
})

test.each<[string, Readonly<Record<string, string>>, () => Awaited<ReturnType<FetchText>>, string]>([
  [
    "refused",
    { AWS_ROLE_ARN: ROLE },
    () => ({ status: 403, body: "<Error><Message>Not authorized</Message></Error>" }),
    "AWS refused the web identity token: Not authorized. Check AWS_ROLE_ARN and the trust policy of the role",
  ],
  [
    "a response without keys",
    { AWS_ROLE_ARN: ROLE },
    () => ({ status: 200, body: "<html>" }),
    `AWS returned no keys for ${ROLE}. Check the role`,
  ],
  [
    "no response",
    { AWS_ROLE_ARN: ROLE },
    () => {
      throw new Error("fetch failed")
    },
    "sts.us-east-1.amazonaws.com does not respond, so the web identity token cannot be exchanged",
  ],
  [
    "no such file",
    { AWS_ROLE_ARN: ROLE, AWS_WEB_IDENTITY_TOKEN_FILE: "/no/such/file" },
    () => ({ status: 200, body: ANSWER }),
    "the file /no/such/file of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read",
  ],
])("%s", async (_name, variables, answer, error) => {
  expect((await exchange(variables, answer)).found).toEqual({ ok: false, error })
})
