import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"

import { describe, expect, test } from "vitest"

import { startAwsServer } from "../../../test/support/aws-server.ts"
import type { AwsServer } from "../../../test/support/aws-server.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { fail, ok } from "../../base/result.ts"
import { environmentFrom } from "../../config/environment.ts"
import { splitCommandLine } from "./credential-process.ts"
import { resolveAwsCredentials } from "./credentials.ts"
import { createFetchText } from "./fetch-text.ts"
import type { RunProgram } from "./identity.ts"

const NOW = Date.UTC(2026, 10, 15)
const SOURCE = "[base]\naws_access_key_id = AKIA-BASE\naws_secret_access_key = base-secret\n"
const SECRETS = {
  "AKIA-BASE": "base-secret",
  "ASIA-ROLE-1": "role+secret/1",
  "ASIA-MACHINE": "machine-secret",
  "ASIA-TASK": "machine-secret",
}
const ENDS = Date.UTC(2040, 0, 1)

interface Machine {
  readonly profile?: string
  readonly files?: Readonly<Record<string, string>>
  readonly variables?: Readonly<Record<string, string>>
  readonly runProgram?: RunProgram
  readonly now?: number
}

/** Resolves credentials on a machine with these files, with all services at one server. Also returns a file's final content. */
async function resolve(server: AwsServer, machine: Machine) {
  await using testHome = await temporaryHome()
  for (const [name, text] of Object.entries(machine.files ?? {})) {
    await mkdir(dirname(join(testHome.userHome, name)), { recursive: true })
    await writeFile(join(testHome.userHome, name), text)
  }
  const environment = environmentFrom({
    ...server.variables,
    ...(machine.profile === undefined ? {} : { AWS_PROFILE: machine.profile }),
    ...machine.variables,
  })
  const found = await resolveAwsCredentials({
    environment,
    userHome: testHome.userHome,
    clock: { now: () => machine.now ?? NOW },
    signal: new AbortController().signal,
    fetchText: createFetchText(environment),
    runProgram: machine.runProgram,
  })
  const after = Object.fromEntries(
    Object.keys(machine.files ?? {}).map((name) => [name, readFileSync(join(testHome.userHome, name), "utf8")]),
  )
  return { found, after }
}

const roleKeys = (arn: string, serial = 1) => ({
  ok: true,
  value: {
    kind: "keys",
    accessKeyId: `ASIA-ROLE-${serial}`,
    secretAccessKey: `role+secret/${serial}`,
    sessionToken: `role-token-${serial}`,
    expiresAt: ENDS,
    source: `AWS role ${arn}`,
  },
})

const A = "arn:aws:iam::1:role/a"
const B = "arn:aws:iam::2:role/b"

