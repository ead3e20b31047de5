import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { startAuthorizationServer } from "../../../test/support/authorization-server.ts"
import { startTlsServer } from "../../../test/support/tls-server.ts"
import { temporaryHome, type TemporaryHome } from "../../../test/support/temporary-home.ts"
import { createLogger } from "../../base/logger.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { openCredentialPool } from "./pool.ts"
import { secretFingerprint } from "./pooled-credential.ts"

const NOW = Date.UTC(2026, 4, 1) / 1000
const signal = new AbortController().signal

function clockAt(seconds = NOW) {
  const clock = {
    seconds,
    now: () => clock.seconds * 1000,
    sleep: async () => await Promise.resolve(),
  }
  return clock
}

async function open(
  testHome: TemporaryHome,
  options: {
    readonly provider?: string
    readonly env?: Readonly<Record<string, string>>
    readonly clock?: ReturnType<typeof clockAt>
    readonly random?: () => number
    readonly path?: string
    readonly origins?: readonly ("stored" | "environment" | "settings")[]
    readonly pendingWrites?: { add(write: Promise<void>): void }
  } = {},
) {
  const environment = environmentFrom({ ...testHome.env, ...options.env })
  const home = homeAt(options.path ?? testHome.path, environment)
  const lines: string[] = []
  const pool = await openCredentialPool({
    provider: options.provider ?? "openrouter",
    home,
    environment,
    config: await loadConfig({ home, environment }),
    clock: options.clock ?? clockAt(),
    log: createLogger({ sinks: [{ level: "DEBUG", write: (line) => void lines.push(line) }], redact: (text) => text }),
    random: options.random ?? (() => 0),
    ...(options.origins && { origins: options.origins }),
    ...(options.pendingWrites && { pendingWrites: options.pendingWrites }),
  })
  return Object.assign(pool, { lines })
}

function key(id: string, more: Record<string, unknown> = {}) {
  return {
    id,
    label: id,
    auth_type: "api_key",
    priority: "abc".indexOf(id),
    source: "manual",
    access_token: `secret-${id}`,
    request_count: 0,
    last_status: null,
    last_status_at: null,
    last_error_code: null,
    last_error_reason: null,
    last_error_message: null,
    last_error_reset_at: null,
    ...more,
  }
}

function authFile(entries: readonly object[], provider = "openrouter"): Record<string, string> {
  return { "auth.json": JSON.stringify({ version: 1, credential_pool: { [provider]: entries } }) }
}

interface StoredFile {
  active_provider: string | null
  providers: Record<string, Record<string, unknown>>
  credential_pool: Record<string, Record<string, unknown>[]>
}

function stored(testHome: TemporaryHome, path = testHome.path): StoredFile {
  return JSON.parse(readFileSync(join(path, "auth.json"), "utf8")) as StoredFile
}

const idOf = async (pool: Awaited<ReturnType<typeof open>>) => (await pool.select())?.id

describe("selection", () => {
  test("round robin takes turns, and the next process continues from there", async () => {
    await using testHome = await temporaryHome({
      config: "credential_pool_strategies: { openrouter: round_robin }\n",
      files: authFile([key("a"), key("b"), key("c")]),
    })
    const pool = await open(testHome)
    expect([await idOf(pool), await idOf(pool), await idOf(pool)]).toEqual(["a", "b", "c"])
    expect(stored(testHome).credential_pool["openrouter"]?.map((entry) => [entry["id"], entry["priority"]])).toEqual([
      ["a", 0],
      ["b", 1],
      ["c", 2],
    ])
    await pool.select()
    expect(await idOf(await open(testHome))).toBe("b")
  })

  test.each([
    ["fill_first", [0, 0, 0], "a"],
    ["no such strategy", [0, 0, 0], "a"],
    ["least_used", [3, 1, 1], "b"],
    ["random", [0, 0, 0], "c"],
  ] as const)("%s with counts %j selects %s", async (strategy, counts, expected) => {
    await using testHome = await temporaryHome({
      config: `credential_pool_strategies: { openrouter: "${strategy}" }\n`,
      files: authFile(["a", "b", "c"].map((id, index) => key(id, { request_count: counts[index] }))),
    })
    expect(await idOf(await open(testHome, { random: () => 0.99 }))).toBe(expected)
  })

  test("least used counts its selections", async () => {
    await using testHome = await temporaryHome({
      config: "credential_pool_strategies: { openrouter: least_used }\n",
      files: authFile([key("a"), key("b")]),
    })
    const pool = await open(testHome)
    expect([await idOf(pool), await idOf(pool), await idOf(pool)]).toEqual(["a", "b", "a"])
    expect(pool.report().map(({ requestCount }) => requestCount)).toEqual([2, 1])
  })
})

