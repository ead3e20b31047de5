import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

import { describe, expect, onTestFinished, test } from "vitest"

import { systemClock } from "../../base/clock.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveAwsCredentials } from "./credentials.ts"
import type { FetchText } from "./identity.ts"

const PAIR = { AWS_ACCESS_KEY_ID: "AKID", AWS_SECRET_ACCESS_KEY: "secret" }
const FILES = {
  ".aws/credentials": `
# comment
[default]
aws_access_key_id = DEFAULT_ID
aws_secret_access_key=default+secret/=

[work]
AWS_ACCESS_KEY_ID = WORK_ID
aws_secret_access_key = work-secret ; a note
aws_session_token = work-token
`,
  ".aws/config": `
[default]
region = eu-north-1
[profile work]
region=ap-southeast-2
s3 =
    max_concurrent_requests = 20
[profile "login"]
sso_session = company
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = default
[profile empty]
region = us-west-1
`,
}

describe("the order", () => {
  test("a bearer token wins over a key pair, and nothing is signed", async () => {
    expect(await resolve({ variables: { ...PAIR, AWS_BEARER_TOKEN_BEDROCK: " token " }, files: FILES })).toEqual({
      ok: true,
      value: { kind: "bearer", token: "token", source: "AWS_BEARER_TOKEN_BEDROCK" },
    })
  })

  test("a key pair wins over a profile", async () => {
    expect(
      await resolve({ variables: { ...PAIR, AWS_SESSION_TOKEN: "st", AWS_PROFILE: "work" }, files: FILES }),
    ).toEqual({
      ok: true,
      value: {
        kind: "keys",
        accessKeyId: "AKID",
        secretAccessKey: "secret",
        sessionToken: "st",
        source: "AWS_ACCESS_KEY_ID",
      },
    })
  })

  test("half a key pair is reported", async () => {
    expect(await resolve({ variables: { AWS_ACCESS_KEY_ID: "AKID" } })).toEqual({
      ok: false,
      error: "AWS_SECRET_ACCESS_KEY is not set, but the other half of the key pair is. Set both or none",
    })
  })

  test("without credentials the message names what to set", async () => {
    expect(await resolve({})).toEqual({
      ok: false,
      error:
        "no AWS credentials were found. Set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or choose a profile with AWS_PROFILE",
    })
  })

  test("a web identity is not replaced by the instance's role", async () => {
    const found = await resolve({ variables: { AWS_WEB_IDENTITY_TOKEN_FILE: "/token" }, answers: INSTANCE })
    expect(found).toEqual({
      ok: false,
      error: "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not. Set both",
    })
  })
})

describe("profiles", () => {
  test.each([
    [undefined, { accessKeyId: "DEFAULT_ID", secretAccessKey: "default+secret/=", source: "AWS profile default" }],
    [
      "work",
      {
        accessKeyId: "WORK_ID",
        secretAccessKey: "work-secret",
        sessionToken: "work-token",
        source: "AWS profile work",
      },
    ],
  ])("AWS_PROFILE=%s", async (name, expected) => {
    expect(await resolve({ variables: { AWS_PROFILE: name }, files: FILES })).toEqual({
      ok: true,
      value: { kind: "keys", ...expected },
    })
  })

  test.each([
    [
      "nowhere",
      'AWS_PROFILE names the profile "nowhere", which is not in the files under ~/.aws. Check the name with `aws configure list-profiles`',
    ],
    ["login", 'the AWS profile "login" names the sso-session "company", which is not in ~/.aws/config'],
    ["role", 'sts.us-east-1.amazonaws.com does not respond, so the role of the AWS profile "role" cannot be assumed'],
    [
      "empty",
      'the AWS profile "empty" has no keys. Export keys with `aws configure export-credentials --profile empty --format env`',
    ],
  ])("the profile %s is reported with its problem", async (name, error) => {
    expect(await resolve({ variables: { AWS_PROFILE: name }, files: FILES, answers: INSTANCE })).toEqual({
      ok: false,
      error,
    })
  })

  test("the files may be elsewhere", async () => {
    const files = { "elsewhere/keys": "[default]\naws_access_key_id=A\naws_secret_access_key=B\n" }
    expect(await resolve({ variables: { AWS_SHARED_CREDENTIALS_FILE: "~/elsewhere/keys" }, files })).toEqual({
      ok: true,
      value: { kind: "keys", accessKeyId: "A", secretAccessKey: "B", source: "AWS profile default" },
    })
  })

  test("a default profile with only a region is skipped", async () => {
    const files = { ".aws/config": "[default]\nregion = eu-north-1\n" }
    expect(await resolve({ files, answers: INSTANCE })).toMatchObject({ ok: true, value: { accessKeyId: "IMDS" } })
  })

  test("a file that cannot be read is reported", async () => {
    const files = { ".aws/credentials/file": "" }
    const found = await resolve({ files })
    expect(found.ok ? "" : found.error).toMatch(/^the AWS file .*credentials cannot be read: it is a directory$/)
  })
})

