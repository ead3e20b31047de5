import { existsSync, readdirSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test, vi } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, says, stallsAfter } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { NO_SANDBOX, settingsFor } from "./hermes-process.ts"

test("by default a message typed during a reply interrupts it", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    says("The short one."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "a short one")
  await terminal.waitFor("The short one.")
  expect(await model.requests[0]?.outcome).toBe("left")
  const [story, shown, short] = messageTexts(model, 1)
  expect([story, shown]).toEqual(["tell a story", "Once upon"])
  expect(short).toMatch(/a short one[^]*interrupted before its end/)
  const screen = fullOutput(terminal)
  expect(screen).toContain("Interrupted.")
  expect(screen).toContain("interrupts it")
})

test("the hint about typing during a reply is shown once, not in every conversation", async () => {
  const slow = says(["Once upon", " a time"], stallsAfter({ deltas: 1 }))
  await using model = await startModelServer([slow, says("One."), slow, says("Two.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const screens: string[] = []
  for (const answer of ["One.", "Two."]) {
    await using terminal = await openChat(home)
    enter(terminal, "tell a story")
    await terminal.waitFor("Once upon")
    enter(terminal, "a short one")
    await terminal.waitFor(answer)
    enter(terminal, "/quit")
    await terminal.exit
    screens.push(fullOutput(terminal))
  }
  expect(screens.map((screen) => screen.includes("interrupts it"))).toEqual([true, false])
})

test("queued messages are sent one after another", async () => {
  const gate = Promise.withResolvers<void>()
  await using model = await startModelServer([
    says(["First ", "answer."], stallsAfter({ deltas: 1 }, gate.promise)),
    says("Second answer."),
    says("Third answer."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, mode("queue")) })
  await using terminal = await openChat(home)
  enter(terminal, "one")
  await terminal.waitFor("First")
  enter(terminal, "two")
  await terminal.waitFor("Queued until this reply is complete.")
  enter(terminal, "three")
  await terminal.waitFor("› three")
  gate.resolve()
  await terminal.waitFor("Third answer.")
  expect(messageTexts(model, 2)).toEqual(["one", "First answer.", "two", "Second answer.", "three"])
})

test("a steering note reaches the model with the next tool result", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: "until test -e go; do sleep 0.02; done" }),
    says("Noted."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, mode("steer")) })
  await using terminal = await openChat(home)
  enter(terminal, "wait for it")
  await terminal.waitFor("→ terminal")
  enter(terminal, "and be brief")
  await terminal.waitFor("Added to the running turn: ")
  await writeFile(join(home.workdir, "go"), "")
  await terminal.waitFor("Noted.")
  expect(messageTexts(model, 1).at(-1)).toMatch(/OUT-OF-BAND USER MESSAGE[^]*\nand be brief\n/)
})

test("/help, /compress, /queue, /steer and /stop during a reply", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    says("The queued one."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "/help")
  await terminal.waitFor("/compress [here [N] | TOPIC]")
  enter(terminal, "/compress")
  await terminal.waitFor("/compress is not available")
  enter(terminal, "/steer make it rhyme")
  await terminal.waitFor("with its next tool result")
  enter(terminal, "/queue something else")
  await terminal.waitFor("Queued until this reply is complete.")
  enter(terminal, "/stop")
  await terminal.waitFor("The queued one.")
  expect(fullOutput(terminal)).toContain("Interrupted.")
  // The note came too late for the interrupted reply.
  expect(fullOutput(terminal)).toContain("Your note is sent with your next message.")
  expect(messageTexts(model, 1).at(-1)).toContain("make it rhyme\nsomething else")
})

test("a steering note that /stop overtakes is in the input line afterwards", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    says("A rhyme."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "/steer make it rhyme")
  await terminal.waitFor("with its next tool result")
  enter(terminal, "/stop")
  await terminal.waitFor("It is in the input line")
  await terminal.waitFor(/you> make it rhyme/)
  expect(model.requests).toHaveLength(1)
  enter(terminal, " and short")
  await terminal.waitFor("A rhyme.")
  expect(messageTexts(model, 1).at(-1)).toContain("make it rhyme and short")
})

test("a message that interrupts the reply begins with the steering note that it overtakes", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    says("A short rhyme."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "/steer make it rhyme")
  await terminal.waitFor("with its next tool result")
  enter(terminal, "a short one")
  await terminal.waitFor("A short rhyme.")
  expect(messageTexts(model, 1).at(-1)).toContain("make it rhyme\na short one")
})

test("messages that were not sent are named at the end", async () => {
  await using model = await startModelServer([says(["Once upon", " a time"], stallsAfter({ deltas: 1 }))])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "/steer make it rhyme")
  await terminal.waitFor("with its next tool result")
  enter(terminal, "/queue something else")
  await terminal.waitFor("Queued until this reply is complete.")
  enter(terminal, "/quit")
  expect((await terminal.exit).code).toBe(0)
  expect(fullOutput(terminal)).toContain("Not sent: make it rhyme")
  expect(fullOutput(terminal)).toContain("Not sent: something else")
})

