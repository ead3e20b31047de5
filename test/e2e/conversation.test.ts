import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says, stallsAfter } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { VirtualTerminal } from "../support/virtual-terminal.ts"
import { hermes, NO_SANDBOX, settingsFor } from "./hermes-process.ts"
import { expectExited } from "./process-alive.ts"

test("a conversation shows a banner, tool lines and the answer, and can be resumed after Ctrl+D", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: "echo hi" }),
    says("It said hi."),
    says("Welcome back."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  await terminal.waitFor("Hermes · test-model")
  expect(terminal.screen().join("\n")).toContain(home.workdir)
  await prompt(terminal, 1)
  enter(terminal, "say hi")
  await terminal.waitFor("It said hi.")
  expect(terminal.screen().join("\n")).toMatch(/→ terminal echo hi\n\s+✓ terminal: exit code 0/)
  await prompt(terminal, 2)
  terminal.press("ctrl+d")
  await terminal.waitFor(/Continue with: hermes --resume \S+/)
  expect((await terminal.exit).code).toBe(0)

  const id = /--resume (\S+)/.exec(terminal.screen().join("\n"))?.[1] ?? ""
  await using again = await openChat(home, ["--resume", id])
  await again.waitFor(`Continuing ${id} with 4 messages.`)
  enter(again, "I am back")
  await again.waitFor("Welcome back.")
  expect(model.view(2).messages.map(({ text }) => text)).toEqual(["say hi", "", "", "It said hi.", "I am back"])
})

