import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { FileLockError, withFileLock } from "./file-lock.ts"

test("work runs under the lock, which is removed afterwards, even when the work fails", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "x.lock")
  expect(await withFileLock(path, { waitMs: 0 }, () => existsSync(path))).toBe(true)
  await expect(withFileLock(path, { waitMs: 0 }, () => Promise.reject(new Error("no")))).rejects.toThrow("no")
  expect(existsSync(path)).toBe(false)
})

test("tasks of one process take turns", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "x.lock")
  let inside = 0
  let most = 0
  const task = async () =>
    await withFileLock(path, { waitMs: 10_000 }, async () => {
      inside += 1
      most = Math.max(most, inside)
      await Promise.resolve()
      inside -= 1
    })
  await Promise.all(Array.from({ length: 8 }, task))
  expect(most).toBe(1)
})

test("the work may acquire the same lock again, but not after it has ended", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "x.lock")
  const started = Promise.withResolvers<undefined>()
  let late: Promise<boolean> = Promise.resolve(false)
  const nested = await withFileLock(path, { waitMs: 0 }, async () => {
    late = started.promise.then(async () => await withFileLock(path, { waitMs: 0 }, () => existsSync(path)))
    return await withFileLock(path, { waitMs: 0 }, () => "nested")
  })
  started.resolve(undefined)
  expect([nested, await late]).toEqual(["nested", true])
})

test("waiting ends with an error that names the holder, or with the signal", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "x.lock")
  const held = Promise.withResolvers<undefined>()
  const holder = withFileLock(path, { waitMs: 0 }, async () => await held.promise)
  const error = await withFileLock(path, { waitMs: 30 }, () => undefined).catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(FileLockError)
  expect(String(error)).toContain(`process ${process.pid}`)
  const stop = new AbortController()
  const waiting = withFileLock(path, { waitMs: 60_000, signal: stop.signal }, () => undefined)
  stop.abort(new Error("stopped"))
  await expect(waiting).rejects.toThrow()
  held.resolve(undefined)
  await holder
})

test("a dead owner's lock is taken over", async () => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "x.lock")
  const script = `
    import { withFileLock } from ${JSON.stringify(join(import.meta.dirname, "file-lock.ts"))}
    await withFileLock(${JSON.stringify(path)}, { waitMs: 0 }, () => { process.kill(process.pid, "SIGKILL") })
  `
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], { stdio: "ignore" })
  await once(child, "exit")
  expect(existsSync(path)).toBe(true)
  expect(await withFileLock(path, { waitMs: 0 }, () => "mine")).toBe("mine")
})

const old = new Date(Date.now() - 60_000)
test.each([
  [
    "a process id reused by a younger process",
    { pid: process.pid, start: "1", host: "own", token: "t" },
    undefined,
    "taken",
  ],
  ["an owner elsewhere that has been silent", { pid: 1, start: "1", host: "elsewhere", token: "t" }, old, "taken"],
  ["an owner elsewhere that is active", { pid: 1, start: "1", host: "elsewhere", token: "t" }, undefined, "held"],
  ["a file without an owner, old", "", old, "taken"],
  ["a file without an owner, just made", "", undefined, "held"],
])("%s", async (_, owner, time, expected) => {
  await using fixture = await temporaryHome()
  const path = join(fixture.workdir, "x.lock")
  const own = await withFileLock(path, { waitMs: 0 }, () => readFileSync(path, "utf8"))
  expect(own).toContain(hostname())
  const host: string = JSON.parse(own).host
  const text =
    typeof owner === "string" ? owner : JSON.stringify({ ...owner, host: owner.host === "own" ? host : owner.host })
  writeFileSync(path, text)
  if (time !== undefined) utimesSync(path, time, time)
  const outcome = await withFileLock(path, { waitMs: 0 }, () => "taken").catch((error: unknown) =>
    error instanceof FileLockError ? "held" : error,
  )
  expect(outcome).toBe(expected)
})

test("two processes that count under the lock lose nothing", async () => {
  await using fixture = await temporaryHome()
  const counter = join(fixture.workdir, "count")
  writeFileSync(counter, "0")
  const script = `
    import { readFileSync, writeFileSync } from "node:fs"
    import { withFileLock } from ${JSON.stringify(join(import.meta.dirname, "file-lock.ts"))}
    for (let i = 0; i < 100; i += 1)
      await withFileLock(${JSON.stringify(`${counter}.lock`)}, { waitMs: 20000 }, () =>
        writeFileSync(${JSON.stringify(counter)}, String(Number(readFileSync(${JSON.stringify(counter)}, "utf8")) + 1)))
  `
  const children = [1, 2].map(() =>
    spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      stdio: ["ignore", "ignore", "inherit"],
    }),
  )
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0] as unknown))
  expect([codes, readFileSync(counter, "utf8")]).toEqual([[0, 0], "200"])
})