describe("a role", () => {
  test("is requested with the keys of its source and all fields of the profile", async () => {
    await using server = await startAwsServer({ secrets: SECRETS })
    const files = {
      ".aws/credentials": SOURCE,
      ".aws/config": `[profile x]\nrole_arn = ${A}\nsource_profile = base\nexternal_id = e-1\nrole_session_name = me@lab\nduration_seconds = 900\nregion = eu-west-1\n`,
    }
    const { found } = await resolve(server, { profile: "x", files })
    expect(found).toEqual(roleKeys(A))
    expect(server.requests).toEqual([`AssumeRole ${A} by AKIA-BASE`])
    expect(server.forms).toEqual([
      {
        Action: "AssumeRole",
        Version: "2011-06-15",
        RoleArn: A,
        RoleSessionName: "me@lab",
        ExternalId: "e-1",
        DurationSeconds: "900",
      },
    ])
  })

  test("may be the source of another role, and a profile its own source", async () => {
    await using server = await startAwsServer({ secrets: SECRETS })
    const files = {
      ".aws/config": `[profile x]\nrole_arn = ${B}\nsource_profile = middle\n[profile middle]\nrole_arn = ${A}\nsource_profile = middle\naws_access_key_id = AKIA-BASE\naws_secret_access_key = base-secret\n`,
    }
    expect((await resolve(server, { profile: "x", files })).found).toEqual(roleKeys(B, 2))
    expect(server.requests).toEqual([`AssumeRole ${A} by AKIA-BASE`, `AssumeRole ${B} by ASIA-ROLE-1`])
  })

  test.each([
    ["Ec2InstanceMetadata", {}, "ASIA-MACHINE"],
    ["EcsContainer", { AWS_CONTAINER_CREDENTIALS_FULL_URI: "SERVER/task" }, "ASIA-TASK"],
  ])("credential_source = %s", async (credentialSource, variables, signer) => {
    await using server = await startAwsServer({ secrets: SECRETS })
    const given = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, value.replace("SERVER", server.url)]),
    )
    const files = { ".aws/config": `[profile x]\nrole_arn = ${A}\ncredential_source = ${credentialSource}\n` }
    expect((await resolve(server, { profile: "x", files, variables: given })).found).toEqual(roleKeys(A))
    expect(server.requests.at(-1)).toBe(`AssumeRole ${A} by ${signer}`)
  })

  test("with a web identity of the profile", async () => {
    await using server = await startAwsServer()
    await using token = await temporaryHome({ workFiles: { token: "web-token\n" } })
    const files = {
      ".aws/config": `[profile x]\nrole_arn = ${A}\nweb_identity_token_file = ${token.workdir}/token\nrole_session_name = ci\n`,
    }
    expect((await resolve(server, { profile: "x", files })).found).toMatchObject({
      ok: true,
      value: { accessKeyId: "ASIA-ROLE-1", source: `AWS web identity ${A}` },
    })
    expect(server.forms).toMatchObject([{ WebIdentityToken: "web-token", RoleSessionName: "ci" }])
  })

  test.each([
    [
      `role_arn = ${A}\nsource_profile = base\nmfa_serial = arn:aws:iam::1:mfa/me`,
      'the AWS profile "x" requires an MFA code (mfa_serial), which Hermes does not support. Export keys with `aws configure export-credentials --profile x --format env`',
    ],
    [
      `role_arn = ${A}`,
      'the AWS profile "x" has a role_arn, but no source_profile or credential_source. Add one of them',
    ],
    [
      `role_arn = ${A}\nsource_profile = base\ncredential_source = Environment`,
      'the AWS profile "x" has a source_profile and a credential_source. Keep one of them',
    ],
    [
      `role_arn = ${A}\nsource_profile = gone`,
      'the AWS profile "x" names the source_profile "gone", which does not exist',
    ],
    [
      `role_arn = ${A}\nsource_profile = y\n[profile y]\nrole_arn = ${B}\nsource_profile = x`,
      "the AWS profiles x → y → x refer to each other in a cycle. Correct source_profile",
    ],
    [
      `role_arn = ${A}\ncredential_source = Environment`,
      'the AWS profile "x" takes its keys from Environment, which has none',
    ],
    [
      `role_arn = ${A}\ncredential_source = Elsewhere`,
      'the AWS profile "x" has the unknown credential_source "Elsewhere". Use Environment, Ec2InstanceMetadata or EcsContainer',
    ],
    [
      `role_arn = ${A}\nsource_profile = unknown\n[profile unknown]\naws_access_key_id = AKIA-OLD\naws_secret_access_key = s`,
      `AWS refused the role ${A} of the profile "x": The security token included is invalid. Check the trust policy of the role, and the keys used to assume it (AWS profile unknown)`,
    ],
    [
      "login_session = arn:aws:iam::1:user/me",
      'the AWS profile "x" was created by `aws login`, whose keys Hermes cannot renew. Export keys with `aws configure export-credentials --profile x --format env`',
    ],
  ])("that cannot be assumed (%j) is one message", async (lines, error) => {
    await using server = await startAwsServer({ secrets: SECRETS })
    const files = { ".aws/credentials": SOURCE, ".aws/config": `[profile x]\n${lines}\n` }
    expect((await resolve(server, { profile: "x", files })).found).toEqual({ ok: false, error })
  })
})

