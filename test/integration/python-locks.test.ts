import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { FileLockError, withFileLock } from "../../src/base/file-lock.ts"
import { pythonUnavailableReason } from "../support/python.ts"
import { titleWithReason } from "../support/skip-reason.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"

const noPython = pythonUnavailableReason("import fcntl")
const source = (path: string): string => JSON.stringify(join(import.meta.dirname, "../../src", path))
const CHANGES = 50
/** Exits with 1 when the lock is held. */
const TRY_LOCK = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a+').fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)"

/** Runs two writers in Python and two in Node on the same file, and returns their exit codes. */
async function runWriters(home: TemporaryHome, file: WriterFile): Promise<readonly unknown[]> {
  const writer = join(import.meta.dirname, "../fixtures/python/locked-writer.py")
  const commands = [
    ...["python-1", "python-2"].map((name) => ["python3", writer, file.kind, file.path, file.lock, name, `${CHANGES}`]),
    ...["node-1", "node-2"].map((name) => [
      process.execPath,
      "--input-type=module-typescript",
      "-e",
      file.script(name),
    ]),
  ]
  return await Promise.all(
    commands.map(async ([program = "", ...args]) => {
      const child = spawn(program, args, {
        env: { ...process.env, ...home.env },
        stdio: ["ignore", "ignore", "inherit"],
      })
      return (await once(child, "exit"))[0]
    }),
  )
}

function output(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: "utf8" }).trim()
}

interface WriterFile {
  readonly kind: "memory" | "auth"
  readonly path: string
  readonly lock: string
  readonly script: (name: string) => string
}

const allEntries = ["python-1", "python-2", "node-1", "node-2"]
  .flatMap((name) => Array.from({ length: CHANGES }, (_, index) => `${name} ${index}`))
  .toSorted()

describe.skipIf(noPython !== undefined)(
  titleWithReason("files that the Python edition changes at the same time", noPython),
  () => {
    test("memory loses no entry", async () => {
      await using home = await temporaryHome()
      const path = join(home.path, "memories", "MEMORY.md")
      mkdirSync(join(home.path, "memories"))
      const script = (name: string) => `
      import { systemClock } from ${source("base/clock.ts")}
      import { createMemoryStore } from ${source("knowledge/memory/memory-store.ts")}
      import { memoryPaths } from ${source("knowledge/memory/memory-file.ts")}
      const { memoryPath, userPath } = memoryPaths(${JSON.stringify(home.path)})
      const limits = { memory: 100000, user: 1000 }
      const store = createMemoryStore({ memoryPath, userPath, limits, clock: systemClock })
      for (let i = 0; i < ${CHANGES}; i += 1) {
        const result = await store.add("memory", "${name} " + i)
        if (result.kind !== "done") throw new Error(JSON.stringify(result))
      }`
      const codes = await runWriters(home, { kind: "memory", path, lock: `${path}.lock`, script })
      const entries = readFileSync(path, "utf8").split("\n§\n").toSorted()
      expect([codes, entries]).toEqual([[0, 0, 0, 0], allEntries])
    }, 60_000)

    test("auth.json loses no credential", async () => {
      await using home = await temporaryHome()
      const path = join(home.path, "auth.json")
      const script = (name: string) => `
      import { updateAuth } from ${source("config/auth-file.ts")}
      import { systemClock } from ${source("base/clock.ts")}
      import { processEnvironment } from ${source("config/environment.ts")}
      import { resolveHome } from ${source("config/home.ts")}
      const environment = processEnvironment()
      const context = { home: resolveHome(environment), environment, clock: systemClock }
      for (let i = 0; i < ${CHANGES}; i += 1) {
        const done = await updateAuth(context, (store) => ({
          ...store,
          credentialPool: { ...store.credentialPool, p: [...(store.credentialPool.p ?? []), { id: "${name} " + i }] },
        }))
        if (!done.ok) throw new Error(done.error)
      }`
      const codes = await runWriters(home, { kind: "auth", path, lock: join(home.path, "auth.lock"), script })
      const stored = JSON.parse(readFileSync(path, "utf8")) as { credential_pool: { p: { id: string }[] } }
      expect([codes, stored.credential_pool.p.map(({ id }) => id).toSorted()]).toEqual([[0, 0, 0, 0], allEntries])
    }, 60_000)

    test("each waits for the other, and the lock file stays", async () => {
      await using home = await temporaryHome()
      const path = join(home.path, "x.lock")
      const hold = `
import fcntl, sys
file = open(sys.argv[1], "a+")
fcntl.flock(file.fileno(), fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()`
      const holder = spawn("python3", ["-c", hold, path], { stdio: ["pipe", "pipe", "inherit"] })
      await once(holder.stdout, "data")
      const refused = withFileLock(path, { waitMs: 100, sharedWithPython: true }, () => "inside")
      await expect(refused).rejects.toThrow(FileLockError)
      const waiting = withFileLock(path, { waitMs: 20_000, sharedWithPython: true }, async () => {
        return (await once(spawn("python3", ["-c", TRY_LOCK, path], { stdio: "ignore" }), "exit"))[0]
      })
      holder.stdin.end("\n")
      expect([await waiting, existsSync(path), existsSync(`${path}.owner`)]).toEqual([1, true, false])
    })

    test.each(["flock", "perl", "python3"])("where only %s can lock, it does", async (program) => {
      await using home = await temporaryHome()
      const path = join(home.path, "x.lock")
      const directory = join(home.path, "only")
      mkdirSync(directory)
      const interpreter = output("python3", "-c", "import sys; print(sys.executable)")
      const target = program === "python3" ? interpreter : output("sh", "-c", `command -v ${program}`)
      symlinkSync(target, join(directory, program))
      const script = `
      import { spawnSync } from "node:child_process"
      import { withFileLock } from ${source("base/file-lock.ts")}
      await withFileLock(${JSON.stringify(path)}, { waitMs: 20000, sharedWithPython: true }, () => {
        const held = spawnSync(${JSON.stringify(interpreter)}, ["-c", ${JSON.stringify(TRY_LOCK)}, ${JSON.stringify(path)}])
        process.exitCode = held.status === 1 ? 0 : 9
      })`
      const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
        env: { ...home.env, PATH: directory },
        stdio: ["ignore", "ignore", "inherit"],
      })
      expect((await once(child, "exit"))[0]).toBe(0)
    })

    test("an interrupt ends the wait", async () => {
      await using home = await temporaryHome()
      const path = join(home.path, "x.lock")
      const stop = new AbortController()
      const outcome = withFileLock(path, { waitMs: 0, sharedWithPython: true }, async () => {
        // Another open file excludes this one as another process would.
        const { flock } = await import("../../src/base/flock.ts")
        const waiting = flock(path, { waitMs: 60_000, signal: stop.signal })
        stop.abort(new Error("stopped"))
        await waiting
      })
      await expect(outcome).rejects.toThrow("stopped")
    })
  },
)