describe("the counts of least_used", () => {
  const config = "credential_pool_strategies: { openrouter: least_used }\n"
  const counts = (testHome: TemporaryHome) =>
    (stored(testHome).credential_pool["openrouter"] ?? []).map((entry) => [entry["id"], entry["request_count"]])
  const pendingWrites = () => {
    const writes: Promise<void>[] = []
    return { add: (write: Promise<void>) => void writes.push(write), settled: () => Promise.all(writes) }
  }

  test("are stored when the pool is closed, and the next process continues from them", async () => {
    await using testHome = await temporaryHome({ config, files: authFile([key("a"), key("b"), key("c")]) })
    const writes = pendingWrites()
    const pool = await open(testHome, { pendingWrites: writes })
    expect([await idOf(pool), await idOf(pool)]).toEqual(["a", "b"])
    pool.close()
    pool.close()
    await writes.settled()
    expect(counts(testHome)).toEqual([
      ["a", 1],
      ["b", 1],
      ["c", 0],
    ])
    expect(await idOf(await open(testHome))).toBe("c")
  })

  test("of two processes add up, and a request waits for no write", async () => {
    await using testHome = await temporaryHome({ config, files: authFile([key("a"), key("b")]) })
    const writes = pendingWrites()
    const [one, two] = [
      await open(testHome, { pendingWrites: writes }),
      await open(testHome, { pendingWrites: writes }),
    ]
    for (let index = 0; index < 3; index += 1) await Promise.all([one.select(), two.select()])
    expect(counts(testHome)).toEqual([
      ["a", 0],
      ["b", 0],
    ])
    one.close()
    two.close()
    await writes.settled()
    expect(counts(testHome)).toEqual([
      ["a", 4],
      ["b", 2],
    ])
  })

  test("are stored with the next change of a credential and after some selections", async () => {
    await using testHome = await temporaryHome({ config, files: authFile([key("a"), key("b")]) })
    const writes = pendingWrites()
    const pool = await open(testHome, { pendingWrites: writes })
    await pool.select()
    await pool.markExhausted("b", { status: 429 })
    expect(counts(testHome)).toEqual([
      ["a", 1],
      ["b", 0],
    ])
    for (let index = 0; index < 20; index += 1) await pool.select()
    await writes.settled()
    expect(counts(testHome)).toEqual([
      ["a", 21],
      ["b", 0],
    ])
  })

  test("of keys in variables are stored without the key", async () => {
    await using testHome = await temporaryHome({ config })
    const writes = pendingWrites()
    const env = { OPENROUTER_API_KEY: "sk-or-planted-secret" }
    const pool = await open(testHome, { env, pendingWrites: writes })
    await pool.select()
    pool.close()
    await writes.settled()
    expect((await open(testHome, { env })).report()[0]?.requestCount).toBe(1)
    expect(readFileSync(join(testHome.path, "auth.json"), "utf8")).not.toContain("planted")
  })
})

describe("cooldown", () => {
  test.each([
    [{ status: 401 }, 300],
    [{ status: 429 }, 3600],
    [{ status: 402, reason: "insufficient_quota" }, 3600],
    [{ status: 429, resetAt: NOW + 42 }, 42],
  ])("after %j a key waits %i s", async (why, seconds) => {
    await using testHome = await temporaryHome({ files: authFile([key("a")]) })
    const clock = clockAt()
    const pool = await open(testHome, { clock })
    await pool.markExhausted("a", why)
    expect([pool.available(), pool.nextAvailableAt()]).toEqual([0, NOW + seconds])
    clock.seconds = NOW + seconds - 1
    expect(await idOf(pool)).toBeUndefined()
    clock.seconds = NOW + seconds
    expect(await idOf(pool)).toBe("a")
    expect(stored(testHome).credential_pool["openrouter"]).toEqual([
      key("a", { last_status: "ok", last_status_at: clock.seconds }),
    ])
  })

  test("a revoked login is dead permanently", async () => {
    await using testHome = await temporaryHome({ files: authFile([key("a")]) })
    const clock = clockAt()
    const pool = await open(testHome, { clock })
    await pool.markExhausted("a", { status: 401, reason: "token_revoked" })
    await pool.markExhausted("a", { status: 429 })
    clock.seconds += 100_000
    expect([await idOf(pool), pool.report()[0]?.status]).toEqual([undefined, "dead"])
  })

  test("the state stored by another process is kept, and a removed entry is not restored", async () => {
    await using testHome = await temporaryHome({ files: authFile([key("a"), key("b")]) })
    const [first, second] = [await open(testHome), await open(testHome)]
    await first.markExhausted("a", { status: 429 })
    await second.markExhausted("b", { status: 402 })
    const statuses = () =>
      stored(testHome).credential_pool["openrouter"]?.map((entry) => [entry["id"], entry["last_status"]])
    expect(statuses()).toEqual([
      ["a", "exhausted"],
      ["b", "exhausted"],
    ])
    writeFileSync(join(testHome.path, "auth.json"), authFile([key("b")])["auth.json"] ?? "")
    await first.markExhausted("a", { status: 429 })
    expect(statuses()).toEqual([["b", null]])
  })
})