const ISSUED = JSON.stringify({
  AccessKeyId: "IMDS",
  SecretAccessKey: "s",
  Token: "t",
  Expiration: "2030-01-01T00:00:00Z",
})
const METADATA = "http://169.254.169.254/latest"
const INSTANCE: Answers = {
  [`PUT ${METADATA}/api/token`]: "imds-token",
  [`GET ${METADATA}/meta-data/iam/security-credentials/`]: "my-role\n",
  [`GET ${METADATA}/meta-data/iam/security-credentials/my-role`]: ISSUED,
}
const ISSUED_KEYS = {
  kind: "keys",
  accessKeyId: "IMDS",
  secretAccessKey: "s",
  sessionToken: "t",
  expiresAt: Date.UTC(2030, 0, 1),
} as const

describe("containers", () => {
  test("the relative address is requested from the task's endpoint", async () => {
    const variables = { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: "/v2/x" }
    expect(await resolve({ variables, answers: { "GET http://169.254.170.2/v2/x": ISSUED } })).toEqual({
      ok: true,
      value: { ...ISSUED_KEYS, source: "AWS container credentials" },
    })
  })

  test("sends the token of the file", async () => {
    const seen: Seen[] = []
    const found = await resolve({
      variables: {
        AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://169.254.170.23/v1/credentials",
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: "~token",
        AWS_CONTAINER_AUTHORIZATION_TOKEN: "from the variable",
      },
      files: { token: "from the file\n" },
      answers: { "GET http://169.254.170.23/v1/credentials": ISSUED },
      seen,
    })
    expect(found.ok).toBe(true)
    expect(seen).toEqual([
      { request: "GET http://169.254.170.23/v1/credentials", headers: { authorization: "from the file" } },
    ])
  })

  test.each(["http://evil.example/creds", "ftp://localhost/x", "not a url", "http://169.254.170.2.evil.example/x"])(
    "keys are not requested from %s",
    async (address) => {
      const seen: Seen[] = []
      const found = await resolve({ variables: { AWS_CONTAINER_CREDENTIALS_FULL_URI: address }, seen })
      expect([found, seen]).toEqual([
        {
          ok: false,
          error:
            "AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https address or one of this machine; keys are not requested from other addresses",
        },
        [],
      ])
    },
  )

  test("an endpoint that does not respond is reported", async () => {
    const variables = { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://127.0.0.1:9/x" }
    expect(await resolve({ variables, answers: INSTANCE })).toEqual({
      ok: false,
      error: "the container credentials at http://127.0.0.1:9 could not be read. Check the role of the task or pod",
    })
  })
})

describe("instance metadata", () => {
  test("version 2: a token first, then the role, then its keys", async () => {
    const seen: Seen[] = []
    expect(await resolve({ answers: INSTANCE, seen })).toEqual({
      ok: true,
      value: { ...ISSUED_KEYS, source: "AWS instance role my-role" },
    })
    const headers = { "x-aws-ec2-metadata-token": "imds-token" }
    expect(seen).toEqual([
      { request: `PUT ${METADATA}/api/token`, headers: { "x-aws-ec2-metadata-token-ttl-seconds": "21600" } },
      { request: `GET ${METADATA}/meta-data/iam/security-credentials/`, headers },
      { request: `GET ${METADATA}/meta-data/iam/security-credentials/my-role`, headers },
    ])
  })

  test("can be disabled", async () => {
    const seen: Seen[] = []
    const found = await resolve({ variables: { AWS_EC2_METADATA_DISABLED: "true" }, answers: INSTANCE, seen })
    expect([found.ok, seen]).toEqual([false, []])
  })

  test("the caller's abort is not taken for a timeout", async () => {
    const controller = new AbortController()
    const fetchText: FetchText = (_url, { signal }) => {
      controller.abort()
      signal.throwIfAborted()
      throw new Error("unreachable")
    }
    await expect(
      resolveAwsCredentials({
        environment: environmentFrom({}),
        userHome: "/nonexistent",
        clock: systemClock,
        signal: controller.signal,
        fetchText,
      }),
    ).rejects.toThrow("This operation was aborted")
  })
})

interface Seen {
  readonly request: string
  readonly headers: Readonly<Record<string, string>>
}
type Answers = Readonly<Record<string, string>>

/** A machine with these variables and files; only the given addresses respond. */
async function resolve(machine: {
  variables?: Record<string, string | undefined>
  files?: Record<string, string>
  answers?: Answers
  seen?: Seen[]
}) {
  const userHome = await mkdtemp(join(tmpdir(), "hermes-aws-"))
  onTestFinished(() => rm(userHome, { recursive: true }))
  for (const [name, text] of Object.entries(machine.files ?? {})) {
    await mkdir(dirname(join(userHome, name)), { recursive: true })
    await writeFile(join(userHome, name), text)
  }
  const variables = Object.entries(machine.variables ?? {}).map(
    ([name, value]) => [name, value === "~token" ? join(userHome, "token") : value] as const,
  )
  return await resolveAwsCredentials({
    environment: environmentFrom(Object.fromEntries(variables)),
    userHome,
    clock: systemClock,
    signal: new AbortController().signal,
    fetchText: (url, { method, headers }) => {
      machine.seen?.push({ request: `${method} ${url}`, headers })
      const body = machine.answers?.[`${method} ${url}`]
      return body === undefined ? Promise.reject(new Error("no response")) : Promise.resolve({ status: 200, body })
    },
  })
}
