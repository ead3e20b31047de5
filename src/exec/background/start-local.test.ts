import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test, vi } from "vitest"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLocalWorkspace } from "../local/local-workspace.ts"
import { startStdioProgram } from "../stdio-program.ts"
import type { StartCommandOptions } from "../workspace.ts"

async function openTestWorkspace() {
  const home = await temporaryHome()
  const workspace = createLocalWorkspace({ cwd: home.workdir, userHome: home.userHome, environment: home.env })
  let output = ""
  return {
    home,
    workspace,
    output: () => output,
    start: async (command: string, more: Partial<StartCommandOptions> = {}) =>
      await workspace.start(command, {
        pty: false,
        onOutput: (text) => {
          output += text
        },
        ...more,
      }),
    waitForOutput: async (text: string): Promise<void> => {
      await vi.waitUntil(() => output.includes(text), { timeout: 20_000, interval: 10 })
    },
    async [Symbol.asyncDispose]() {
      await workspace.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

test("a background command takes input without a terminal and exits once", async () => {
  await using session = await openTestWorkspace()
  const cat = await session.start("echo ready; cat; echo end; exit 3")
  await session.waitForOutput("ready\n")
  expect(cat.write("päck\n")).toBe(true)
  await session.waitForOutput("päck\n")
  expect([cat.closeInput(), cat.closeInput(), cat.write("late")]).toEqual([true, false, false])
  expect(await cat.exit).toEqual({ how: "exited", code: 3 })
  expect([session.output(), cat.isPty, cat.pid > 1, /^\d+$/.test(cat.startToken)]).toEqual([
    "ready\npäck\nend\n",
    false,
    true,
    true,
  ])
})

test("a background command starts with the session's shell state and does not change it", async () => {
  await using session = await openTestWorkspace()
  const options = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 1000, keepState: true }
  await session.workspace.run("cd /usr; export A=1; f() { echo f; }", options).exit
  await (
    await session.start("pwd; echo $A; f; cd /; export A=2")
  ).exit
  expect(session.output()).toBe("/usr\n1\nf\n")
  expect((await session.workspace.run("pwd; echo $A", options).exit).output).toBe("/usr\n1\n")
})

test("kill ends the whole process tree, including processes that left the group", async () => {
  await using session = await openTestWorkspace()
  const running = await session.start(
    "sleep 300 & echo $! > child; (setsid sh -c 'echo $$ > orphan; exec sleep 300' &); trap '' TERM; " +
      "while [ ! -s orphan ]; do sleep 0.02; done; echo ready; wait; while :; do sleep 0.1; done",
  )
  await session.waitForOutput("ready")
  await running.kill()
  expect((await running.exit).code).toBe(137)
  for (const name of ["child", "orphan"])
    await waitForExit(Number(await readFile(join(session.home.workdir, name), "utf8")))
  await waitForExit(running.pid)
})

test("processes left by a command that has exited do not delay its exit, can still write, and end with the workspace", async () => {
  await using session = await openTestWorkspace()
  const running = await session.start(
    "(while [ ! -e go ]; do sleep 0.02; done; echo late; sleep 300) & echo $! > child",
  )
  expect(await running.exit).toEqual({ how: "exited", code: 0 })
  await session.workspace.files.write("go", "")
  await session.waitForOutput("late")
  await session.workspace.close()
  await waitForExit(Number(await readFile(join(session.home.workdir, "child"), "utf8")))
})

test("a missing working directory is reported as a failure to start", async () => {
  await using session = await openTestWorkspace()
  const ending = { how: "failed-to-start", code: -1, error: expect.stringContaining("/no/such") as string }
  for (const pty of [false, true]) {
    const failed = await session.start("true", { cwd: "/no/such", pty })
    expect([failed.pid, await failed.exit, failed.write("x"), failed.closeInput()]).toEqual([0, ending, false, false])
    await failed.kill()
  }
})

test("a command in a terminal has a window size, reads keys and receives the end of input", async () => {
  await using session = await openTestWorkspace()
  const shell = await session.start("test -t 0 && test -t 1 && stty size; read -r line; echo got-$line; cat; exit 4", {
    pty: true,
  })
  await session.waitForOutput("30 120")
  expect([shell.isPty, shell.write("hello\r")]).toEqual([true, true])
  await session.waitForOutput("got-hello")
  shell.closeInput()
  expect(await shell.exit).toEqual({ how: "exited", code: 4 })
  expect([shell.write("x"), shell.closeInput()]).toEqual([false, false])
})

test("a program in a terminal that ignores SIGTERM is killed with its children", async () => {
  await using session = await openTestWorkspace()
  const shell = await session.start("trap '' TERM HUP; sleep 300 & echo child=$!.; while :; do sleep 0.1; done", {
    pty: true,
  })
  await session.waitForOutput(".")
  const child = Number(/child=(\d+)\./.exec(session.output())?.[1])
  await shell.kill()
  expect((await shell.exit).code).toBe(137)
  await waitForExit(child)
})

test("Hermes' end of a terminal is not open in the programs that it starts later", async () => {
  await using session = await openTestWorkspace()
  const open = "ls -l /proc/self/fd /proc/$$/fd"
  const options = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 10_000, keepState: true }
  await session.workspace.run("true", options).exit
  const first = await session.start("echo first; read -r line", { pty: true })
  await session.waitForOutput("first")
  const outputs: string[] = []
  // After some commands, a helper process starts them.
  for (let count = 0; count < 8; count += 1) outputs.push((await session.workspace.run(open, options).exit).output)
  await (
    await session.start(open)
  ).exit
  await (
    await session.start(open, { pty: true })
  ).exit
  const program = startStdioProgram(["/bin/sh", "-c", "ls -l /proc/self/fd"], {
    environment: session.home.env,
    cwd: "/",
    onOutput: (chunk) => outputs.push(chunk.toString()),
    onErrorOutput: () => undefined,
  })
  await program.exit
  first.write("\r")
  expect((await first.exit).code).toBe(0)
  expect([session.output(), ...outputs].filter((text) => text.includes("ptmx"))).toEqual([])
  expect(outputs.every((text) => text.includes("->"))).toBe(true)
})

async function waitForExit(pid: number): Promise<void> {
  await vi.waitUntil(() => !isAlive(pid), { timeout: 20_000, interval: 10 })
}

function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}
