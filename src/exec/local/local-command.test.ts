import { existsSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { getEventListeners } from "node:events"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { CommandExit, RunCommandOptions } from "../workspace.ts"
import { createLocalWorkspace } from "./local-workspace.ts"

const open = (cwd: string, userHome = cwd) =>
  createLocalWorkspace({ cwd, userHome, environment: { PATH: process.env["PATH"] ?? "", LANG: "C.UTF-8" } })

const defaults = (): RunCommandOptions => ({
  timeoutMs: 20_000,
  signal: new AbortController().signal,
  keepChars: 50_000,
})

async function run(command: string, options: Partial<RunCommandOptions> = {}): Promise<CommandExit> {
  await using home = await temporaryHome()
  const workspace = open(home.workdir)
  try {
    return await workspace.run(command, { ...defaults(), ...options }).exit
  } finally {
    await workspace.close()
  }
}

const exited = (code: number, output: string): CommandExit => ({ how: "exited", code, output, omittedChars: 0 })

test.each([
  ["echo hi; echo no >&2", exited(0, "hi\nno\n")],
  ["exit 3", exited(3, "")],
  ["yes | head -1", exited(0, "y\n")],
  ["kill -SEGV $$", exited(139, "")],
  ["kill -PIPE $$", exited(141, "")],
  ["no-such-program-here 2>/dev/null", exited(127, "")],
])("%s exits with the code of the shell", async (command, expected) => {
  expect(await run(command)).toEqual(expected)
})

test("stdin is passed on, and a command that does not read it still succeeds", async () => {
  expect(await run("cat", { stdin: "päck\n" })).toEqual(exited(0, "päck\n"))
  expect(await run("true", { stdin: "x".repeat(1_000_000) })).toEqual(exited(0, ""))
})

test("characters split across chunks are joined; an incomplete last one is replaced", async () => {
  expect(await run(String.raw`printf '\xe2\x82'; sleep 0.05; printf '\xac.'`)).toEqual(exited(0, "€."))
  expect(await run(String.raw`printf 'x\xe2\x82'`)).toEqual(exited(0, "x\uFFFD"))
})

test("memory stays bounded for a huge output", async () => {
  const measure = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external
  const before = measure()
  let peak = 0
  const timer = setInterval(() => {
    peak = Math.max(peak, measure() - before)
  }, 10)
  const exit = await run("head -c 500000000 /dev/zero | tr '\\0' x", { keepChars: 50_000 })
  clearInterval(timer)
  expect([exit.code, exit.omittedChars, peak < 200_000_000]).toEqual([0, 499_950_000, true])
})

test("a huge output is cut to its limit", async () => {
  const exit = await run("head -c 30000000 /dev/zero | tr '\\0' x", { keepChars: 1000 })
  expect([exit.code, exit.omittedChars, exit.output.length < 1200]).toEqual([0, 29_999_000, true])
})

test.each([
  ["/no/such/directory", "the working directory /no/such/directory cannot be used: no such file or directory"],
  ["/dev/null", "the working directory /dev/null is not a directory"],
])("a command in %s fails to start with the reason", async (cwd, error) => {
  expect(await run("pwd", { cwd })).toEqual({ how: "failed-to-start", code: -1, error, output: "", omittedChars: 0 })
})

test.each([
  ["echo \0", "the command contains a NUL character"],
  [`: ${"x".repeat(200_000)}`, "the command is too long (200002 bytes); write it to a script file and run that"],
])("a command that no system can start fails with the reason", async (command, error) => {
  expect(await run(command)).toEqual({ how: "failed-to-start", code: -1, error, output: "", omittedChars: 0 })
})

test("a timeout keeps the output and kills the whole process tree", async () => {
  await using home = await temporaryHome()
  const workspace = open(home.workdir)
  const exit = await workspace.run(
    "echo $$ > shell; (sleep 300 & echo $! > child; wait) & setsid sleep 300 & echo $! > stray; " +
      "(setsid sh -c 'echo $$ > orphan; exec sleep 300' &); echo printed; wait",
    { ...defaults(), timeoutMs: 400 },
  ).exit
  expect(exit).toEqual({ how: "timed-out", code: 124, output: "printed\n", omittedChars: 0 })
  for (const name of ["shell", "child", "stray", "orphan"]) {
    await waitForExit(Number(await readFile(join(home.workdir, name), "utf8")))
  }
})

test("an interrupt does not wait for a command that ignores it, and the command is killed", async () => {
  await using home = await temporaryHome()
  const workspace = open(home.workdir)
  const stop = new AbortController()
  const running = workspace.run("trap '' TERM INT; echo $$ > pid; echo ready; while :; do sleep 0.05; done", {
    ...defaults(),
    signal: stop.signal,
  })
  for await (const text of running.output) if (text === "ready\n") break
  stop.abort()
  expect(await running.exit).toEqual({ how: "interrupted", code: 130, output: "ready\n", omittedChars: 0 })
  const pid = Number(await readFile(join(home.workdir, "pid"), "utf8"))
  expect(await isAlive(pid)).toBe(true)
  await waitForExit(pid)
  await workspace.close()
})

test("abandon also kills a command that is in its grace period", async () => {
  await using home = await temporaryHome()
  const workspace = open(home.workdir)
  const stop = new AbortController()
  const running = workspace.run("trap '' TERM; echo $$ > pid; echo ready; while :; do sleep 0.05; done", {
    ...defaults(),
    signal: stop.signal,
  })
  for await (const text of running.output) if (text === "ready\n") break
  stop.abort()
  workspace.abandon()
  await waitForExit(Number(await readFile(join(home.workdir, "pid"), "utf8")))
})

test("an already aborted signal starts nothing", async () => {
  await using home = await temporaryHome()
  const marker = join(home.workdir, "ran")
  const exit = await run(`touch ${marker}`, { signal: AbortSignal.abort() })
  expect([exit, existsSync(marker)]).toEqual([{ how: "interrupted", code: 130, output: "", omittedChars: 0 }, false])
})

test("a grandchild that holds the pipe does not delay the result and is killed when the workspace closes", async () => {
  await using home = await temporaryHome()
  const workspace = open(home.workdir)
  const started = performance.now()
  const exit = await workspace.run("sleep 300 & echo $! > child; echo done", defaults()).exit
  expect([exit, performance.now() - started < 5000]).toEqual([exited(0, "done\n"), true])
  const child = Number(await readFile(join(home.workdir, "child"), "utf8"))
  expect(process.kill(child, 0)).toBe(true)
  await workspace.close()
  await waitForExit(child)
})

test("closing the workspace interrupts running commands and starts no new ones", async () => {
  await using home = await temporaryHome()
  const workspace = open(home.workdir)
  const running = workspace.run("exec >&- 2>&-; sleep 300", defaults())
  await workspace.close()
  expect((await running.exit).how).toBe("interrupted")
  expect((await workspace.run("true", defaults()).exit).how).toBe("interrupted")
})

test("output is streamed while the command runs", async () => {
  await using home = await temporaryHome()
  const workspace = open(home.workdir)
  const running = workspace.run("echo one; while [ ! -e go ]; do sleep 0.02; done; echo two", defaults())
  const seen: string[] = []
  for await (const text of running.output) {
    seen.push(text)
    if (text === "one\n") await writeFile(join(home.workdir, "go"), "")
  }
  expect([seen.join(""), await running.exit]).toEqual(["one\ntwo\n", exited(0, "one\ntwo\n")])
})

test("a signal shared by many commands accumulates no listeners", async () => {
  await using home = await temporaryHome()
  const workspace = open(home.workdir)
  const { signal } = new AbortController()
  for (let round = 0; round < 15; round += 1) await workspace.run("true", { ...defaults(), signal }).exit
  expect(getEventListeners(signal, "abort")).toEqual([])
})

test("a timeout above the timer limit does not fire immediately", async () => {
  expect(await run("sleep 0.1; echo ok", { timeoutMs: 2 ** 40 })).toEqual(exited(0, "ok\n"))
})

async function waitForExit(pid: number): Promise<void> {
  await expect.poll(() => isAlive(pid), { interval: 10, timeout: 10_000 }).toBe(false)
}

async function isAlive(pid: number): Promise<boolean> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8")
    return !/\) Z /.test(stat)
  } catch {
    return false
  }
}