test("asks the user for approval and obeys the answer", async () => {
  const remove = callsTool("terminal", { command: "rm -r build" })
  await using model = await startModelServer([remove, says("Kept."), remove, says("Removed.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "clean up")
  await terminal.waitFor(/Hermes wants to run:\s+\| rm -r build/)
  await terminal.waitFor(/\[d\]eny\?/)
  enter(terminal, "d")
  await terminal.waitFor("Kept.")
  expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
  await prompt(terminal, 2)
  enter(terminal, "really, clean up")
  await terminal.waitFor(/(?:\[d\]eny\?[^]*){2}/)
  enter(terminal, "o")
  await terminal.waitFor("Removed.")
  expect(existsSync(join(home.workdir, "build/x"))).toBe(false)
})

test("Ctrl+C interrupts a reply and shows the prompt again", async () => {
  await using model = await startModelServer([
    says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
    callsTool("terminal", { command: "echo $$ > shell.pid; echo started; sleep 300" }),
    callsTool("terminal", { command: "rm -r build" }),
    says("I am listening."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "tell a story")
  await terminal.waitFor("Once upon")
  terminal.press("ctrl+c")
  await terminal.waitFor("Interrupted.")
  await prompt(terminal, 2)
  expect(await model.requests[0]?.outcome).toBe("left")

  enter(terminal, "run something long")
  await terminal.waitFor("→ terminal")
  const pid = await pidIn(join(home.workdir, "shell.pid"), terminal)
  terminal.press("ctrl+c")
  await terminal.waitFor(/(?:Interrupted\.[^]*){2}/)
  await prompt(terminal, 3)
  await expectExited(pid)

  // Ctrl+C at an approval question denies the call, and the turn continues.
  enter(terminal, "clean up")
  await terminal.waitFor(/\[d\]eny\?/)
  terminal.press("ctrl+c")
  await terminal.waitFor("I am listening.")
  await prompt(terminal, 4)
  terminal.press("ctrl+c")
  await terminal.waitFor("Press Ctrl+C again to leave.")
  terminal.press("ctrl+c")
  expect((await terminal.exit).code).toBe(0)
})

test("slash commands: help, title, status, new, resume, an unknown command, exit", async () => {
  await using model = await startModelServer([says("Beans are planted."), says("Corn is planted.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "/help")
  await terminal.waitFor(/\/exit[^]*\/help /)
  enter(terminal, "/title")
  await terminal.waitFor("no title yet")
  enter(terminal, "plant the beans")
  await terminal.waitFor("Beans are planted.")
  enter(terminal, "/title Garden plans")
  await terminal.waitFor('The title is now "Garden plans".')
  enter(terminal, "/new now")
  await terminal.waitFor("Started a new conversation.")
  enter(terminal, "plant the corn")
  await terminal.waitFor("Corn is planted.")
  expect(model.view(1).messages.map(({ text }) => text)).toEqual(["plant the corn"])
  enter(terminal, "/title Garden plans")
  await terminal.waitFor(/Session \S+ already has this title or id\./)
  enter(terminal, "/resume Garden plans")
  await terminal.waitFor(/Continuing \S+ \(2 messages\)/)
  enter(terminal, "/resume nowhere")
  await terminal.waitFor('There is no session "nowhere"')
  enter(terminal, "/status")
  await terminal.waitFor(/title +Garden plans/)
  enter(terminal, "/hepl")
  await terminal.waitFor("Did you mean /help?")
  enter(terminal, "/exit")
  expect((await terminal.exit).code).toBe(0)
  expect(model.requests).toHaveLength(2)
})

test("a message typed during a reply is queued", async () => {
  const gate = Promise.withResolvers<void>()
  await using model = await startModelServer([
    says(["First ", "answer."], stallsAfter({ deltas: 1 }, gate.promise)),
    says("Second answer."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, "display:\n  busy_input_mode: queue\n") })
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "one")
  await terminal.waitFor("First")
  enter(terminal, "two")
  gate.resolve()
  await terminal.waitFor("Second answer.")
  expect(model.view(1).messages.map(({ text }) => text)).toEqual(["one", "First answer.", "two"])
})

test("shows a failed request and stays usable", async () => {
  await using model = await startModelServer([{ kind: "status", status: 401, message: "bad key" }, says("Better now.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "hello")
  await terminal.waitFor(/Error: .*401/)
  await prompt(terminal, 2)
  enter(terminal, "again")
  await terminal.waitFor("Better now.")
})

test("a reply to the setup offer that is not an answer becomes the first message or command", async () => {
  await using home = await temporaryHome()
  await using terminal = await openChat(home)
  await terminal.waitFor(/Connect one now \(c\)[^]*\?/u)
  enter(terminal, "write a note saying buy milk")
  await terminal.waitFor(/you> write a note saying buy milk[^]*write_file/)
  await prompt(terminal, 2)
  terminal.press("ctrl+d")
  expect((await terminal.exit).code).toBe(0)
  await using other = await openChat(home)
  await other.waitFor(/Connect one now \(c\)[^]*\?/u)
  enter(other, "/quit")
  expect((await other.exit).code).toBe(0)
})

test.each([
  ["ctrl+c", 130],
  ["ctrl+d", 0],
] as const)("%s at the setup offer ends Hermes", async (key, code) => {
  await using home = await temporaryHome()
  await using terminal = await openChat(home)
  await terminal.waitFor(/Connect one now \(c\)[^]*\?/u)
  terminal.press(key)
  expect((await terminal.exit).code).toBe(code)
  expect(terminal.output).not.toContain("demo, not an AI")
})

test("a conversation without messages is not stored", async () => {
  await using home = await temporaryHome()
  await using terminal = await openChat(home)
  await terminal.waitFor(/Connect one now \(c\)[^]*\?/u)
  enter(terminal, "")
  await terminal.waitFor("demo, not an AI")
  await prompt(terminal, 1)
  terminal.press("ctrl+d")
  expect((await terminal.exit).code).toBe(0)
  const result = await hermes(home, ["-z", "hi", "--continue"], { stdin: "inherit-null" })
  expect([result.code, result.stderr.includes("no session to continue")]).toEqual([1, true])
})

test("-q on a terminal asks for approval; -z never asks", async () => {
  const remove = callsTool("terminal", { command: "rm -r build" })
  await using model = await startModelServer([remove, says("Not removed."), remove, says("Removed.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
  await using script = await openChat(home, ["-z", "clean up"])
  expect((await script.exit).code).toBe(0)
  expect(script.screen()).toEqual(["Not removed."])
  await using query = await openChat(home, ["-q", "clean up"])
  await query.waitFor(/\[d\]eny\?/)
  enter(query, "yes")
  expect((await query.exit).code).toBe(0)
  expect(query.screen().join("\n")).toContain("Removed.")
  expect(existsSync(join(home.workdir, "build/x"))).toBe(false)
})

test.each([
  { moment: "an answer", script: [says(["Once upon", " a time"], stallsAfter({ deltas: 1 }))], shows: "Once upon" },
  { moment: "a question", script: [callsTool("terminal", { command: "rm -r build" })], shows: /\[d\]eny\?/ },
])("Ctrl+C during $moment of -q exits 130", async ({ script, shows }) => {
  await using model = await startModelServer(script)
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
  await using terminal = await openChat(home, ["-q", "go"])
  await terminal.waitFor(shows)
  terminal.press("ctrl+c")
  expect((await terminal.exit).code).toBe(130)
  expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
})

test("SIGHUP from a closed window ends the conversation and its commands", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: "echo $$ > shell.pid; echo started; sleep 300" }),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "run something long")
  await terminal.waitFor("→ terminal")
  const pid = await pidIn(join(home.workdir, "shell.pid"), terminal)
  terminal.signal("SIGHUP")
  await terminal.exit
  await expectExited(pid)
})

test.each([
  {
    source: "a command",
    script: [
      callsTool("terminal", { command: "printf '\\033]0;owned\\007\\033[2Jtext'; exit 3" }),
      says("Plain words."),
    ],
  },
  { source: "a model", script: [says("Plain \u001B]0;owned\u0007\u001B[2J\u001B[31mwords.")] },
])("escape sequences of $source do not reach the terminal", async ({ script }) => {
  await using model = await startModelServer(script)
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await using terminal = await openChat(home)
  await prompt(terminal, 1)
  enter(terminal, "go")
  await terminal.waitFor("words.")
  expect([terminal.output.includes("\u001B]0;owned"), terminal.output.includes("\u001B[2J")]).toEqual([false, false])
})

async function openChat(home: TemporaryHome, args: readonly string[] = []): Promise<VirtualTerminal> {
  return await openTerminal({ command: hermesCommand(), args, env: home.env, cwd: home.workdir })
}

/** Waits until the prompt was shown this many times. */
async function prompt(terminal: VirtualTerminal, times: number): Promise<void> {
  await terminal.waitFor(new RegExp(`(?:^you> [^]*){${times}}`, "m"))
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}

/** Waits for the file that a command writes its process id to. */
async function pidIn(path: string, terminal: VirtualTerminal): Promise<number> {
  const deadline = Date.now() + 20_000
  while (Date.now() < deadline) {
    const text = existsSync(path) ? await readFile(path, "utf8") : ""
    if (text.endsWith("\n")) return Number(text)
    await Promise.race([terminal.exit, new Promise((resolve) => setImmediate(resolve))])
  }
  throw new Error(`${path} was not written within 20 seconds`)
}
