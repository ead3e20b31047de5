import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLocalWorkspace } from "../local/local-workspace.ts"
import type { StartOptions } from "../workspace.ts"

async function place() {
  const home = await temporaryHome()
  const workspace = createLocalWorkspace({ cwd: home.workdir, userHome: home.userHome, environment: home.env })
  let said = ""
  const heard: (() => void)[] = []
  return {
    home,
    workspace,
    said: () => said,
    start: async (command: string, more: Partial<StartOptions> = {}) =>
      await workspace.start(command, {
        pty: false,
        onOutput: (text) => {
          said += text
          for (const wake of heard.splice(0)) wake()
        },
        ...more,
      }),
    /** Resolves when the output holds the text. */
    hear: async (text: string): Promise<void> => {
      while (!said.includes(text)) {
        const { promise, resolve } = Promise.withResolvers<undefined>()
        heard.push(() => {
          resolve(undefined)
        })
        await promise
      }
    },
    async [Symbol.asyncDispose]() {
      await workspace.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

test("a command goes on by itself, takes input without a terminal, and ends once", async () => {
  await using bench = await place()
  const cat = await bench.start("echo ready; cat; echo end; exit 3")
  await bench.hear("ready\n")
  expect(cat.write("päck\n")).toBe(true)
  await bench.hear("päck\n")
  expect([cat.closeInput(), cat.closeInput(), cat.write("late")]).toEqual([true, false, false])
  expect(await cat.exit).toEqual({ how: "exited", code: 3 })
  expect([bench.said(), cat.isPty, cat.pid > 1, /^\d+$/.test(cat.startToken)]).toEqual([
    "ready\npäck\nend\n",
    false,
    true,
    true,
  ])
})

test("it starts in the state of the conversation and leaves none", async () => {
  await using bench = await place()
  const options = { timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 1000, keepState: true }
  await bench.workspace.run("cd /usr; export A=1; f() { echo f; }", options).exit
  await (
    await bench.start("pwd; echo $A; f; cd /; export A=2")
  ).exit
  expect(bench.said()).toBe("/usr\n1\nf\n")
  expect((await bench.workspace.run("pwd; echo $A", options).exit).output).toBe("/usr\n1\n")
})

test("killing it takes everything along, also what left its group", async () => {
  await using bench = await place()
  const running = await bench.start(
    "sleep 300 & echo $! > child; (setsid sh -c 'echo $$ > orphan; exec sleep 300' &); trap '' TERM; " +
      "while [ ! -s orphan ]; do sleep 0.02; done; echo ready; wait; while :; do sleep 0.1; done",
  )
  await bench.hear("ready")
  await running.kill()
  expect((await running.exit).code).toBe(137)
  for (const name of ["child", "orphan"]) await gone(Number(await readFile(join(bench.home.workdir, name), "utf8")))
  await gone(running.pid)
})

test("what an ended command left behind keeps nobody waiting, can still write, and is gone with the workspace", async () => {
  await using bench = await place()
  const running = await bench.start("(while [ ! -e go ]; do sleep 0.02; done; echo late; sleep 300) & echo $! > child")
  expect(await running.exit).toEqual({ how: "exited", code: 0 })
  await bench.workspace.files.write("go", "")
  await bench.hear("late")
  await bench.workspace.close()
  await gone(Number(await readFile(join(bench.home.workdir, "child"), "utf8")))
})

test("a directory that is not there is the reason it did not start", async () => {
  await using bench = await place()
  const ending = { how: "failed-to-start", code: -1, error: expect.stringContaining("/no/such") as string }
  for (const pty of [false, true]) {
    const failed = await bench.start("true", { cwd: "/no/such", pty })
    expect([failed.pid, await failed.exit, failed.write("x"), failed.closeInput()]).toEqual([0, ending, false, false])
    await failed.kill()
  }
})

test("in a terminal it has a size, reads keys and is told of the end of input", async () => {
  await using bench = await place()
  const shell = await bench.start("test -t 0 && test -t 1 && stty size; read -r line; echo got-$line; cat; exit 4", {
    pty: true,
  })
  await bench.hear("30 120")
  expect([shell.isPty, shell.write("hello\r")]).toEqual([true, true])
  await bench.hear("got-hello")
  shell.closeInput()
  expect(await shell.exit).toEqual({ how: "exited", code: 4 })
  expect([shell.write("x"), shell.closeInput()]).toEqual([false, false])
})

test("a program in a terminal that ignores SIGTERM is killed with its children", async () => {
  await using bench = await place()
  const shell = await bench.start("trap '' TERM HUP; sleep 300 & echo child=$!.; while :; do sleep 0.1; done", {
    pty: true,
  })
  await bench.hear(".")
  const child = Number(/child=(\d+)\./.exec(bench.said())?.[1])
  await shell.kill()
  expect((await shell.exit).code).toBe(137)
  await gone(child)
})

/** Resolves when the process has ended; a test that waits for ever fails by its time limit. */
async function gone(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10))
}

function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}