describe("sources", () => {
  test("stored keys, then variables, then settings; the same secret once", async () => {
    await using testHome = await temporaryHome({
      config: "providers: { openrouter: { api_key: from-settings, api_keys: [secret-a, second-of-settings] } }\n",
      files: authFile([key("a")]),
    })
    const pool = await open(testHome, { env: { OPENROUTER_API_KEY: "from-variable" } })
    expect(pool.report().map(({ source }) => source)).toEqual([
      "manual",
      "env:OPENROUTER_API_KEY",
      "config:providers.openrouter.api_key",
      "config:providers.openrouter.api_keys.1",
    ])
  })

  test("several variables are several entries; placeholders are none", async () => {
    await using testHome = await temporaryHome()
    const pool = await open(testHome, {
      provider: "zai",
      env: { GLM_API_KEY: "one", ZAI_API_KEY: "two", Z_AI_API_KEY: "***" },
    })
    expect(pool.report().map(({ source }) => source)).toEqual(["env:GLM_API_KEY", "env:ZAI_API_KEY"])
  })

  test("a custom endpoint has its own pool, limited to the requested origins", async () => {
    await using testHome = await temporaryHome({
      config:
        "providers: { Lab: { base_url: 'http://10.0.0.1/v1', api_key: from-settings, key_env: LAB_KEY } }\nmodel: { provider: Lab, api_key: of-model }\n",
      files: authFile([key("a")], "custom:lab"),
    })
    const env = { LAB_KEY: "from-variable" }
    const sources = async (origins?: readonly ("stored" | "environment" | "settings")[]) =>
      (await open(testHome, { provider: "Lab", env, ...(origins && { origins }) })).report().map(({ source }) => source)
    expect(await sources()).toEqual(["manual", "env:LAB_KEY", "config:providers.Lab.api_key", "config:model.api_key"])
    expect(await sources(["settings"])).toEqual(["config:providers.Lab.api_key", "config:model.api_key"])
  })

  test("a suppressed source is not picked up", async () => {
    await using testHome = await temporaryHome({
      files: { "auth.json": JSON.stringify({ suppressed_sources: { openrouter: ["env:OPENROUTER_API_KEY"] } }) },
    })
    expect((await open(testHome, { env: { OPENROUTER_API_KEY: "k" } })).size()).toBe(0)
  })

  test("an external secret is never stored; a changed one starts clean; a removed one disappears", async () => {
    await using testHome = await temporaryHome()
    const secret = "sk-or-planted-secret"
    const pool = await open(testHome, { env: { OPENROUTER_API_KEY: secret } })
    const id = pool.report()[0]!.id
    expect(id).toMatch(/^[0-9a-f]{6}$/)
    await pool.markExhausted(id, { status: 429, message: "slow down" })
    expect(readFileSync(join(testHome.path, "auth.json"), "utf8")).not.toContain("planted")
    expect(stored(testHome).credential_pool["openrouter"]).toEqual([
      {
        id,
        label: "OPENROUTER_API_KEY",
        auth_type: "api_key",
        priority: 0,
        source: "env:OPENROUTER_API_KEY",
        secret_fingerprint: secretFingerprint(secret),
        last_status: "exhausted",
        last_status_at: NOW,
        last_error_code: 429,
        last_error_reason: null,
        last_error_message: "slow down",
        last_error_reset_at: null,
        request_count: 0,
      },
    ])
    expect((await open(testHome, { env: { OPENROUTER_API_KEY: secret } })).available()).toBe(0)
    expect((await open(testHome, { env: { OPENROUTER_API_KEY: "rotated" } })).available()).toBe(1)
    expect((await open(testHome)).size()).toBe(0)
  })

  test("an old dead manual entry is forgotten, a login stays marked", async () => {
    const dead = { last_status: "dead", last_status_at: NOW - 25 * 3600 }
    await using testHome = await temporaryHome({
      files: authFile([key("a", dead), key("b", { ...dead, source: "device_code", auth_type: "oauth" })]),
    })
    expect((await open(testHome)).report().map(({ id, status }) => [id, status])).toEqual([["b", "dead"]])
  })

  test("a profile without credentials uses and updates those of the root", async () => {
    await using testHome = await temporaryHome({ files: { ...authFile([key("a")]), "profiles/p/SOUL.md": "" } })
    const pool = await open(testHome, { path: join(testHome.path, "profiles", "p") })
    await pool.markExhausted("a", { status: 429 })
    expect(stored(testHome).credential_pool["openrouter"]?.[0]?.["last_status"]).toBe("exhausted")
    expect(() => stored(testHome, join(testHome.path, "profiles", "p"))).toThrow("ENOENT")
  })
})

