import { createHash, createHmac } from "node:crypto"

import type { RequestBody } from "../http/request-body.ts"
import type { AwsKeys } from "./identity.ts"

/**
 * Signs a request with AWS Signature Version 4. Returns the headers to add: `authorization`, `x-amz-date` and, with temporary
 * keys, `x-amz-security-token`. Signs every header passed in, except those a proxy may change.
 */
export function signRequest(request: RequestToSign): Record<string, string> {
  const stamp = timeStamp(request.now)
  const added = {
    "x-amz-date": stamp,
    ...(request.credentials.sessionToken === undefined
      ? {}
      : { "x-amz-security-token": request.credentials.sessionToken }),
  }
  const headers = signedHeaders({ ...request.headers, ...added, host: request.url.host })
  const names = headers.map(([name]) => name).join(";")
  const canonical = [
    request.method,
    canonicalPath(request.url.pathname),
    canonicalQuery(request.url.searchParams),
    ...headers.map(([name, value]) => `${name}:${value}`),
    "",
    names,
    bodyHash(request.body),
  ].join("\n")
  const scope = `${stamp.slice(0, 8)}/${request.region}/${request.service}/aws4_request`
  const toSign = [ALGORITHM, stamp, scope, sha256(canonical)].join("\n")
  const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${request.credentials.secretAccessKey}`)
  const signature = hmac(key, toSign).toString("hex")
  return {
    ...added,
    authorization: `${ALGORITHM} Credential=${request.credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}

export interface RequestToSign {
  readonly method: "GET" | "POST"
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | RequestBody
  readonly credentials: Pick<AwsKeys, "accessKeyId" | "secretAccessKey" | "sessionToken">
  readonly region: string
  readonly service: string
  /** Epoch milliseconds. AWS refuses a signature that is more than five minutes off. */
  readonly now: number
}

const ALGORITHM = "AWS4-HMAC-SHA256"

/** Set or changed by the client or a proxy after signing. */
const UNSIGNED: ReadonlySet<string> = new Set([
  "accept-encoding",
  "authorization",
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
])

function signedHeaders(headers: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value.trim().replaceAll(/\s+/g, " ")] as const)
    .filter(([name]) => !UNSIGNED.has(name))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
}

/** Every service except S3 signs the sent path encoded once more: `%3A` in a model's name is signed as `%253A`. */
function canonicalPath(pathname: string): string {
  return pathname
    .replaceAll(/\/{2,}/g, "/")
    .split("/")
    .map(awsEncode)
    .join("/")
}

/** Sorts by name and value before joining, because `=` would sort among the characters of a name. */
function canonicalQuery(query: URLSearchParams): string {
  return [...query]
    .map(([name, value]) => [awsEncode(name), awsEncode(value)] as const)
    .toSorted(([nameA, valueA], [nameB, valueB]) =>
      nameA === nameB ? (valueA < valueB ? -1 : 1) : nameA < nameB ? -1 : 1,
    )
    .map(([name, value]) => `${name}=${value}`)
    .join("&")
}

/** Percent-encoding of everything but `A–Z a–z 0–9 - . _ ~`, as AWS requires in paths and queries. */
export function awsEncode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** `20150830T123600Z` */
function timeStamp(now: number): string {
  return `${new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`
}

function bodyHash(body: string | RequestBody): string {
  if (typeof body === "string") return sha256(body)
  const hash = createHash("sha256")
  for (const chunk of body.chunks) hash.update(chunk)
  return hash.digest("hex")
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest()
}
