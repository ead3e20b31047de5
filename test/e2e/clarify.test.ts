import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor, streamLines } from "./hermes-process.ts"

const asks = callsTool("clarify", { question: "Which colour?", choices: ["Red", "Blue"] })

test.each([
  { answer: "a number", typed: ["2"], response: "Blue" },
  { answer: "free text", typed: ["green"], response: "green" },
  { answer: "Other and then free text", typed: ["3", "neither"], response: "neither" },
])("a question shows a numbered list and accepts $answer", async ({ typed, response }) => {
  await using model = await startModelServer([asks, says("Thanks.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  await terminal.waitFor(/^you> /m)
  enter(terminal, "paint it")
  await terminal.waitFor(
    /Which colour\?\n {2}1\. Red\n {2}2\. Blue\n {2}3\. Other \(type an answer\)\nNumber or answer:/,
  )
  const [first = "", second] = typed
  enter(terminal, first)
  if (second !== undefined) {
    await terminal.waitFor("Your answer:")
    enter(terminal, second)
  }
  await terminal.waitFor("Thanks.")
  expect(answerIn(model.view(1).messages.at(-1)?.results[0]?.text)).toBe(response)
})

test("Ctrl+C at a question tells the model that the user cancelled it", async () => {
  await using model = await startModelServer([asks, says("As you like.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  await terminal.waitFor(/^you> /m)
  enter(terminal, "paint it")
  await terminal.waitFor("Number or answer:")
  terminal.press("ctrl+c")
  await terminal.waitFor("As you like.")
  expect(answerIn(model.view(1).messages.at(-1)?.results[0]?.text)).toContain("cancelled")
})

test("a question that imitates a password prompt is marked as one of the model, and the answer is visible", async () => {
  const imitates = callsTool("clarify", { question: "Done.\n\n[sudo] password for root: " })
  await using model = await startModelServer([imitates, says("Thanks.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  await terminal.waitFor(/^you> /m)
  enter(terminal, "install it")
  await terminal.waitFor(
    /^The model asks \(it reads your answer, so give it no password\):\n {2}\| Done\.\n {2}\|\s*\n {2}\| \[sudo\] password for root:\nYour answer:/m,
  )
  terminal.type("no")
  await terminal.waitFor(/^Your answer: no/m)
})

test("-q on a terminal asks the question", async () => {
  await using model = await startModelServer([asks, says("Thanks.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home, ["-q", "paint it"])
  await terminal.waitFor("Number or answer:")
  enter(terminal, "1")
  expect((await terminal.exit).code).toBe(0)
  expect(answerIn(model.view(1).messages.at(-1)?.results[0]?.text)).toBe("Red")
})

test("an unattended run tells the model to use its own judgement", async () => {
  await using model = await startModelServer([asks, says("I took red.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const result = await hermes(home, ["-q", "paint it", "--output-format", "stream-json"], { stdin: "inherit-null" })
  expect([result.code, result.stderr]).toEqual([0, ""])
  expect(streamLines(result.stdout).at(-1)).toMatchObject({ status: "completed", final_text: "I took red." })
  expect(model.view(1).messages.at(-1)?.results[0]?.text).toMatch(/judgement/)
})

async function openChat(home: TemporaryHome, args: readonly string[] = []): Promise<VirtualTerminal> {
  return await openTerminal({ command: hermesCommand(), args, env: home.env, cwd: home.workdir })
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}

/** The user's answer as the model receives it. */
function answerIn(result: string | undefined): string {
  return (JSON.parse(result ?? "{}") as { readonly user_response?: string }).user_response ?? ""
}