describe("logins", () => {
  const loginFile = (tokens: object, more: object = {}) => ({
    "auth.json": JSON.stringify({
      active_provider: "openrouter",
      providers: { nous: { source: "device_code", extra: { kept: true }, ...tokens } },
      ...more,
    }),
  })
  const settings = (url: string) =>
    `providers: { nous: { oauth: { token_url: "${url}/token", client_id: client-1 } } }\n`
  const expired = { expires_at: new Date((NOW - 10) * 1000).toISOString() }

  test("a login that is about to expire is refreshed before it is returned; entry and login get the new tokens", async () => {
    await using server = await startAuthorizationServer()
    const { accessToken, refreshToken } = server.issue()
    await using testHome = await temporaryHome({
      config: settings(server.url),
      files: loginFile({
        access_token: accessToken,
        refresh_token: refreshToken,
        expires_at: new Date((NOW + 119) * 1000).toISOString(),
      }),
    })
    const pool = await open(testHome, { provider: "nous" })
    const chosen = await pool.select()
    expect(chosen).toEqual({
      id: chosen?.id,
      label: "device_code",
      kind: "oauth",
      source: "device_code",
      secret: "access-token-2",
    })
    expect(server.tokenRequests).toEqual([
      { grant_type: "refresh_token", refresh_token: refreshToken, client_id: "client-1" },
    ])
    const tokens = {
      access_token: "access-token-2",
      refresh_token: "refresh-token-2",
      token_type: "Bearer",
      expires_in: 3600,
      expires_at: new Date((NOW + 3600) * 1000).toISOString(),
      expires_at_ms: (NOW + 3600) * 1000,
      obtained_at: new Date(NOW * 1000).toISOString(),
      last_refresh: new Date(NOW * 1000).toISOString(),
    }
    const file = stored(testHome)
    expect(file.active_provider).toBe("openrouter")
    expect(file.providers["nous"]).toEqual({ source: "device_code", extra: { kept: true }, ...tokens })
    expect(file.credential_pool["nous"]).toEqual([expect.objectContaining(tokens)])
  })

  test("nested tokens are found and refreshed in place", async () => {
    await using server = await startAuthorizationServer()
    const { accessToken, refreshToken } = server.issue()
    await using testHome = await temporaryHome({
      config: settings(server.url),
      files: loginFile({
        tokens: { access_token: accessToken, refresh_token: refreshToken, id_token: "i" },
        ...expired,
      }),
    })
    expect((await (await open(testHome, { provider: "nous" })).select())?.secret).toBe("access-token-2")
    expect(stored(testHome).providers["nous"]?.["tokens"]).toEqual({
      access_token: "access-token-2",
      refresh_token: "refresh-token-2",
      id_token: "i",
    })
  })

  test("two pools and two runs at the same moment: one refresh, the others adopt", async () => {
    await using server = await startAuthorizationServer()
    const { accessToken, refreshToken } = server.issue()
    await using testHome = await temporaryHome({
      config: settings(server.url),
      files: loginFile({ access_token: accessToken, refresh_token: refreshToken }),
    })
    const [first, second] = [await open(testHome, { provider: "nous" }), await open(testHome, { provider: "nous" })]
    const id = (await first.select())!.id
    const outcomes = await Promise.all([first, first, second].map((pool) => pool.refresh(id, { signal })))
    expect(outcomes.toSorted()).toEqual(["adopted", "adopted", "refreshed"])
    expect(server.tokenRequests).toHaveLength(1)
    expect([(await first.select())?.secret, (await second.select())?.secret]).toEqual([
      "access-token-2",
      "access-token-2",
    ])
    expect(await first.refresh(id, { signal, refused: accessToken })).toBe("adopted")
  })

  test("an exhausted login becomes available when another process has refreshed it", async () => {
    await using server = await startAuthorizationServer()
    const { accessToken, refreshToken } = server.issue()
    await using testHome = await temporaryHome({
      config: settings(server.url),
      files: loginFile({ access_token: accessToken, refresh_token: refreshToken }),
    })
    const [mine, other] = [await open(testHome, { provider: "nous" }), await open(testHome, { provider: "nous" })]
    const id = (await mine.select())!.id
    await mine.markExhausted(id, { status: 401 })
    expect(await mine.select()).toBeUndefined()
    expect(await other.refresh(id, { signal })).toBe("refreshed")
    expect((await mine.select())?.secret).toBe("access-token-2")
  })

  test.each([
    [{ status: 400, body: { error: "invalid_grant" } }, "dead"],
    [{ status: 401, body: { error: { code: "refresh_token_reused" } } }, "dead"],
    [{ status: 429, body: { error: "slow" } }, "failed"],
    [{ status: 503, body: "<html>" }, "failed"],
    [{ status: 400, body: { error: "invalid_client" } }, "failed"],
  ])("the token endpoint responds with %j: %s", async (answer, outcome) => {
    await using server = await startAuthorizationServer()
    const { accessToken, refreshToken } = server.issue()
    await using testHome = await temporaryHome({
      config: settings(server.url),
      files: loginFile({ access_token: accessToken, refresh_token: refreshToken }),
    })
    const pool = await open(testHome, { provider: "nous" })
    const id = (await pool.select())!.id
    server.failNext(answer)
    expect(await pool.refresh(id, { signal })).toBe(outcome)
    expect(pool.lines.join("\n")).toContain("could not be refreshed")
    expect(pool.lines.join("\n")).not.toContain(refreshToken)
    const kept = outcome === "dead" ? ["", ""] : [accessToken, refreshToken]
    const { access_token: access, refresh_token: refresh } = stored(testHome).providers["nous"]!
    expect([access, refresh]).toEqual(kept)
    expect([pool.report()[0]?.status, pool.isRefreshable(id)]).toEqual(
      outcome === "dead" ? ["dead", false] : ["ok", true],
    )
  })

  test("an expired login that cannot be refreshed is skipped", async () => {
    await using testHome = await temporaryHome({
      files: loginFile(
        { access_token: "old", refresh_token: "r", ...expired },
        { credential_pool: { nous: [key("z", { priority: 5 })] } },
      ),
      config: "providers: { nous: { oauth: { token_url: 'http://127.0.0.1:9/token', client_id: c } } }\n",
    })
    expect(await idOf(await open(testHome, { provider: "nous" }))).toBe("z")
  })

  test("a refresh ends on abort", async () => {
    const held = Promise.withResolvers<void>()
    const stop = new AbortController()
    await using server = await startAuthorizationServer({
      beforeTokenResponse: async () => {
        stop.abort()
        await held.promise
      },
    })
    const { accessToken, refreshToken } = server.issue()
    await using testHome = await temporaryHome({
      config: settings(server.url),
      files: loginFile({ access_token: accessToken, refresh_token: refreshToken }),
    })
    const pool = await open(testHome, { provider: "nous" })
    const id = (await pool.select())!.id
    expect(await pool.refresh(id, { signal: stop.signal })).toBe("failed")
    held.resolve()
  })
})

test("a login with a CA bundle is refreshed with it", async () => {
  await using server = await startAuthorizationServer()
  await using secure = await startTlsServer(server.url)
  const issued = server.issue()
  const login = (tls: object) => ({
    "auth.json": JSON.stringify({
      active_provider: "nous",
      providers: {
        nous: {
          access_token: issued.accessToken,
          refresh_token: issued.refreshToken,
          expires_at: new Date(NOW * 1000 - 1000).toISOString(),
          tls,
        },
      },
    }),
  })
  const config = `providers: { nous: { oauth: { token_url: "${secure.url}/token", client_id: client-1 } } }\n`
  // Disabled verification does not apply to a refresh.
  await using careless = await temporaryHome({ config, files: login({ insecure: true }) })
  const unrenewed = await open(careless, { provider: "nous" })
  await unrenewed.select()
  expect([unrenewed.lines.join(), server.tokenRequests.length]).toEqual([
    expect.stringContaining("its certificate cannot be verified"),
    0,
  ])
  await using testHome = await temporaryHome({ config, files: login({ ca_bundle: secure.certificateFile }) })
  expect((await (await open(testHome, { provider: "nous" })).select())?.secret).toBe("access-token-2")
})
