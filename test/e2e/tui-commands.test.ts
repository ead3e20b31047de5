import { readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, says } from "../support/model-server/turn.ts"
import { choose, IDLE, openFullChat, startFullChat } from "./full-chat.ts"

test("slash commands in the full interface: prompts of files, display, personality, going back, leaving", async () => {
  await using chat = await openFullChat([says("Hello, Ann."), says("Second."), says("Third.")], {
    settings: "quick_commands:\n  hi: {type: exec, command: 'echo hi from the shell'}\n",
    files: { ".no-bundled-skills": "", "commands/greet.md": "---\ndescription: Greets\n---\nGreet $1 kindly." },
    workFiles: { ".hermes/commands/deploy.md": "Deploy now." },
  })
  const config = (): string => readFileSync(join(chat.home.path, "config.yaml"), "utf8")
  chat.send("/personality pirate")
  await chat.waitFor("Personality: pirate.")
  chat.send("/greet Ann")
  await chat.waitFor("(your prompt):")
  await chat.waitFor("Hello, Ann.")
  await chat.waitForScreen(IDLE)
  expect(chat.model.view(0).messages.map(({ text }) => text)).toEqual(["Greet Ann kindly."])
  expect(chat.model.requests[0]?.rawBody).toContain("pirate captain")
  chat.send("/hi")
  await chat.waitFor("hi from the shell")
  chat.send("/statusbar")
  await chat.waitFor("The status bar is hidden.")
  await chat.waitForScreen(/The status bar is hidden\.\s+❯\s*$/u)
  chat.send("/sb on")
  await chat.waitFor("The status bar is shown.")
  chat.send("/verbose off")
  await chat.waitFor("Tool calls: not shown.")
  chat.send("/skin slate")
  await chat.waitFor("Skin: slate.")
  expect(config()).toMatch(/skin: slate/u)
  chat.send("/insights")
  await chat.waitFor("by hour")
  chat.send("/undo")
  await chat.waitForScreen("Are you sure?")
  await choose(chat, "a", "Are you sure?")
  await chat.waitFor("Removed: Greet Ann kindly.")
  await chat.waitForScreen(/❯ Greet Ann kindly\./u)
  expect(config()).toContain("destructive_slash_confirm: false")
  chat.press("enter")
  await chat.waitFor("Second.")
  await chat.waitForScreen(IDLE)
  chat.send("/retry")
  await chat.waitFor("Third.")
  await chat.waitForScreen(IDLE)
  chat.send("/quit --delete")
  await chat.waitFor(/Deleted session \S+\./u)
})

test("Ctrl+O prints the output of the last call, also when tool calls are hidden", async () => {
  await using chat = await openFullChat([
    callsTool("terminal", { command: "echo one-$((20 + 1))" }),
    says("Shown."),
    callsTool("terminal", { command: "echo two-$((20 + 2))" }),
    says("Hidden."),
  ])
  chat.send("first")
  await chat.waitFor("Shown.")
  await chat.waitForScreen(IDLE)
  chat.send("/details tools hidden")
  await chat.waitFor("Tool calls: hidden")
  chat.send("second")
  await chat.waitFor("Hidden.")
  await chat.waitForScreen(IDLE)
  expect(chat.everything()).not.toContain("two-$((20 + 2))")
  chat.press("ctrl+o")
  await chat.waitFor("two-22")
  expect(chat.everything()).not.toContain("one-21")
})

test("hermes tools is a screen on a terminal", async () => {
  await using chat = await startFullChat([], { args: ["tools"] })
  await chat.waitForScreen("Toolsets of new sessions")
  chat.type("todo")
  await chat.waitForScreen("[x] todo")
  chat.press("enter")
  await chat.waitForScreen("[ ] todo")
  chat.press("escape")
  chat.press("escape")
  expect(readFileSync(join(chat.home.path, "config.yaml"), "utf8")).toMatch(/disabled_toolsets:\s+- todo/u)
})
