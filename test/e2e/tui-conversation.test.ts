import { readFileSync } from "node:fs"
import { readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, says, stallsAfter } from "../support/model-server/turn.ts"
import { BUSY, IDLE, lastMessage, modesLeftOn, normalised, openFullChat, reopen, startFullChat } from "./full-chat.ts"
import { NO_SANDBOX } from "./hermes-process.ts"

const WAITS = "until test -e go; do sleep 0.02; done"

test("a conversation with tools, a diff and Markdown, and how it ends", async () => {
  await using chat = await openFullChat(
    [
      callsTool("write_file", { path: "notes.txt", content: "one\ntwo\nthree\n" }),
      callsTool("patch", { path: "notes.txt", old_string: "two\n", new_string: "two and a half\n" }),
      callsTool("terminal", { command: "seq 1 4; echo broken >&2; exit 3" }),
      says(
        "# Result\n\nIt is **done**, see `notes.txt`.\n\n```ts\nconst a = 1\n```\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 日本 |\n",
      ),
    ],
    { settings: NO_SANDBOX, rows: 40 },
  )
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "⚕ Hermes VERSION
      model       test-model (custom, 8K context)
      directory   WORKDIR
      permissions default
      skills      18

    What shall we work on? /help lists the commands.

     ⚕ test-model │ 0/8K │ [░░░░░░░░░░] 0% │ 1s
    ❯"
  `)
  chat.send("work, please")
  await chat.waitFor("日本")
  await chat.waitForScreen(IDLE)
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "  permissions default
      skills      18

    What shall we work on? /help lists the commands.

    ❯ work, please
    ┊ 📄 write     notes.txt  1s
    b/notes.txt (new)  +3 -0
      1 + one
      2 + two
      3 + three
    ┊ 🔧 patch     notes.txt  1s
    a/notes.txt → b/notes.txt  +1 -1
      1   one
      2 - two
      2 + two and a half
      3   three
    ┊ 💻 $         seq 1 4; echo broken >&2; exit 3 [changes files]  1s [exit 3]
    ┊   1
    ┊   2
    ┊   3
    ┊   4
    ┊   broken

    Result

    It is done, see notes.txt.

      ts
      const a = 1

    • one
    • two

    a │ b
    ──┼─────
    1 │ 日本

     ⚕ test-model │ 3.82K/8K │ [█████░░░░░] 47% │ 1s
    ❯"
  `)
  chat.press("ctrl+c")
  await chat.waitForScreen("Press Ctrl+C again to leave.")
  chat.press("ctrl+c")
  expect((await chat.exit).code).toBe(0)
  expect(normalised(chat).split("\n").slice(-8).join("\n")).toMatchInlineSnapshot(`
    "──┼─────
    1 │ 日本

    Resume:    hermes --resume SESSION
    Session:   SESSION
    Title:     work, please
    Duration:  1s
    Messages:  8 (1 from you, 3 tool calls)"
  `)
  expect(modesLeftOn(chat)).toEqual([])
})

test("what is typed before the UI is ready is sent", async () => {
  await using chat = await startFullChat([says("Early bird.")])
  chat.type("on")
  await expect.poll(() => chat.output.length, { interval: 1 }).toBeGreaterThan(3)
  chat.type("e ")
  await expect.poll(() => chat.output.includes("❯"), { interval: 1 }).toBe(true)
  chat.type("tw")
  await chat.waitFor("⚕")
  chat.send("o")
  await chat.waitFor("Early bird.")
  expect(lastMessage(chat.model, 0)).toBe("one two")
  await chat.waitForScreen(IDLE)
  expect(chat.everything().match(/^❯ one two/gmu)).toHaveLength(1)
  chat.press("ctrl+d")
  expect((await chat.exit).code).toBe(0)
})