describe("SSO", () => {
  const START = "https://company.awsapps.com/start"
  const SESSION = `[sso-session company]\nsso_start_url = ${START}\nsso_region = eu-central-1\n[profile x]\nsso_session = company\nsso_account_id = 111122223333\nsso_role_name = Models\n`
  const LEGACY = `[profile x]\nsso_start_url = ${START}\nsso_region = eu-central-1\nsso_account_id = 111122223333\nsso_role_name = Models\n`
  const cacheFile = (name: string) => `.aws/sso/cache/${createHash("sha1").update(name).digest("hex")}.json`
  const cached = (minutes: number, more: object = {}) =>
    JSON.stringify({
      startUrl: START,
      region: "eu-central-1",
      accessToken: "access-1",
      expiresAt: new Date(NOW + minutes * 60_000).toISOString().replace(".000Z", "Z"),
      ...more,
    })
  const RENEWABLE = {
    refreshToken: "refresh-1",
    clientId: "client",
    clientSecret: "client-secret",
    registrationExpiresAt: "2027-01-01T00:00:00Z",
  }
  const KEYS = {
    ok: true,
    value: {
      kind: "keys",
      accessKeyId: "ASIA-SSO",
      secretAccessKey: "sso-secret",
      sessionToken: "sso-token",
      expiresAt: ENDS,
      source: "AWS SSO profile x",
    },
  }
  const ENDED = 'the AWS SSO login of the profile "x" has expired. Log in again with `aws sso login --profile x`'

  test.each([
    ["a session", SESSION, cacheFile("company")],
    ["an older profile", LEGACY, cacheFile(START)],
  ])("%s: the login token is exchanged for the keys of the role", async (_what, config, file) => {
    await using server = await startAwsServer()
    server.ssoTokens.add("access-1")
    const files = { ".aws/config": config, [file]: cached(60) }
    expect((await resolve(server, { profile: "x", files })).found).toEqual(KEYS)
    expect(server.requests).toEqual(["GetRoleCredentials 111122223333 Models"])
  })

  test.each([-10, 3])("a token that expires in %i minutes is renewed in the file", async (minutes) => {
    await using server = await startAwsServer()
    const file = cacheFile("company")
    const files = { ".aws/config": SESSION, [file]: cached(minutes, RENEWABLE) }
    const { found, after } = await resolve(server, { profile: "x", files })
    expect([found, server.requests]).toEqual([
      KEYS,
      ["CreateToken refresh_token refresh-1", "GetRoleCredentials 111122223333 Models"],
    ])
    expect(JSON.parse(after[file] ?? "")).toEqual({
      startUrl: START,
      region: "eu-central-1",
      ...RENEWABLE,
      accessToken: "access-2",
      refreshToken: "refresh-2",
      expiresAt: "2026-11-15T08:00:00Z",
    })
  })

  test("a valid token is used when it cannot be renewed", async () => {
    await using server = await startAwsServer()
    server.ssoTokens.add("access-1")
    server.failNext({ status: 500, body: "" })
    const files = { ".aws/config": SESSION, [cacheFile("company")]: cached(3, RENEWABLE) }
    expect((await resolve(server, { profile: "x", files })).found).toEqual(KEYS)
  })

  test.each([
    ["ended", cached(-1), ENDED],
    ["ended and refused", cached(-1, { ...RENEWABLE, refreshToken: "spent" }), ENDED],
    [
      "expired, with the registration",
      cached(-1, { ...RENEWABLE, registrationExpiresAt: "2026-01-01T00:00:00Z" }),
      ENDED,
    ],
    ["revoked", cached(60), ENDED],
    ["absent", "{}", 'not logged in to AWS SSO for the profile "x". Log in with `aws sso login --profile x`'],
  ])("a login that is %s names the command", async (_what, token, error) => {
    await using server = await startAwsServer()
    const files = { ".aws/config": SESSION, [cacheFile("company")]: token }
    expect((await resolve(server, { profile: "x", files })).found).toEqual({ ok: false, error })
  })

  test.each([
    [
      SESSION.replace("Models", "Nobody"),
      'AWS SSO returned no keys of the profile "x" for the role Nobody of the account 111122223333: No access. Check sso_role_name and sso_account_id',
    ],
    [
      SESSION.replace("[sso-session company]", "[sso-session other]"),
      'the AWS profile "x" names the sso-session "company", which is not in ~/.aws/config',
    ],
    [
      SESSION.replace("sso_role_name = Models\n", ""),
      'the AWS profile "x" lacks sso_role_name. Complete it with `aws configure sso --profile x`',
    ],
  ])("a wrong profile is reported", async (config, error) => {
    await using server = await startAwsServer()
    server.ssoTokens.add("access-1")
    const files = { ".aws/config": config, [cacheFile("company")]: cached(60) }
    expect((await resolve(server, { profile: "x", files })).found).toEqual({ ok: false, error })
  })
})

