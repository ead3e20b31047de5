import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import pty from "@lydell/node-pty"
import { expect, test } from "vitest"
import { z } from "zod"

import { NOT_LINUX, titleWithReason } from "../../support/skip-reason.ts"
import { temporaryHome } from "../../support/temporary-home.ts"

const source = (path: string): string => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href)

/** What the probe printed, by the way in which it was started, and the terminal of Hermes. */
const Answers = z.object({ hermes: z.string() }).catchall(z.string())

/** Runs in a pseudo-terminal as Hermes does, and starts commands in every way that the workspace has. */
const SCRIPT = `
import { readFileSync, writeFileSync } from "node:fs"
import { createLocalMachine } from ${source("exec/local/local-machine.ts")}
import { createLocalWorkspace } from ${source("exec/local/local-workspace.ts")}
import { runProgram } from ${source("exec/run-program.ts")}
const [, , cwd] = process.argv
const { signal } = new AbortController()
// The seventh field is the controlling terminal; the terminal is opened in case the number says nothing.
const PROBE = "cut -d' ' -f7 /proc/$$/stat; { printf typed > /dev/tty; } 2>/dev/null && echo writable || echo none"
const answers = { hermes: readFileSync("/proc/self/stat", "utf8").split(" ")[6] }
const environment = { PATH: process.env.PATH, HOME: cwd }
for (const worthwhileBytes of [0, Number.MAX_SAFE_INTEGER]) {
  const machine = createLocalMachine({ worthwhileBytes })
  const workspace = createLocalWorkspace({ cwd, userHome: cwd, environment, machine, startupFiles: [] })
  const run = async () => (await workspace.run(PROBE, { timeoutMs: 20000, signal, keepChars: 1000 }).exit).output
  answers["first " + worthwhileBytes] = await run()
  answers["second " + worthwhileBytes] = await run()
  for (const isTerminal of [false, true]) {
    let output = ""
    const { exit } = await workspace.start(PROBE, { pty: isTerminal, onOutput: (text) => { output += text } })
    await exit
    answers[(isTerminal ? "own terminal " : "background ") + worthwhileBytes] = output
  }
  await workspace.close()
}
const program = await runProgram(["/bin/sh", "-c", PROBE], { cwd, environment, signal, timeoutMs: 20000, maxBytes: 1000 })
answers.program = program.stdout.toString()
writeFileSync(cwd + "/answers.json", JSON.stringify(answers))
process.exit(0)
`

test.skipIf(NOT_LINUX !== undefined)(
  titleWithReason("a command has no access to the terminal that Hermes runs in, so it cannot type into it", NOT_LINUX),
  async () => {
    await using home = await temporaryHome()
    const script = join(home.workdir, "script.mts")
    writeFileSync(script, SCRIPT)
    const terminal = pty.spawn(process.execPath, [script, home.workdir], { cwd: home.workdir, env: home.env })
    await new Promise<void>((resolve) => {
      terminal.onExit(() => {
        resolve()
      })
    })
    const { hermes, ...answers } = Answers.parse(JSON.parse(readFileSync(join(home.workdir, "answers.json"), "utf8")))
    expect(Number(hermes)).not.toBe(0)
    const [own, others] = [true, false].map((isOwn) =>
      Object.entries(answers).filter(([way]) => way.startsWith("own terminal") === isOwn),
    )
    expect(others?.filter(([, answer]) => answer !== "0\nnone\n")).toEqual([])
    // A pseudo-terminal of the command is another one.
    expect(own).toHaveLength(2)
    for (const [, answer] of own ?? []) {
      expect(answer).toContain("writable")
      expect(answer.split("\r\n")[0]).not.toBe(hermes)
    }
  },
)
