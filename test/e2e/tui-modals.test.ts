import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, says } from "../support/model-server/turn.ts"
import { choose, decide, IDLE, lastMessage, normalised, openFullChat } from "./full-chat.ts"
import { hermes, NO_SANDBOX } from "./hermes-process.ts"

const SKILL = `---
name: weather
description: Weather
required_environment_variables:
  - name: WEATHER_TOKEN
    prompt: Token of the weather service
---

Ask.
`

test("approvals, a question, a secret and a plan", async () => {
  await using chat = await openFullChat(
    [
      callsTool("terminal", { command: "rm -r build" }),
      callsTool("terminal", { command: "rm -r build" }),
      callsTool("clarify", { question: "Which colour?", choices: ["red", "green"] }),
      callsTool("clarify", { question: "Why?" }),
      callsTool("skill_view", { name: "weather" }),
      says("That was it."),
      says("# Plan\n\n1. Make made.txt."),
      says("# Plan\n\n1. Make made.txt slowly."),
      callsTool("write_file", { path: "made.txt", content: "x" }),
      says("Carried out."),
    ],
    {
      settings: NO_SANDBOX,
      workFiles: { "build/x": "x" },
      files: { ".no-bundled-skills": "", "skills/weather/SKILL.md": SKILL },
    },
  )
  chat.send("go")
  await chat.waitForScreen("Esc denies")
  expect(
    normalised(chat)
      .replace(/in WORKDIR.*\n(?: {6}.*\n)?/u, "in WORKDIR\n")
      .replaceAll(/start in .*/gu, "start in"),
  ).toMatchInlineSnapshot(`
    "⚕ Hermes VERSION
      model       test-model (custom, 8K context)
      directory   WORKDIR
      permissions default
      skills      1

    What shall we work on? /help lists the commands.

    ❯ go
    ┊ ⠋ 💻 $         rm -r build [changes files]  1s
    ── Hermes wants to run ─────────────────────────────────────────────────────────
      | rm -r build
      in WORKDIR
    This needs your approval: rm -r build deletes a directory tree.
    "Always" saves this rule:
      | terminal:rm -r build
      It applies to commands that start in
      1. [O] Allow once
      2. [S] Allow for this session
      3. [A] Always allow, and save the rule
    › 4. [D] Deny
    Arrows, number or letter, then Enter · Esc denies · Ctrl+C stops the turn
     ⚕ test-model │ 3.48K/8K │ [████░░░░░░] 42% │ 1s │ ⏱ 1s"
  `)
  chat.press("escape")
  await chat.waitFor("Denied: rm -r build")
  expect(existsSync(join(chat.home.workdir, "build/x"))).toBe(true)
  await chat.waitForScreen("Esc denies")
  await choose(chat, "o", "Esc denies")
  await chat.waitForScreen("Which colour?")
  expect(existsSync(join(chat.home.workdir, "build/x"))).toBe(false)
  expect(chat.everything()).toContain("Allowed")
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "  directory   WORKDIR
      permissions default
      skills      1

    What shall we work on? /help lists the commands.

    ❯ go
    · Denied: rm -r build
    ┊ 💻 $         rm -r build [changes files]  1s [denied]
    · Allowed once: rm -r build
    ┊ 💻 $         rm -r build [changes files]  1s
    ┊ ⠋ 💬 ask       Which colour?  1s
    ── The model asks ──────────────────────────────────────────────────────────────
      | Which colour?
      (it reads your answer, so give it no password)
    › 1. red
      2. green
      3. Other (type an answer)
    Arrows and Enter, or a number · Esc skips · Ctrl+C stops the turn
     ⚕ test-model │ 3.59K/8K │ [████░░░░░░] 44% │ 1s │ ⏱ 1s"
  `)
  await decide(chat, "2", "1. red")
  await chat.waitForScreen("Why?")
  await decide(chat, "because", undefined)
  chat.press("enter")
  await chat.waitForScreen("Token of the weather service")
  await decide(chat, "w-4711-sunny", undefined)
  await chat.waitForScreen(/[•*]{4}/u)
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "  permissions default
      skills      1

    What shall we work on? /help lists the commands.

    ❯ go
    · Denied: rm -r build
    ┊ 💻 $         rm -r build [changes files]  1s [denied]
    · Allowed once: rm -r build
    ┊ 💻 $         rm -r build [changes files]  1s
    · The model asks: Which colour?
        green
    ┊ 💬 ask       Which colour?  1s
    · The model asks: Why?
        because
    ┊ 💬 ask       Why?  1s
    ┊ ⠋ 📚 skill     weather  1s
    ── Hermes asks for a secret ────────────────────────────────────────────────────
      The skill weather needs WEATHER_TOKEN (Token of the weather service).
          Its value is stored in the .env file of Hermes and passed to commands.
          Enter nothing to skip it.
    > ••••••••••••
    Input is hidden · Enter sends it · Esc sends nothing
     ⚕ test-model │ 3.7K/8K │ [█████░░░░░] 45% │ 1s │ ⏱ 1s"
  `)
  chat.press("enter")
  await chat.waitFor("That was it.")
  await chat.waitForScreen(IDLE)
  expect(chat.output).not.toContain("w-4711")
  expect(readFileSync(join(chat.home.path, ".env"), "utf8")).toContain("w-4711-sunny")
  const answers = [3, 4].map((index) => chat.model.view(index).messages.at(-1)?.results[0]?.text)
  expect([answers[0]?.includes("green"), answers[1]?.includes("because")]).toEqual([true, true])

  chat.send("/plan make it")
  await chat.waitForScreen("The plan is ready")
  expect(normalised(chat).replace(/\S*\.hermes\/plans\/[^]*?\.md/u, "PLAN")).toMatchInlineSnapshot(`
    "┊ 💬 ask       Which colour?  1s
    · The model asks: Why?
        because
    ┊ 💬 ask       Why?  1s
    ┊ 📚 skill     weather  1s

    That was it.

    ❯ /plan make it

    Plan

    1. Make made.txt.
    ── The plan is ready ───────────────────────────────────────────────────────────
    It is above, and in
          PLAN.
      1. [A] Approve and carry it out
      2. [E] Approve, but ask before each change
      3. [R] Revise: say what should change
      4. [X] Abort; the plan stays on disk
    › 5. [L] Decide later; plan mode stays on
    PgUp and PgDn scroll · Enter decides · Esc decides later
     ⚕ test-model │ 4.01K/8K │ [█████░░░░░] 49% │ 1s │ PLAN"
  `)
  await choose(chat, "r", "The plan is ready")
  await chat.waitForScreen("What should change?")
  chat.send("slowly, please")
  await chat.waitFor("made.txt slowly")
  await chat.waitForScreen("The plan is ready")
  expect(lastMessage(chat.model, 7)).toContain("slowly, please")
  await choose(chat, "a", "The plan is ready")
  await chat.waitFor("Carried out.")
  expect(existsSync(join(chat.home.workdir, "made.txt"))).toBe(true)
})

