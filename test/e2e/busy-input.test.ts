import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, says, stallsAfter } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { settingsFor } from "./hermes-process.ts"

test("by default what is typed stops the answer and is answered instead", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    says("The short one."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await talk(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "a short one")
  await terminal.waitFor("The short one.")
  expect(await model.requests[0]?.outcome).toBe("left")
  expect(said(model, 1).at(-1)).toContain("a short one")
  const screen = everything(terminal)
  expect(screen).toContain("Interrupted.")
  expect(screen).toContain("stops it and is answered instead")
})

test("what typing does is explained once, not in every conversation", async () => {
  const slow = says(["Once upon", " a time"], stallsAfter({ deltas: 1 }))
  await using model = await startModelServer([slow, says("One."), slow, says("Two.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const screens: string[] = []
  for (const answer of ["One.", "Two."]) {
    await using terminal = await talk(home)
    enter(terminal, "tell a story")
    await terminal.waitFor("Once upon")
    enter(terminal, "a short one")
    await terminal.waitFor(answer)
    enter(terminal, "/quit")
    await terminal.exit
    screens.push(everything(terminal))
  }
  expect(screens.map((screen) => screen.includes("stops it and is answered instead"))).toEqual([true, false])
})

test("queued messages are answered one after the other", async () => {
  const gate = Promise.withResolvers<void>()
  await using model = await startModelServer([
    says(["First ", "answer."], stallsAfter({ deltas: 1 }, gate.promise)),
    says("Second answer."),
    says("Third answer."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, mode("queue")) })
  await using terminal = await talk(home)
  enter(terminal, "one")
  await terminal.waitFor("First")
  enter(terminal, "two")
  await terminal.waitFor("Sent when this answer has ended.")
  enter(terminal, "three")
  await terminal.waitFor(/(?:Sent when this answer[^]*){2}/)
  gate.resolve()
  await terminal.waitFor("Third answer.")
  expect(said(model, 2)).toEqual(["one", "First answer.", "two", "Second answer.", "three"])
})

test("a note reaches the model with the result of the running tool", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: "until test -e go; do sleep 0.02; done" }),
    says("Noted."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, mode("steer")) })
  await using terminal = await talk(home)
  enter(terminal, "wait for it")
  await terminal.waitFor("→ terminal")
  enter(terminal, "and be brief")
  await terminal.waitFor("Added to this answer.")
  await writeFile(join(home.workdir, "go"), "")
  await terminal.waitFor("Noted.")
  expect(said(model, 1).at(-1)).toMatch(/OUT-OF-BAND USER MESSAGE[^]*\nand be brief\n/)
})

test("/help, /compress, /queue, /steer and /stop while an answer runs", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    says("The queued one."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await talk(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "/help")
  await terminal.waitFor("/compress [here [N] | TOPIC]")
  enter(terminal, "/compress")
  await terminal.waitFor("/compress has to wait")
  enter(terminal, "/steer make it rhyme")
  await terminal.waitFor("with its next tool result")
  enter(terminal, "/queue something else")
  await terminal.waitFor("Sent when this answer has ended.")
  enter(terminal, "/stop")
  await terminal.waitFor("The queued one.")
  expect(everything(terminal)).toContain("Interrupted.")
  // The note was for the answer that was stopped.
  expect(said(model, 1).join("\n")).not.toContain("rhyme")
  expect(said(model, 1).at(-1)).toContain("something else")
})

test("a note that came too late for the answer is the next message", async () => {
  const gate = Promise.withResolvers<void>()
  await using model = await startModelServer([
    says(["First ", "answer."], stallsAfter({ deltas: 1 }, gate.promise)),
    says("Second answer."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await talk(home)
  enter(terminal, "one")
  await terminal.waitFor("First")
  enter(terminal, "/steer in French")
  await terminal.waitFor("with its next tool result")
  gate.resolve()
  await terminal.waitFor("Second answer.")
  expect(said(model, 1)).toEqual(["one", "First answer.", "in French"])
})

test("/quit while an answer runs stops it and leaves", async () => {
  await using model = await startModelServer([says(["Once upon", " a time"], stallsAfter({ deltas: 1 }))])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await talk(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "/quit")
  expect((await terminal.exit).code).toBe(0)
  expect(await model.requests[0]?.outcome).toBe("left")
  expect(everything(terminal)).toContain("Continue with: hermes --resume")
})

test("Ctrl+C at an approval says no, and the answer goes on", async () => {
  await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("Kept.")])
  await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "build/x": "x" } })
  await using terminal = await talk(home)
  enter(terminal, "clean up")
  await terminal.waitFor(/\[d\]eny\?/)
  terminal.press("ctrl+c")
  await terminal.waitFor("Kept.")
  expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
})

test("an approval nobody answers in time is taken back", async () => {
  await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("Kept.")])
  await using home = await temporaryHome({
    config: settingsFor(model, "approvals:\n  timeout: 1\n"),
    workFiles: { "build/x": "x" },
  })
  await using terminal = await talk(home)
  enter(terminal, "clean up")
  await terminal.waitFor(/\[d\]eny\?/)
  await terminal.waitFor("No answer came in time, so it was not done.")
  await terminal.waitFor("Kept.")
  expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
})

function mode(name: string): string {
  return `display:\n  busy_input_mode: ${name}\n`
}

/** A conversation whose first prompt is on the screen. */
async function talk(home: TemporaryHome): Promise<VirtualTerminal> {
  const terminal = await openTerminal({ command: hermesCommand(), env: home.env, cwd: home.workdir })
  await terminal.waitFor(/^you> /m)
  return terminal
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}

/** The messages of a request as text; results of tools are their content. */
function said(model: ModelServer, request: number): readonly string[] {
  return model.view(request).messages.map((message) => message.text || (message.results[0]?.text ?? ""))
}

function everything(terminal: VirtualTerminal): string {
  return [...terminal.scrollback(), ...terminal.screen()].join("\n")
}
