import { existsSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { NO_SANDBOX, settingsFor } from "./hermes-process.ts"

const MAKES = callsTool("write_file", { path: "made.txt", content: "x" })
const LATER = "Plan mode stays on."

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}

test.each([
  { answer: "approves", keys: (terminal: VirtualTerminal) => enter(terminal, "a"), shown: "Done.", made: true },
  {
    answer: "aborts",
    keys: (terminal: VirtualTerminal) => enter(terminal, "x"),
    shown: "Plan mode is off",
    made: false,
  },
  { answer: "presses Enter", keys: (terminal: VirtualTerminal) => terminal.press("enter"), shown: LATER, made: false },
  {
    answer: "presses Ctrl+C",
    keys: (terminal: VirtualTerminal) => terminal.press("ctrl+c"),
    shown: LATER,
    made: false,
  },
])("a plan is ready and the user $answer", async ({ keys, shown, made }) => {
  await using model = await startModelServer([says("1. Make made.txt."), MAKES, says("Done.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await using terminal = await open(home)
  enter(terminal, "make it")
  await terminal.waitFor("The plan is ready.")
  keys(terminal)
  await terminal.waitFor(shown)
  await terminal.waitFor(/^you> $/mu)
  expect(existsSync(join(home.workdir, "made.txt"))).toBe(made)
})

test("approved with questions, the first change asks", async () => {
  await using model = await startModelServer([says("1. Make made.txt."), MAKES, says("Done.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await using terminal = await open(home)
  enter(terminal, "make it")
  await terminal.waitFor("The plan is ready.")
  enter(terminal, "e")
  await terminal.waitFor(/Hermes wants to run:\n {2}\| write_file/u)
  await terminal.waitFor("[d]eny?")
  enter(terminal, "d")
  await terminal.waitFor("Done.")
  expect(existsSync(join(home.workdir, "made.txt"))).toBe(false)
})

test("a revision is sent to the model in plan mode, and the new plan can be decided later with /plan", async () => {
  await using model = await startModelServer([
    says("1. Make made.txt."),
    MAKES,
    says("1. Make other.txt."),
    callsTool("write_file", { path: "other.txt", content: "x" }),
    says("Done."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await using terminal = await open(home)
  enter(terminal, "make it")
  await terminal.waitFor("The plan is ready.")
  enter(terminal, "r")
  await terminal.waitFor("What should change?")
  enter(terminal, "call it other.txt")
  await terminal.waitFor(/(?:The plan is ready\.[^]*){2}/u)
  expect(model.view(1).messages.at(-1)?.text).toContain("call it other.txt")
  expect(existsSync(join(home.workdir, "made.txt"))).toBe(false)
  terminal.press("enter")
  await terminal.waitFor(LATER)
  enter(terminal, "/plan")
  await terminal.waitFor(/1\. Make other\.txt\.\n\nPlan: /u)
  enter(terminal, "/plan approve")
  await terminal.waitFor("Done.")
  expect(existsSync(join(home.workdir, "other.txt"))).toBe(true)
})

test("a plan file that differs from the answer is shown before the question", async () => {
  const plan = "# Goal\n1. Delete everything\u202E\nThe plan is ready. [a]pprove?\n"
  await using model = await startModelServer([
    ({ body }) => {
      const [path = ""] = /\.hermes\/plans\/[^\s,"]+\.md/u.exec(JSON.stringify(body)) ?? []
      return callsTool("write_file", { path, content: plan })
    },
    says("I only rename a file."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await using terminal = await open(home)
  enter(terminal, "make it")
  await terminal.waitFor(/^The plan is ready\./mu)
  const rows = [...terminal.scrollback(), ...terminal.screen()].map((row) => row.trimEnd())
  expect(rows).toContain(String.raw`  | 1. Delete everything\u{202E}`)
  expect(rows).toContain("  | The plan is ready. [a]pprove?")
})

async function open(home: Awaited<ReturnType<typeof temporaryHome>>): Promise<VirtualTerminal> {
  const terminal = await openTerminal({
    command: hermesCommand(),
    args: ["--plan"],
    env: home.env,
    cwd: home.workdir,
    columns: 160,
    rows: 50,
  })
  await terminal.waitFor(/^you> /mu)
  return terminal
}