test("lists: models, sessions, settings, snapshots with their diff, and a confirmation", async () => {
  await using chat = await openFullChat(
    [
      says("Red ones."),
      callsTool("write_file", { path: "a.txt", content: "changed\nlines\n" }),
      says("Written."),
      says("Welcome back."),
    ],
    { settings: NO_SANDBOX, workFiles: { "a.txt": "original\nlines\n" } },
  )
  await hermes(chat.home, ["-z", "which roses"])
  chat.send("change it")
  await chat.waitFor("Written.")
  await chat.waitForScreen(IDLE)

  chat.send("/rollback")
  await chat.waitForScreen(/Snapshots of[^]*1 - original/u)
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "  1 - original
      1 + changed
      2   lines

    Written.

    ❯ /rollback
    ── Snapshots of WORKDIR  1 ──
    > type to filter
    › 1 write_file a.txt                                          just now  HASH
    ────────────────────────────────────────────────────────────────────────────────
    a/a.txt → b/a.txt  +1 -1
      1 - original
      1 + changed
      2   lines






    Enter shows the files; each snapshot is named after the first change that it
    takes back · Ctrl+F and Ctrl+B scroll · Esc leaves
     ⚕ test-model │ 3.68K/8K │ [█████░░░░░] 45% │ 1s │ ⏱ 1s"
  `)
  chat.press("enter")
  await chat.waitForScreen(/What to restore[^]*1 - original/u)
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "  2   lines

    Written.

    ❯ /rollback
    ── What to restore ──────────────────────────────────────────────────────── 2 ──
    > type to filter
    › 1 Restore everything (1 file)  and remove your message and the r…
    Or only one file
      2 a.txt                                                            is restored
    ────────────────────────────────────────────────────────────────────────────────
    a/a.txt → b/a.txt  +1 -1
      1 - original
      1 + changed
      2   lines







    Enter restores it · Ctrl+F and Ctrl+B scroll · Esc goes back
     ⚕ test-model │ 3.68K/8K │ [█████░░░░░] 45% │ 1s │ ⏱ 1s"
  `)
  chat.press("enter")
  await chat.waitForScreen(IDLE)
  expect(readFileSync(join(chat.home.workdir, "a.txt"), "utf8")).toBe("original\nlines\n")

  chat.send("/model")
  await chat.waitForScreen("Esc leaves")
  await chat.waitUntilGone("Loading…")
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "❯ /model
    ── Model: choose a provider · this session only ────────────────────────── 54 ──
    > type to filter, or type a model name or a server address
    Ready
    › ● custom                                                       test-model
    Not connected yet
        OpenRouter                                                   needs a key
        OpenAI                                                       needs a key
        Anthropic                                                    needs a key
        OpenAI Codex (ChatGPT login)                                 needs a login
        Google Gemini                                                needs a key
        DeepSeek                                                     needs a key
        xAI                                                          needs a key
        xAI (login)                                                  needs a login
        Z.AI                                                         needs a key
        Moonshot Kimi                                                needs a key
        Moonshot Kimi (China)                                        needs a key
        MiniMax                                                      needs a key
        MiniMax (China)                                              needs a key
        MiniMax (login)                                              needs a login
        Ollama Cloud                                                 needs a key
        Nous Portal                                                  needs a key
    Enter opens · Tab switches · Esc leaves
     ⚕ test-model │ 3.68K/8K │ [█████░░░░░] 45% │ 1s │ ⏱ 1s"
  `)
  chat.press("escape")
  await chat.waitForScreen(IDLE)

  chat.send("/config")
  await chat.waitForScreen("Esc leaves")
  chat.type("bell_on_complete")
  await chat.waitForScreen("bell_on_complete")
  expect(normalised(chat).replace(/1 of \d{3}/u, "1 of NNN")).toMatchInlineSnapshot(`
    "❯ /config
    ── Settings ──────────────────────────────────────────────────────── 1 of NNN ──
    > bell_on_complete
    Display
    › display.bell_on_complete  Ring the terminal bell when a turn ends.     false

















    Enter changes it · Ctrl+R resets it · Esc leaves
     ⚕ test-model │ 3.68K/8K │ [█████░░░░░] 45% │ 1s │ ⏱ 1s"
  `)
  chat.press("ctrl+c")
  await chat.waitForScreen(IDLE)

  chat.send("/sessions")
  await chat.waitForScreen("which roses")
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "❯ /config

    ❯ /sessions
    ── Sessions ─────────────────────────────────────────────────────────────── 2 ──
    > type to filter
    › 1 ● change it                                            just now  0 msgs  cli
      2   which roses                                          just now  2 msgs  cli
    Enter resumes · Ctrl+R renames · Esc leaves
     ⚕ test-model │ 3.68K/8K │ [█████░░░░░] 45% │ 1s │ ⏱ 1s"
  `)
  chat.type("roses")
  await chat.waitForScreen("1 of 2")
  chat.press("enter")
  await chat.waitForScreen(/Red ones\.[^]*^❯ ?$/mu)
  chat.send("hello again")
  await chat.waitFor("Welcome back.")
  await chat.waitForScreen(IDLE)
  expect(chat.model.view(3).messages.map(({ text }) => text)).toEqual(["which roses", "Red ones.", "hello again"])

  chat.send("/undo")
  await chat.waitForScreen("Are you sure?")
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "❯ /config

    ❯ /sessions

    ❯ which roses
    ⚕ Red ones.
    Continuing SESSION (2 messages).

    ❯ hello again

    Welcome back.

    ❯ /undo
    ── Are you sure? ───────────────────────────────────────────────────────────────
      Remove your last message and everything after? Files do not change.
      1. [Y] Yes
      2. [A] Yes, and do not ask about such commands again
    › 3. [N] No
    Arrows, number or letter, then Enter · Esc cancels
     ⚕ test-model │ 3.57K/8K │ [████░░░░░░] 44% │ 1s │ ⏱ 1s"
  `)
  chat.press("escape")
  await chat.waitForScreen(IDLE)
})

test("what is typed at a question goes to the draft and answers nothing; Ctrl+C denies and stops the turn", async () => {
  await using chat = await openFullChat(
    [
      callsTool("terminal", { command: "rm -r build" }),
      callsTool("clarify", { question: "Which colour?" }),
      says("Not reached."),
    ],
    { settings: NO_SANDBOX, workFiles: { "build/x": "x" } },
  )
  chat.send("go")
  chat.type("and also ")
  await chat.waitForScreen("Esc denies")
  for (const character of "do so\r") chat.type(character)
  chat.paste("(pasted)")
  await chat.waitForScreen("Your typing goes to your message.")
  chat.press("ctrl+c")
  await chat.waitFor("Interrupted.")
  await chat.waitForScreen(/^❯ and also do so\n {2}\(pasted\)$/mu)
  expect(chat.everything()).toContain("Denied: rm -r build")
  expect(existsSync(join(chat.home.workdir, "build/x"))).toBe(true)
  expect(chat.model.requests).toHaveLength(1)
  chat.press("ctrl+c")
  chat.send("again")
  await chat.waitForScreen("Which colour?")
  await decide(chat, "blue", undefined)
  await chat.waitForScreen("> blue")
  chat.press("escape")
  await chat.waitFor("Not reached.")
  await chat.waitForScreen(/^❯ blue$/mu)
})
