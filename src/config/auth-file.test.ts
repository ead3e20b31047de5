import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome, type TemporaryHome } from "../../test/support/temporary-home.ts"
import { readAuth, updateAuth, withAuthLock, type AuthStore } from "./auth-file.ts"
import { environmentFrom } from "./environment.ts"
import { homeAt } from "./home.ts"

const clock = { now: () => Date.UTC(2026, 0, 2), sleep: async () => await Promise.resolve() }

function context(fixture: TemporaryHome, path = fixture.path) {
  const environment = environmentFrom(fixture.env)
  return { home: homeAt(path, environment), environment, clock }
}

const withLogin = (id: string, state: Record<string, unknown>) => (store: AuthStore) => ({
  ...store,
  providers: { ...store.providers, [id]: state },
})

test("an update keeps every field it does not know, and the file is private", async () => {
  const before = {
    version: 1,
    future: { a: [1] },
    providers: { x: { access_token: "t", extra: 1 } },
    credential_pool: { x: [{ id: "1", odd: true }] },
    suppressed_sources: { x: ["env"] },
  }
  await using fixture = await temporaryHome({ files: { "auth.json": JSON.stringify(before) } })
  await updateAuth(context(fixture), withLogin("y", { access_token: "u" }))
  expect(JSON.parse(readFileSync(join(fixture.path, "auth.json"), "utf8"))).toEqual({
    ...before,
    updated_at: "2026-01-02T00:00:00.000Z",
    active_provider: null,
    providers: { ...before.providers, y: { access_token: "u" } },
  })
  await using fresh = await temporaryHome()
  await updateAuth(context(fresh), withLogin("y", {}))
  expect(statSync(join(fresh.path, "auth.json")).mode & 0o777).toBe(0o600)
})

test("a damaged file is copied, reported and starts empty", async () => {
  await using fixture = await temporaryHome({ files: { "auth.json": '{"providers": {"x"' } })
  const read = readAuth(context(fixture).home)
  expect([read.store.providers, read.warnings.length]).toEqual([{}, 1])
  expect(readFileSync(join(fixture.path, "auth.json.corrupt"), "utf8")).toBe('{"providers": {"x"')
  expect(readFileSync(join(fixture.path, "auth.json"), "utf8")).toBe('{"providers": {"x"')
})

test("later damage does not overwrite the copy of earlier damage", async () => {
  await using fixture = await temporaryHome({ files: { "auth.json": "first damage" } })
  readAuth(context(fixture).home)
  writeFileSync(join(fixture.path, "auth.json"), "second damage")
  const { warnings } = readAuth(context(fixture).home)
  expect(warnings).toEqual([expect.stringContaining("auth.json.corrupt-2")])
  readAuth(context(fixture).home)
  expect(
    ["auth.json.corrupt", "auth.json.corrupt-2"].map((name) => readFileSync(join(fixture.path, name), "utf8")),
  ).toEqual(["first damage", "second damage"])
  expect(readdirSync(fixture.path).filter((name) => name.includes("corrupt"))).toHaveLength(2)
})

test("a file that can be neither read nor copied is not overwritten", async () => {
  await using fixture = await temporaryHome()
  mkdirSync(join(fixture.path, "auth.json"))
  expect(await updateAuth(context(fixture), withLogin("x", {}))).toMatchObject({ ok: false })
})

test("a profile sees the root's logins except those it has itself", async () => {
  await using fixture = await temporaryHome({
    files: {
      "auth.json": JSON.stringify({
        active_provider: "a",
        providers: { a: { t: "root" }, b: { t: "root" } },
        credential_pool: { b: [{ id: "1" }], c: [{ id: "2" }] },
      }),
      "profiles/p/auth.json": JSON.stringify({ providers: { b: { t: "own" } } }),
    },
  })
  const { store } = readAuth(context(fixture, join(fixture.path, "profiles", "p")).home)
  expect([store.activeProvider, store.providers, store.credentialPool]).toEqual([
    "a",
    { b: { t: "own" }, a: { t: "root" } },
    { c: [{ id: "2" }] },
  ])
  await updateAuth(context(fixture, join(fixture.path, "profiles", "p")), withLogin("z", {}))
  const own: unknown = JSON.parse(readFileSync(join(fixture.path, "profiles", "p", "auth.json"), "utf8"))
  expect(own).toMatchObject({ providers: { b: { t: "own" }, z: {} } })
  expect(own).not.toHaveProperty("providers.a")
})

test("an update inside the lock does not deadlock", async () => {
  await using fixture = await temporaryHome()
  const done = await withAuthLock(context(fixture), async () => await updateAuth(context(fixture), withLogin("x", {})))
  expect(done.ok).toBe(true)
})

test("a held lock fails with a message when the wait is aborted", async () => {
  await using fixture = await temporaryHome()
  writeFileSync(join(fixture.path, "auth.lock"), "{}")
  const stop = AbortSignal.abort(new Error("stopped"))
  expect(await updateAuth({ ...context(fixture), signal: stop }, withLogin("x", {}))).toMatchObject({ ok: false })
})

test("two processes that log in at the same time both succeed", async () => {
  await using fixture = await temporaryHome()
  const script = `
    import { updateAuth } from ${JSON.stringify(join(import.meta.dirname, "auth-file.ts"))}
    import { systemClock } from ${JSON.stringify(join(import.meta.dirname, "../base/clock.ts"))}
    import { processEnvironment } from ${JSON.stringify(join(import.meta.dirname, "environment.ts"))}
    import { resolveHome } from ${JSON.stringify(join(import.meta.dirname, "home.ts"))}
    const environment = processEnvironment()
    const context = { home: resolveHome(environment), environment, clock: systemClock }
    for (let i = 0; i < 20; i += 1) {
      const id = process.env.WHO + i
      const done = await updateAuth(context, (store) => ({ ...store, providers: { ...store.providers, [id]: {} } }))
      if (!done.ok) throw new Error(done.error)
    }
  `
  const children = ["a", "b"].map((who) =>
    spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      env: { ...fixture.env, WHO: who },
      stdio: ["ignore", "ignore", "inherit"],
    }),
  )
  await Promise.all(children.map(async (child) => await once(child, "exit")))
  expect(Object.keys(readAuth(context(fixture).home).store.providers)).toHaveLength(40)
})
