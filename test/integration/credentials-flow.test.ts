import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import type { Clock } from "../../src/base/clock.ts"
import { environmentFrom } from "../../src/config/environment.ts"
import { resolveHome } from "../../src/config/home.ts"
import { addKey } from "../../src/llm/credentials/login-edits.ts"
import { locateLogin } from "../../src/llm/credentials/stored-login.ts"
import { startForwardProxy } from "../support/forward-proxy.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { refuses, repeat, says, status } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const [FIRST, SECOND] = ["key-number-one-0001", "key-number-two-0002"] as const
/** A whole second, because `auth.json` stores times in seconds. */
const NOW = 1_790_000_000

interface KeysOptions {
  readonly keys: readonly string[]
  /** Replaces the address of the scripted server. */
  readonly serverUrl: string
  readonly env: Readonly<Record<string, string>>
  /** Further fields of the provider in the settings. */
  readonly entry: Readonly<Record<string, string>>
  readonly strategy: string
  /** An entry of `fallback_providers`. */
  readonly fallback: Readonly<Record<string, string>>
}

/** An app whose home has these stored keys, as after `hermes auth add`. Its clock does not wait. */
async function appWithKeys(script: readonly ScriptEntry[], options: Partial<KeysOptions> = {}) {
  const { keys = [FIRST, SECOND], env = {} } = options
  const waited: number[] = []
  let now = NOW * 1000
  const clock: Clock = {
    now: () => now,
    sleep: (ms) => {
      waited.push(ms)
      return Promise.resolve()
    },
  }
  const model = await startModelServer(script)
  const entry = { base_url: `${options.serverUrl ?? model.url}/v1`, ...options.entry }
  const settings = JSON.stringify({
    model: { provider: "acme", default: "test-model" },
    providers: { acme: entry },
    ...(options.strategy === undefined ? {} : { credential_pool_strategies: { "custom:acme": options.strategy } }),
    ...(options.fallback === undefined ? {} : { fallback_providers: [options.fallback] }),
  })
  const assembled = await assembleApp([], { clock, env, files: { "config.yaml": settings } })
  const environment = environmentFrom(assembled.home.env)
  const location = locateLogin("custom:acme", { home: resolveHome(environment), environment, clock: systemClock })
  for (const key of keys) expect((await addKey(location, { key, label: undefined })).ok).toBe(true)
  return {
    assembled,
    model,
    waited,
    pass: (seconds: number) => {
      now += seconds * 1000
    },
    [Symbol.asyncDispose]: async () => {
      await assembled[Symbol.asyncDispose]()
      await model.close()
    },
  }
}

function keysSent({ model }: { readonly model: ModelServer }): readonly (string | undefined)[] {
  return model.requests.map(({ headers }) => headers["authorization"]?.replace("Bearer ", ""))
}

function stored({ home }: AssembledApp): readonly unknown[] {
  const file = JSON.parse(readFileSync(join(home.path, "auth.json"), "utf8")) as {
    credential_pool: Record<string, Record<string, unknown>[]>
  }
  return (file.credential_pool["custom:acme"] ?? []).map((entry) => ({
    key: entry["access_token"],
    status: entry["last_status"],
    code: entry["last_error_code"],
    reset: entry["last_error_reset_at"],
  }))
}

const UNTOUCHED = { key: SECOND, status: null, code: null, reset: null }

test("429, 429, 200: the second key is used, and auth.json stores the cooldown of the first", async () => {
  const limited = refuses(429, "slow down", { "retry-after": "90" })
  await using flow = await appWithKeys([limited, limited, says("Hello."), says("Again.")])
  const { assembled } = flow
  const session = await assembled.open()
  const first = await runToEnd(session, "Hi.")
  const second = await runToEnd(session, "More.")
  expect([first.end.result.finalResponse, second.end.result.finalResponse]).toEqual(["Hello.", "Again."])
  expect(keysSent(flow)).toEqual([FIRST, FIRST, SECOND, SECOND])
  expect(flow.waited).toEqual([90_000])
  expect(stored(assembled)).toEqual([
    { key: FIRST, status: "exhausted", code: 429, reset: NOW + 90 },
    { ...UNTOUCHED, key: SECOND },
  ])
  const notices = first.events.flatMap((event) => (event.type === "status" && event.text !== "" ? [event] : []))
  expect(notices.map(({ kind }) => kind)).toEqual(["retry", "rotate"])
  expect(JSON.stringify(notices)).not.toMatch(/key-number/)
})