test("interrupts, steering and the queue", async () => {
  const gate = Promise.withResolvers<void>()
  await using chat = await openFullChat(
    [
      says(["Once upon", " a time"], stallsAfter({ deltas: 1 })),
      says(["Twice upon", " a time"], stallsAfter({ deltas: 1 })),
      callsTool("terminal", { command: "sleep 300" }),
      callsTool("terminal", { command: "sleep 301" }),
      callsTool("terminal", { command: WAITS }),
      says("Steered."),
      says(["A long", " answer."], stallsAfter({ deltas: 1 }, gate.promise)),
      says("Edited one."),
      says("Second one."),
    ],
    { settings: `${NO_SANDBOX}display:\n  busy_input_mode: queue\n` },
  )
  chat.send("tell a story")
  await chat.waitForScreen("Once upon")
  chat.press("ctrl+c")
  await chat.waitForScreen("Interrupted.")
  await chat.waitForScreen(IDLE)
  chat.send("another")
  await chat.waitForScreen("Twice upon")
  chat.press("escape")
  await chat.waitFor(/Interrupted\.[^]*Interrupted\./u)
  await chat.waitForScreen(IDLE)
  chat.send("run something")
  await chat.waitForScreen("sleep 300")
  chat.press("escape")
  await chat.waitFor(/(?:Interrupted\.[^]*){3}/u)
  await chat.waitForScreen(IDLE)
  chat.send("run it again")
  await chat.waitForScreen("sleep 301")
  chat.press("ctrl+c")
  await chat.waitFor(/(?:Interrupted\.[^]*){4}/u)
  await chat.waitForScreen(IDLE)

  chat.send("wait for it")
  await chat.waitForScreen("until test")
  chat.send("/steer be quick")
  await chat.waitFor("The model receives this")
  await writeFile(join(chat.home.workdir, "go"), "")
  await chat.waitFor("Steered.")
  await chat.waitForScreen(IDLE)
  expect(JSON.stringify(chat.model.view(5).messages.at(-1))).toContain("be quick")

  chat.send("go on")
  await chat.waitForScreen("A long")
  chat.send("second")
  chat.send("thrid")
  await chat.waitForScreen(/second[^]*thrid/u)
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "
    ❯ run it again
    ┊ 💻 $         sleep 301  1s [exit 130]
    · Interrupted.

    ❯ wait for it

    ❯ /steer be quick
    · The model receives this with its next tool result, or as your next message.
    ┊ 💻 $         until test -e go; do sleep 0.02; done  1s

    Steered.

    ❯ go on
    · Queued until this reply is complete.
    · (A message typed during a reply is sent after it. Change this with
      display.busy_input_mode; /queue and /steer work in every mode.)

    A long

    ⏎ queued: second
    ⏎ queued: thrid
     ⚕ test-model │ 3.81K/8K │ [█████░░░░░] 46% │ 1s │ ⏱ 1s │ 2 queued
    ⚕"
  `)
  chat.press("up")
  await chat.waitForScreen(/^⚕ thrid/mu)
  chat.press("up")
  await chat.waitForScreen(/^⚕ second/mu)
  chat.send(" edited")
  await chat.waitForScreen(BUSY)
  gate.resolve()
  await chat.waitFor("Second one.")
  await chat.waitForScreen(IDLE)
  expect([lastMessage(chat.model, 7), lastMessage(chat.model, 8)]).toEqual(["second edited", "thrid"])
})

test("completion, history, search, undo and the external editor", async () => {
  await using chat = await openFullChat([says("One."), says("Two."), says("Three."), says("Four.")], {
    workFiles: {
      "src/readme-first.md": "hello",
      "edit.sh": '#!/bin/sh\nprintf "%s and more\\n" "$(cat "$1")" > "$1"\n',
    },
    env: { EDITOR: "sh edit.sh" },
  })
  chat.type("/mod")
  await chat.waitForScreen(/^❯ \/model {2}/mu)
  chat.press("tab")
  await chat.waitForScreen(/^❯ \/model ?/mu)
  chat.press("ctrl+c")
  await chat.waitForScreen(IDLE)
  chat.type("look at @readme")
  await chat.waitForScreen("src/readme-first.md")
  chat.press("tab")
  await chat.waitForScreen(/^❯ look at @\S*src\/readme-first\.md/mu)
  chat.press("enter")
  await chat.waitFor("One.")
  await chat.waitForScreen(IDLE)
  expect(lastMessage(chat.model, 0)).toContain("src/readme-first.md")
  chat.send("plant the beans")
  await chat.waitFor("Two.")
  await chat.waitForScreen(IDLE)
  chat.press("up")
  await chat.waitForScreen(/^❯ plant the beans$/mu)
  chat.press("up")
  await chat.waitForScreen(/^❯ look at/mu)
  chat.press("ctrl+c")
  chat.press("ctrl+r")
  chat.type("bean")
  await chat.waitForScreen(/plant the beans[^]*bean/u)
  chat.press("tab")
  chat.type(", too")
  await chat.waitForScreen(/^❯ plant the beans, too$/mu)
  chat.press("ctrl+g")
  await chat.waitForScreen(/^❯ plant the beans, too and more$/mu)
  chat.press("enter")
  await chat.waitFor("Three.")
  expect(lastMessage(chat.model, 2)).toBe("plant the beans, too and more")
})

test("a paste of 10,000 lines, wide, combining and right-to-left characters", async () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index}`).join("\n")
  const text = "日本語 e\u0301 👩‍👩‍👧 שלום عربي"
  await using chat = await openFullChat([says(`${text}\n\n${text} END`), says("Read.")], {
    settings: "  context_length: 64000\n",
  })
  chat.type(text)
  await chat.waitForScreen("❯ 日本語 e\u0301")
  chat.press("enter")
  await chat.waitFor("END")
  await chat.waitForScreen(IDLE)
  expect(lastMessage(chat.model, 0)).toBe(text)
  chat.type("see ")
  chat.paste(lines)
  await chat.waitForScreen(/paste/iu)
  expect(chat.screen().join("\n")).toMatch(/^❯ see\n {2}\[Pasted text #1: 10000 lines →/mu)
  chat.press("enter")
  await chat.waitFor("Read.")
  const pastes = join(chat.home.path, "pastes")
  const [file = ""] = await readdir(pastes)
  expect(readFileSync(join(pastes, file), "utf8")).toBe(lines)
  await chat.waitForScreen(IDLE)
  chat.paste(`${"word ".repeat(200)}\n`.repeat(3000))
  await chat.waitForScreen("[Pasted text #2")
  chat.press("enter")
  await chat.waitFor("and not kept")
  await chat.waitFor("The pasted text is kept for a week in")
  const kept = (await readdir(pastes)).filter((name) => name !== file)
  expect(kept).toEqual([expect.stringMatching(/^paste_2_\d{6}\.txt$/u)])
  chat.send("/quit --delete now")
  await chat.exit
  expect(await readdir(pastes)).toEqual([])
})

test("going back with Esc Esc, and resuming with a recap", async () => {
  await using chat = await openFullChat([
    says("The answer is 41."),
    callsTool("terminal", { command: "echo hi" }),
    says("The answer is 42."),
    says("The answer is 43."),
    says("Resumed well."),
  ])
  chat.send("what is it")
  await chat.waitFor("The answer is 41.")
  await chat.waitForScreen(IDLE)
  chat.send("and now")
  await chat.waitFor("The answer is 42.")
  await chat.waitForScreen(IDLE)
  chat.press("escape")
  await chat.waitForScreen("Press Esc again")
  chat.press("escape")
  await chat.waitForScreen(/Go back to before a message[^]*what is it/u)
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "❯ and now
    ┊ 💻 $         echo hi  1s

    The answer is 42.

    ❯ /undo list
    ── Go back to before a message ──────────────────────────────────────────── 2 ──
    > type to filter
    › 1 and now                                            just now  the last
      2 what is it                                         just now  2 messages back
    ────────────────────────────────────────────────────────────────────────────────
    and now









    Enter removes it and what follows, and returns its text to the editor; files
    stay as they are · Ctrl+F and Ctrl+B scroll · Esc leaves
     ⚕ test-model │ 3.61K/8K │ [████░░░░░░] 44% │ 1s │ ⏱ 1s"
  `)
  chat.press("enter")
  await chat.waitForScreen(/Removed: and now[^]*^❯ and now$/mu)
  chat.send(", really")
  await chat.waitFor("The answer is 43.")
  await chat.waitForScreen(IDLE)
  expect(chat.model.view(3).messages.map(({ text }) => text)).toEqual([
    "what is it",
    "The answer is 41.",
    "and now, really",
  ])
  chat.send("/quit")
  expect((await chat.exit).code).toBe(0)

  await using resumed = await reopen(chat, { args: ["--continue"] })
  await resumed.waitForScreen(/Continuing[^]*^❯ ?$/mu)
  expect(normalised(resumed).replace(/ · \/.*/u, " · WORKDIR")).toMatchInlineSnapshot(`
    "⚕ Hermes VERSION · test-model · WORKDIR

    ❯ what is it
    ⚕ The answer is 41.
    ❯ and now, really
    ⚕ The answer is 43.

    · Continuing SESSION with 4 messages.

     ⚕ test-model │ 3.58K/8K │ [████░░░░░░] 44% │ 1s
    ❯"
  `)
  resumed.send("go on")
  await resumed.waitFor("Resumed well.")
})
