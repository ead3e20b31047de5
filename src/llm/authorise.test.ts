import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { ok } from "../base/result.ts"
import { environmentFrom } from "../config/environment.ts"
import { createAuthoriser } from "./authorise.ts"

test("registers the secrets of credential_process for redaction each time it returns new ones", async () => {
  await using home = await temporaryHome()
  const path = join(home.path, "aws-config")
  writeFileSync(path, "[default]\nregion = eu-central-1\ncredential_process = lend-keys\n")
  let now = Date.UTC(2026, 0, 1)
  let issued = 0
  const registered: (readonly string[])[] = []
  const baseUrl = "https://bedrock-runtime.eu-central-1.amazonaws.com"
  const authorise = createAuthoriser(
    "bedrock_converse",
    { provider: "bedrock", baseUrl, host: new URL(baseUrl).hostname, contextLength: 1000 },
    {
      environment: environmentFrom({ AWS_CONFIG_FILE: path }),
      userHome: home.path,
      clock: { now: () => now, sleep: () => Promise.resolve() },
      awsRegion: "",
      runProgram: () => {
        issued += 1
        const keys = { AccessKeyId: "ASIA", SecretAccessKey: `secret-${issued}`, SessionToken: `token-${issued}` }
        return Promise.resolve(
          ok(JSON.stringify({ Version: 1, ...keys, Expiration: new Date(now + 3_600_000).toISOString() })),
        )
      },
      registerSecrets: (values) => void registered.push(values),
    },
  )
  const authoriseRequest = async () =>
    await authorise(undefined, { path: "/x", body: "{}", headers: {}, signal: new AbortController().signal })
  const results = [await authoriseRequest(), await authoriseRequest()]
  now += 3_600_000
  results.push(await authoriseRequest())
  expect([results.map(({ ok: succeeded }) => succeeded), registered]).toEqual([
    [true, true, true],
    [
      ["secret-1", "token-1"],
      ["secret-2", "token-2"],
    ],
  ])
})