test("the next process respects the cooldown of a key and uses it again afterwards", async () => {
  const limited = refuses(429, "slow down", { "retry-after": "90" })
  await using flow = await appWithKeys([limited, limited, says("Hello."), says("Again."), says("And again.")])
  const { assembled } = flow
  await runToEnd(await assembled.open(), "Hi.")
  const later = await assembled.restart()
  const session = await later.open()
  await runToEnd(session, "Hi.")
  await session.close("test_end")
  flow.pass(91)
  const afterCooldown = await later.open()
  await runToEnd(afterCooldown, "Hi.")
  await afterCooldown.close("test_end")
  await later.app.close()
  expect(keysSent(flow)).toEqual([FIRST, FIRST, SECOND, SECOND, FIRST])
  expect(stored(assembled)[0]).toEqual({ key: FIRST, status: "ok", code: null, reset: null })
})

test.each([
  {
    name: "a usage limit",
    turn: status(429, { error: { code: "usage_limit_reached", message: "used up" } }),
    code: 429,
  },
  { name: "an empty account", turn: refuses(402, "insufficient credits"), code: 402 },
  { name: "a refused key", turn: refuses(401, "invalid key"), code: 401 },
])("$name switches to the next key at once", async ({ turn, code }) => {
  await using flow = await appWithKeys([turn, says("Hello.")])
  const { end } = await runToEnd(await flow.assembled.open(), "Hi.")
  expect(end.result.finalResponse).toBe("Hello.")
  expect([keysSent(flow), flow.waited]).toEqual([[FIRST, SECOND], []])
  expect(stored(flow.assembled)).toEqual([{ key: FIRST, status: "exhausted", code, reset: null }, UNTOUCHED])
})

test("a reset time in the response body sets the cooldown", async () => {
  const body = { error: { code: "usage_limit_reached", message: "used up", resets_at: NOW + 7200 } }
  await using flow = await appWithKeys([status(429, body), says("Hello.")])
  await runToEnd(await flow.assembled.open(), "Hi.")
  expect(stored(flow.assembled)[0]).toEqual({ key: FIRST, status: "exhausted", code: 429, reset: NOW + 7200 })
})

test("when every key is refused, the message explains it, and the session continues after the cooldown", async () => {
  await using flow = await appWithKeys([
    refuses(402, "insufficient credits"),
    refuses(402, "insufficient credits"),
    repeat(says("Paid.")),
  ])
  const { assembled } = flow
  const session = await assembled.open()
  const failed = await runToEnd(session, "Hi.")
  const duringCooldown = await runToEnd(session, "Hi.")
  expect([failed.end.result.error?.reason, duringCooldown.end.result.error?.message]).toEqual([
    "billing",
    "every key of acme is in cooldown; the next one is available in 1h. `hermes auth list acme` shows why, `hermes auth reset acme` clears the cooldowns",
  ])
  expect(keysSent(flow)).toEqual([FIRST, SECOND])
  flow.pass(3601)
  const after = await runToEnd(session, "Hi.")
  expect(after.end.result.finalResponse).toBe("Paid.")
})

test("with a single stored key, the request waits and retries", async () => {
  const limited = refuses(429, "slow down", { "retry-after": "3" })
  await using flow = await appWithKeys([limited, limited, says("Hello.")], { keys: [FIRST] })
  const { end } = await runToEnd(await flow.assembled.open(), "Hi.")
  expect([end.result.finalResponse, keysSent(flow), flow.waited]).toEqual([
    "Hello.",
    [FIRST, FIRST, FIRST],
    [3000, 3000],
  ])
})

