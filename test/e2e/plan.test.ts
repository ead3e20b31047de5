import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import type { ScriptEntry, TurnFunction } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

const PLAN = "1. Write done.txt."
const WORK = callsTool("write_file", { path: "done.txt", content: "done\n" })
const QUESTION = /The plan is ready\..*\(Enter decides later\)/u

interface Chat extends AsyncDisposable {
  readonly home: TemporaryHome
  readonly terminal: VirtualTerminal
  enter(text: string): void
}

async function openChat(script: readonly ScriptEntry[], args: readonly string[]): Promise<Chat> {
  const model = await startModelServer([...script])
  const home = await temporaryHome({ config: settingsFor(model) })
  const terminal = await openTerminal({
    command: hermesCommand(),
    args,
    env: home.env,
    cwd: home.workdir,
    columns: 160,
    rows: 50,
  })
  await terminal.waitFor(/^you> /mu)
  return {
    home,
    terminal,
    enter: (text) => {
      terminal.type(text)
      terminal.press("enter")
    },
    [Symbol.asyncDispose]: async () => {
      await terminal[Symbol.asyncDispose]()
      await home[Symbol.asyncDispose]()
      await model[Symbol.asyncDispose]()
    },
  }
}

test("--plan shows the plan, and a carries it out", async () => {
  await using chat = await openChat([WORK, says(PLAN), WORK, says("All done.")], ["--plan"])
  const done = join(chat.home.workdir, "done.txt")
  chat.enter("make it")
  await chat.terminal.waitFor(QUESTION)
  expect(existsSync(done)).toBe(false)
  chat.enter("a")
  await chat.terminal.waitFor(/All done\./u)
  expect(readFileSync(done, "utf8")).toBe("done\n")
})

test("Enter decides later; /plan revise, /plan approve and /plan abort decide", async () => {
  const script = [says(PLAN), says("2. Another plan."), WORK, says("All done."), says("A third plan.")]
  await using chat = await openChat(script, [])
  const done = join(chat.home.workdir, "done.txt")
  chat.enter("/plan make it")
  await chat.terminal.waitFor(QUESTION)
  chat.enter("")
  await chat.terminal.waitFor(/Plan mode stays on\./u)
  chat.enter("/plan revise shorter")
  await chat.terminal.waitFor(/Another plan[^]*The plan is ready\..*\(Enter decides later\)/u)
  chat.enter("")
  await chat.terminal.waitFor(/Plan mode stays on\.[^]*Plan mode stays on\./u)
  expect(existsSync(done)).toBe(false)
  chat.enter("/plan approve")
  await chat.terminal.waitFor(/All done\./u)
  expect(existsSync(done)).toBe(true)
  chat.enter("/plan more")
  await chat.terminal.waitFor(/A third plan[^]*The plan is ready\..*\(Enter decides later\)/u)
  chat.enter("x")
  await chat.terminal.waitFor(/nothing was carried out/u)
})

test("-z --plan prints the plan file, not its announcement", async () => {
  const writesPlan: TurnFunction = ({ body }) => {
    const [path] = /\.hermes\/plans\/[\w-]+\.md/u.exec(JSON.stringify(body)) ?? ["missing"]
    return callsTool("write_file", { path, content: `${PLAN}\n` })
  }
  await using model = await startModelServer([writesPlan, says("The plan is written.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const { code, stdout } = await hermes(home, ["-z", "make it", "--plan"])
  expect([code, stdout.trim()]).toEqual([0, PLAN])
})

test("-z --plan prints the plan, changes nothing and exits with 0", async () => {
  await using model = await startModelServer([WORK, says(PLAN), WORK, says(PLAN)])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const { code, stdout } = await hermes(home, ["-z", "make it", "--plan"])
  expect([code, stdout.trim()]).toEqual([0, PLAN])
  expect(existsSync(join(home.workdir, "done.txt"))).toBe(false)
  const json = await hermes(home, ["-z", "make it", "--plan", "--output-format", "json"])
  expect(json.code).toBe(0)
  const expected = { status: "plan_ready", plan_path: expect.stringContaining("/.hermes/plans/") }
  expect(JSON.parse(json.stdout)).toMatchObject(expected)
})