test("Ctrl+C twice keeps what was shown, and the resumed conversation says so", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    says("There was a mill."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  {
    await using terminal = await openChat(home)
    enter(terminal, "tell a story")
    await terminal.waitFor("Once upon")
    terminal.press("ctrl+c")
    terminal.press("ctrl+c")
    await terminal.exit
  }
  await using terminal = await openChat(home, ["-c"])
  expect(fullOutput(terminal)).toContain("The last reply was interrupted.")
  enter(terminal, "go on")
  await terminal.waitFor("There was a mill.")
  expect(messageTexts(model, 1).slice(0, 2)).toEqual(["tell a story", "Once upon"])
})

test("kill -9 loses at most a second of the reply", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    says("There was a mill."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  {
    await using terminal = await openChat(home)
    enter(terminal, "tell a story")
    await terminal.waitFor("Once upon")
    const partial = join(home.path, "cache", "partial-replies")
    await vi.waitFor(() => expect(readdirSync(partial)).toHaveLength(1), { timeout: 5000 })
    process.kill(terminal.pid, "SIGKILL")
    await terminal.exit
  }
  await using terminal = await openChat(home, ["-c"])
  enter(terminal, "go on")
  await terminal.waitFor("There was a mill.")
  expect(fullOutput(terminal)).toContain("Hermes was stopped during a reply.")
  expect(messageTexts(model, 1).slice(0, 2)).toEqual(["tell a story", "Once upon"])
})

test("after Ctrl+Z and fg the prompt still works", async () => {
  await using model = await startModelServer([says("Still here.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  terminal.type("hel")
  await terminal.waitFor("you> hel")
  terminal.press("ctrl+z")
  // Without a shell nothing stops the process, so the signal of `fg` is sent by hand.
  await vi.waitFor(() => expect(terminal.output).toContain("hel"))
  process.kill(terminal.pid, "SIGCONT")
  enter(terminal, "lo")
  await terminal.waitFor("Still here.")
  expect(messageTexts(model, 0)).toEqual(["hello"])
})

test("a conversation without a message names no session to continue", async () => {
  await using model = await startModelServer([])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "/quit")
  expect((await terminal.exit).code).toBe(0)
  expect(fullOutput(terminal)).not.toContain("--resume")
})

test("an unclear answer at an approval explains the choices and asks again", async () => {
  await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("Gone.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
  await using terminal = await openChat(home)
  enter(terminal, "clean up")
  await terminal.waitFor(/\[d\]eny\?/)
  enter(terminal, "?")
  await terminal.waitFor("run it this time")
  enter(terminal, "o")
  await terminal.waitFor("Gone.")
  expect(existsSync(join(home.workdir, "build/x"))).toBe(false)
})

test("a steering note that arrives too late is sent as the next message", async () => {
  const gate = Promise.withResolvers<void>()
  await using model = await startModelServer([
    says(["First ", "answer."], stallsAfter({ deltas: 1 }, gate.promise)),
    says("Second answer."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "one")
  await terminal.waitFor("First")
  enter(terminal, "/steer in French")
  await terminal.waitFor("with its next tool result")
  gate.resolve()
  await terminal.waitFor("Second answer.")
  expect(messageTexts(model, 1)).toEqual(["one", "First answer.", "in French"])
})

test("/quit during a reply interrupts it and exits", async () => {
  await using model = await startModelServer([says(["Once upon", " a time"], stallsAfter({ deltas: 1 }))])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  enter(terminal, "/quit")
  expect((await terminal.exit).code).toBe(0)
  expect(await model.requests[0]?.outcome).toBe("left")
  expect(fullOutput(terminal)).toContain("Continue with: hermes --resume")
})

test("Ctrl+C at an approval denies it, and the turn continues", async () => {
  await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("Kept.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
  await using terminal = await openChat(home)
  enter(terminal, "clean up")
  await terminal.waitFor(/\[d\]eny\?/)
  terminal.press("ctrl+c")
  await terminal.waitFor("Kept.")
  expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
})

test("an approval is denied after its time limit", async () => {
  await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("Kept.")])
  await using home = await temporaryHome({
    config: settingsFor(model, `${NO_SANDBOX}approvals:\n  timeout: 1\n`),
    workFiles: { "build/x": "x" },
  })
  await using terminal = await openChat(home)
  enter(terminal, "clean up")
  await terminal.waitFor(/\[d\]eny\?/)
  await terminal.waitFor("There was no answer in time, so the call was denied.")
  await terminal.waitFor("Kept.")
  expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
})

function mode(name: string): string {
  return `display:\n  busy_input_mode: ${name}\n`
}

/** Opens a conversation and waits for its first prompt. */
async function openChat(home: TemporaryHome, args: readonly string[] = []): Promise<VirtualTerminal> {
  const terminal = await openTerminal({ command: hermesCommand(), args, env: home.env, cwd: home.workdir })
  await terminal.waitFor(/^you> /m)
  return terminal
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}

/** The texts of the messages of a request, including tool results. */
function messageTexts(model: ModelServer, request: number): readonly string[] {
  return model.view(request).messages.map((message) => message.text || (message.results[0]?.text ?? ""))
}

function fullOutput(terminal: VirtualTerminal): string {
  return [...terminal.scrollback(), ...terminal.screen()].join("\n")
}