test.each([403, 429])("a proxy that responds with %i does not put a key in cooldown", async (rejectWithStatus) => {
  await using proxy = await startForwardProxy({ rejectWithStatus })
  await using flow = await appWithKeys([], { serverUrl: "https://models.example.com", env: { HTTPS_PROXY: proxy.url } })
  const { end } = await runToEnd(await flow.assembled.open(), "Hi.")
  expect(end.result.error?.message).toMatch(/the proxy http:\S+ refused the connection/)
  expect(stored(flow.assembled)).toEqual([{ ...UNTOUCHED, key: FIRST }, UNTOUCHED])
})

test("a key of the settings and one of `hermes auth add` are one pool", async () => {
  await using flow = await appWithKeys([refuses(401, "invalid key"), says("Hello.")], {
    keys: [FIRST],
    entry: { api_key: SECOND },
  })
  const { end } = await runToEnd(await flow.assembled.open(), "Hi.")
  expect([end.result.finalResponse, keysSent(flow)]).toEqual(["Hello.", [FIRST, SECOND]])
})

test("a key of a variable and one of the settings are one pool without auth.json", async () => {
  await using flow = await appWithKeys([refuses(401, "invalid key"), says("Hello.")], {
    keys: [],
    entry: { key_env: "ACME_KEY", api_key: SECOND },
    env: { ACME_KEY: FIRST },
  })
  const { end } = await runToEnd(await flow.assembled.open(), "Hi.")
  expect([end.result.finalResponse, keysSent(flow)]).toEqual(["Hello.", [FIRST, SECOND]])
})

test("a key of the settings that was removed with `hermes auth remove` is not sent", async () => {
  await using flow = await appWithKeys([says("Hello.")], { keys: [], entry: { api_key: SECOND } })
  const auth = { suppressed_sources: { "custom:acme": ["config:providers.acme.api_key"] } }
  writeFileSync(join(flow.assembled.home.path, "auth.json"), JSON.stringify(auth))
  await runToEnd(await flow.assembled.open(), "Hi.")
  expect(keysSent(flow)).toEqual([undefined])
})

test("a key of `hermes auth add custom` is sent to model.base_url, and the key of a vendor is not", async () => {
  await using assembled = await assembleApp([says("Hello.")], { env: { OPENAI_API_KEY: SECOND } })
  const environment = environmentFrom(assembled.home.env)
  const location = locateLogin("custom", { home: resolveHome(environment), environment, clock: systemClock })
  await addKey(location, { key: FIRST, label: undefined })
  await runToEnd(await assembled.open(), "Hi.")
  expect(keysSent(assembled)).toEqual([FIRST])
})

test("the keys of a provider are not sent to another address of a fallback", async () => {
  await using other = await startModelServer([says("Hello from there.")])
  await using flow = await appWithKeys([repeat(refuses(403, "this account is closed"))], {
    entry: { api_key: SECOND },
    fallback: { provider: "acme", model: "m", base_url: `${other.url}/v1` },
  })
  const { end } = await runToEnd(await flow.assembled.open(), "Hi.")
  expect(end.result.finalResponse).toBe("Hello from there.")
  expect(other.requests.map(({ headers }) => headers["authorization"])).toEqual([undefined])
})

test("least_used continues in the next process where this one stopped", async () => {
  await using flow = await appWithKeys([repeat(says("Hello."))], { strategy: "least_used" })
  const { assembled } = flow
  const first = await assembled.open()
  await runToEnd(first, "Hi.")
  await first.close("test_end")
  const later = await assembled.restart()
  const session = await later.open()
  await runToEnd(session, "Hi.")
  await session.close("test_end")
  await later.app.close()
  expect(keysSent(flow)).toEqual([FIRST, SECOND])
})

test("a server that requires a key and gets none is not said to refuse one", async () => {
  await using assembled = await assembleApp([refuses(401, "unauthorized")], { env: { OPENAI_API_KEY: FIRST } })
  const { end } = await runToEnd(await assembled.open(), "Hi.")
  expect(end.result.error?.message).toMatch(/requires a key, and none was sent: unauthorized\. .*model\.api_key/)
})
