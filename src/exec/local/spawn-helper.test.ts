import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"

import { expect, test } from "vitest"

import { expectExited, isAlive } from "../../../test/e2e/process-alive.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { closeInheritedDescriptors } from "./inherited-descriptors.ts"
import { createNamedPipePool } from "./named-pipe-pool.ts"
import { createSpawnHelper } from "./spawn-helper.ts"
import type { HelperRequest } from "./helper-messages.ts"
import type { StartedChild } from "./spawn-helper.ts"

/** Allows for a busy machine. */
const POLL = { timeout: 10_000 }

interface StartedHere {
  readonly child: StartedChild & { readonly pid: number }
  readonly output: Promise<string>
  readonly errors: Promise<string>
}

function openHelper() {
  const pipes = createNamedPipePool()
  const helper = createSpawnHelper({ worthwhileBytes: 0 })
  const start = async (script: string, more: Partial<HelperRequest> = {}): Promise<StartedHere> => {
    await pipes.prepare()
    let taken: ReturnType<typeof pipes.takeForHelper>
    let child: StartedChild | undefined
    const request = { program: "/bin/bash", args: ["--norc", "-c", script], cwd: "/", environment: {}, ...more }
    await expect
      .poll(() => (child ??= helper.start(request, () => (taken = pipes.takeForHelper()))), POLL)
      .toBeDefined()
    if (child === undefined || taken === undefined) throw new Error("the helper is not ready")
    const [output, errors] = [text(taken.output), text(taken.stderr)]
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    child.once("start", resolve)
    child.once("error", reject)
    await promise
    return { child: child as StartedHere["child"], output, errors }
  }
  return {
    start,
    [Symbol.dispose]: () => {
      helper.dispose()
      pipes.dispose()
    },
  }
}

/** The streams, and what this process inherited. The product closes the latter with another command line. */
function expectedDescriptors(): readonly string[] {
  const inherited = (closeInheritedDescriptors("/bin/bash") ?? []).join(" ").matchAll(/(\d+)>&-/g)
  return ["0", "1", "2", ...[...inherited].map(([, descriptor = ""]) => descriptor)]
}

async function exitOf({ child }: StartedHere): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null) return [child.exitCode, child.signalCode]
  return await new Promise((resolve) => child.once("exit", (...ending) => resolve(ending)))
}

test("a process gets exactly the directory, environment, arguments and streams, and leads its own session", async () => {
  await using home = await temporaryHome()
  const cwd = join(home.workdir, "a b")
  mkdirSync(cwd)
  using helper = openHelper()
  const path = { PATH: process.env["PATH"] ?? "" }
  const environment = { ...path, LINES_: "one\ntwo\n", "not.a-name": "x", EMPTY: "", UTF8: "é日🙂" }
  const inspect = 'cat; pwd; cut -d" " -f6 /proc/$$/stat; echo $$; echo "$1" >/dev/stderr'
  const started = await helper.start("", { cwd, environment, args: ["--norc", "-c", inspect, "bash", "an\nargument"] })
  const { pid } = started.child
  const given = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").slice(0, -1)
  expect(given.toSorted()).toEqual(
    Object.entries(environment)
      .map(([name, value]) => `${name}=${value}`)
      .toSorted(),
  )
  await expect.poll(() => readdirSync(`/proc/${pid}/fd`).toSorted(), POLL).toEqual(expectedDescriptors().toSorted())
  started.child.stdin?.end("input ü\n")
  expect(await exitOf(started)).toEqual([0, null])
  expect(await started.output).toBe(`input ü\n${cwd}\n${pid}\n${pid}\n`)
  expect(await started.errors).toBe("an\nargument\n")
})

test("exit codes, signals and processes that cannot be started are reported", async () => {
  using helper = openHelper()
  expect(await exitOf(await helper.start("exit 3"))).toEqual([3, null])
  expect(await exitOf(await helper.start("kill -9 $$"))).toEqual([null, "SIGKILL"])
  await expect(helper.start("", { program: "/no/such/program" })).rejects.toThrow("ENOENT")
  await expect(helper.start("true", { cwd: "/no/such/directory" })).rejects.toThrow("ENOENT")
})

test("when the helper dies, its processes end and the next ones are started by another helper", async () => {
  using helper = openHelper()
  const first = await helper.start("echo $PPID; read")
  const parent = Number(/PPid:\s*(\d+)/.exec(readFileSync(`/proc/${first.child.pid}/status`, "utf8"))?.[1])
  const ended = exitOf(first)
  process.kill(parent, "SIGKILL")
  expect(await ended).toEqual([null, "SIGKILL"])
  await expectExited(first.child.pid)
  const second = await helper.start("exit 4")
  expect(await exitOf(second)).toEqual([4, null])
})

test("the helper and a shell that waits for input end with a process that is killed", async () => {
  const program = `
    import { createNamedPipePool } from ${JSON.stringify(import.meta.resolve("./named-pipe-pool.ts"))}
    import { createSpawnHelper } from ${JSON.stringify(import.meta.resolve("./spawn-helper.ts"))}
    const pipes = createNamedPipePool()
    const helper = createSpawnHelper({ worthwhileBytes: 0 })
    await pipes.prepare()
    const request = { program: "/bin/bash", args: ["-c", "read"], cwd: "/", environment: {} }
    const waiting = setInterval(() => {
      const child = helper.start(request, () => pipes.takeForHelper())
      if (child === undefined) return
      clearInterval(waiting)
      child.once("start", () => console.log(child.pid))
    }, 5)
  `
  const owner = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const [line] = (await once(owner.stdout, "data")) as [Buffer]
  const shell = Number(line.toString())
  const parent = Number(/PPid:\s*(\d+)/.exec(readFileSync(`/proc/${shell}/status`, "utf8"))?.[1])
  expect(parent).not.toBe(owner.pid)
  owner.kill("SIGKILL")
  await expect.poll(() => [isAlive(shell), isAlive(parent)], POLL).toEqual([false, false])
})