describe("credential_process", () => {
  const files = { ".aws/config": "[profile x]\ncredential_process = \"/opt/my tool\" --for 'a b' x\\ y\n" }
  const printing =
    (printed: unknown): RunProgram =>
    () =>
      Promise.resolve(ok(JSON.stringify(printed)))

  test("the program gets its arguments, and its keys expire at the printed time", async () => {
    await using server = await startAwsServer()
    const started: (readonly string[])[] = []
    const keys = {
      Version: 1,
      AccessKeyId: "ASIA-P",
      SecretAccessKey: "s",
      SessionToken: "t",
      Expiration: "2040-01-01T00:00:00Z",
    }
    const runProgram: RunProgram = (words, how) => {
      started.push(words)
      return printing(keys)(words, how)
    }
    const { found } = await resolve(server, { profile: "x", files, runProgram })
    expect([found, started]).toEqual([
      {
        ok: true,
        value: {
          kind: "keys",
          accessKeyId: "ASIA-P",
          secretAccessKey: "s",
          sessionToken: "t",
          expiresAt: ENDS,
          source: "AWS profile x (credential_process)",
        },
      },
      [["/opt/my tool", "--for", "a b", "x y"]],
    ])
  })

  const WHO = 'the credential_process of the AWS profile "x"'
  test.each<[RunProgram | undefined, string]>([
    [printing({ Version: 2 }), `${WHO} did not print credentials of version 1. Run it in a terminal to see its output`],
    [printing("hello"), `${WHO} did not print credentials of version 1. Run it in a terminal to see its output`],
    [printing({ Version: 1 }), `${WHO} printed no AccessKeyId and SecretAccessKey. Run it in a terminal to see why`],
    [
      printing({ Version: 1, AccessKeyId: "a", SecretAccessKey: "b", Expiration: "2020-01-01T00:00:00Z" }),
      `${WHO} printed keys that have already expired. Renew them`,
    ],
    [() => Promise.resolve(fail("ended with code 3")), `${WHO} ended with code 3. Run it in a terminal to see why`],
    [undefined, `${WHO} cannot be run here`],
  ])("%s is one message", async (runProgram, error) => {
    await using server = await startAwsServer()
    const machine = { profile: "x", files, ...(runProgram === undefined ? {} : { runProgram }) }
    expect((await resolve(server, machine)).found).toEqual({ ok: false, error })
  })

  test.each([
    ["a b", ["a", "b"]],
    ['  a   \'b c\'d "e \\" f" ', ["a", "b cd", 'e " f']],
    ["a\\ b '' c", ["a b", "", "c"]],
    ["'open", undefined],
    ["", []],
  ])("%j is split into %j", (line, words) => {
    expect(splitCommandLine(line)).toEqual(words)
  })
})

test("the machine's own role, over real HTTP", async () => {
  await using server = await startAwsServer()
  expect((await resolve(server, {})).found).toMatchObject({
    ok: true,
    value: { accessKeyId: "ASIA-MACHINE", source: "AWS instance role machine-role" },
  })
  expect(server.requests).toEqual([
    "PUT /latest/api/token",
    "GET /latest/meta-data/iam/security-credentials/",
    "GET /latest/meta-data/iam/security-credentials/machine-role",
  ])
})

test("the search ends when nothing responds", async () => {
  const server = await startAwsServer()
  await server[Symbol.asyncDispose]()
  expect((await resolve(server, {})).found).toEqual({
    ok: false,
    error: expect.stringMatching(/^no AWS credentials were found/) as string,
  })
})
