import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { ok } from "../base/result.ts"
import { environmentFrom } from "../config/environment.ts"
import { createAuthoriser } from "./authorise.ts"

test("keys that a program lends are told to who masks, each time they are lent", async () => {
  await using home = await temporaryHome()
  const path = join(home.path, "aws-config")
  writeFileSync(path, "[default]\nregion = eu-central-1\ncredential_process = lend-keys\n")
  let now = Date.UTC(2026, 0, 1)
  let lent = 0
  const learned: (readonly string[])[] = []
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
        lent += 1
        const keys = { AccessKeyId: "ASIA", SecretAccessKey: `secret-${lent}`, SessionToken: `token-${lent}` }
        return Promise.resolve(
          ok(JSON.stringify({ Version: 1, ...keys, Expiration: new Date(now + 3_600_000).toISOString() })),
        )
      },
      learnSecrets: (values) => void learned.push(values),
    },
  )
  const ask = async () =>
    await authorise(undefined, { path: "/x", body: "{}", headers: {}, signal: new AbortController().signal })
  const proofs = [await ask(), await ask()]
  now += 3_600_000
  proofs.push(await ask())
  expect([proofs.map((proof) => proof.ok), learned]).toEqual([
    [true, true, true],
    [
      ["secret-1", "token-1"],
      ["secret-2", "token-2"],
    ],
  ])
})
