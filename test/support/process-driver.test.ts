import { spawnSync } from "node:child_process"

import { expect, test } from "vitest"

import { hermesCommand, runProcess, startProcess } from "./process-driver.ts"
import { temporaryHome } from "./temporary-home.ts"

const ENV = { PATH: process.env["PATH"] ?? "" }

function shell(script: string) {
  return { command: ["sh", "-c"] as const, args: [script], env: ENV }
}

test("a run returns the exit code and both outputs", async () => {
  const result = await runProcess(shell("echo out; echo err >&2; exit 3"))
  expect({ ...result, durationMs: 0 }).toEqual({
    code: 3,
    signal: null,
    stdout: "out\n",
    stderr: "err\n",
    durationMs: 0,
  })
  expect(result.durationMs).toBeGreaterThan(0)
})

test("a character split across two reads is decoded correctly", async () => {
  const script = `process.stdout.write(Buffer.from([0xc3])); setTimeout(() => process.stdout.write(Buffer.from([0xbc])), 30)`
  const { stdout } = await runProcess({ command: process.execPath, args: ["-e", script], env: ENV })
  expect(stdout).toBe("ü")
})

test.each([
  { stdin: "some text", stdout: "some text" },
  { stdin: "closed", stdout: "" },
  { stdin: "inherit-null", stdout: "" },
])("standard input $stdin reads as $stdout", async ({ stdin, stdout }) => {
  expect(await runProcess({ ...shell("cat"), stdin })).toMatchObject({ code: 0, stdout })
})

test("the process sees only the given environment and working directory", async () => {
  await using home = await temporaryHome()
  const { stdout } = await runProcess({ ...shell("pwd; env"), cwd: home.workdir, env: { PATH: ENV.PATH, A: "1" } })
  const lines = stdout.trimEnd().split("\n")
  expect(lines[0]).toBe(home.workdir)
  expect(lines.slice(1).filter((line) => !/^(PATH|PWD|OLDPWD|SHLVL|_)=/.test(line))).toEqual(["A=1"])
})

test("a run that exceeds its time limit fails with its output, and its process group is killed", async () => {
  const script = "echo started; sleep 60 & echo $!; wait"
  const failure = await runProcess({ ...shell(script), timeoutMs: 300 }).catch((error: unknown) => error as Error)
  const [, pid] = /started\n(\d+)/.exec((failure as Error).message) ?? []
  expect((failure as Error).message).toContain("did not end in time")
  expect(isAlive(Number(pid))).toBe(false)
})

test("a run can be killed after a delay", async () => {
  const killAfter = { ms: 50, signal: "SIGKILL" } as const
  expect(await runProcess({ ...shell("exec sleep 60"), killAfter })).toMatchObject({ code: null, signal: "SIGKILL" })
})

test("a command that does not exist rejects with ENOENT", async () => {
  await expect(runProcess({ command: "/nonexistent/command", env: ENV })).rejects.toThrow("ENOENT")
})

test("a test can wait for output before it writes more input", async () => {
  await using cat = startProcess({ command: "cat", env: ENV })
  cat.write("one\n")
  await cat.waitForOutput("one")
  cat.write("two\n")
  await cat.waitForOutput(/two\n$/)
  cat.closeStdin()
  expect(await cat.exit).toMatchObject({ code: 0, stdout: "one\ntwo\n" })
})

test("waiting for output that never arrives fails with the output so far, at exit or at the time limit", async () => {
  await using ended = startProcess(shell("echo other"))
  await expect(ended.waitForOutput("hello")).rejects.toThrow(/ended before it printed hello\n--- stdout\nother/)
  await using silent = startProcess({ command: "cat", env: ENV })
  await expect(silent.waitForOutput("hello", { timeoutMs: 50 })).rejects.toThrow("did not print hello in time")
})

test("a signal reaches the process", async () => {
  await using running = startProcess(shell("trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.01; done"))
  await running.waitForOutput("ready")
  running.signal("SIGINT")
  expect(await running.exit).toMatchObject({ code: 5, stdout: "ready\ncaught\n" })
})

test("closing standard output makes the process fail with EPIPE", async () => {
  const script = `
    process.stdout.on("error", (error) => { process.stderr.write(error.code); process.exit(7) })
    process.stdout.write("ready\\n")
    process.stdin.on("data", () => process.stdout.write("more\\n"))`
  await using running = startProcess({ command: process.execPath, args: ["-e", script], env: ENV })
  await running.waitForOutput("ready")
  running.closeStdout()
  running.write("go")
  expect(await running.exit).toMatchObject({ code: 7, stderr: "EPIPE" })
})

test("disposing kills the whole process group", async () => {
  const running = startProcess(shell("sleep 60 & echo $!; wait"))
  await running.waitForOutput(/^\d+\n/)
  const child = Number(running.stdout)
  const before = isAlive(child)
  await running[Symbol.asyncDispose]()
  expect([before, isAlive(child), isAlive(running.pid)]).toEqual([true, false, false])
})

test("a run ends with complete output even if a grandchild keeps the pipe open", async () => {
  const { stdout, durationMs } = await runProcess(shell("sleep 60 & echo done"))
  expect(stdout).toBe("done\n")
  expect(durationMs).toBeLessThan(10_000)
})

test("the built command runs with the current Node", () => {
  const [node, file] = hermesCommand()
  expect([node, file.endsWith("/dist/hermes.js")]).toEqual([process.execPath, true])
})

/** Zombies count as dead: they were killed, but not reaped yet. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" })
  return stdout.trim() !== "" && !stdout.trim().startsWith("Z")
}
