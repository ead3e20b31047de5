import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import { assembleApp, runToEnd, type AssembledApp } from "../../test/integration/assembled-app.ts"
import { says } from "../../test/support/model-server/turn.ts"
import type { Session } from "../app/session/session.ts"
import { isRecord } from "../base/json.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import { createDisplayControl } from "./display-control.ts"
import type { BackgroundTask, SessionChoices, SlashContext, SlashOutcome } from "./slash-command.ts"
import { runSlashCommand } from "./slash-table.ts"

/** Runs slash commands in a conversation and follows it to others. */
function conversationOf(assembled: AssembledApp, first: Session, extras: Partial<SlashContext> = {}) {
  let session = first
  const asked: string[] = []
  const opened: (SessionChoices | undefined)[] = []
  const run = async (line: string, more: Partial<SlashContext> = {}): Promise<SlashOutcome> => {
    const outcome = await runSlashCommand(line, {
      app: assembled.app,
      session,
      open: async (resume, choices) => {
        opened.push(choices)
        return await assembled.open({ ...(resume === undefined ? {} : { resume }), ...choices })
      },
      confirm: (question) => {
        asked.push(question)
        return Promise.resolve(true)
      },
      running: false,
      signal: new AbortController().signal,
      ...extras,
      ...more,
    })
    if (outcome.kind === "switch") session = outcome.session
    return outcome
  }
  return {
    asked,
    opened,
    run,
    text: async (line: string, more?: Partial<SlashContext>): Promise<string> => {
      const outcome = await run(line, more)
      return "text" in outcome ? outcome.text : outcome.kind
    },
    get session() {
      return session
    },
  }
}

test("the conversation: title, history, save, copy, undo, retry, new, clear, quit --delete", async () => {
  await using assembled = await assembleApp([says("One."), says("Two."), says("Three."), says("Again.")])
  const copied: string[] = []
  const talk = conversationOf(assembled, await assembled.open(), {
    copy: (text) => {
      copied.push(text)
      return Promise.resolve(undefined)
    },
  })
  expect(await talk.text("/history")).toBe("There are no messages yet.")
  expect(await talk.text("/undo")).toBe("There is nothing to undo.")
  expect(await talk.text("/title My plan")).toBe('The title is now "My plan".')
  await runToEnd(talk.session, "first")
  expect(await talk.text("/title")).toBe("My plan")
  await runToEnd(talk.session, "second")
  await runToEnd(talk.session, "third")
  expect(await talk.text("/history 2")).toBe("… 4 earlier\n\nyou: third\n\nHermes: Three.")
  await talk.run("/copy")
  await talk.run("/copy 2")
  expect(copied).toEqual(["Three.", "Two."])
  expect(await talk.text("/copy 9")).toBe("There are only 3 answers.")

  const path = join(assembled.home.workdir, "talk.json")
  expect(await talk.text("/save talk.json")).toBe(`Saved to ${path}.`)
  const saved: unknown = JSON.parse(readFileSync(path, "utf8"))
  expect(isRecord(saved) && saved["title"]).toBe("My plan")
  expect(await talk.text("/save talk.json", { confirm: () => Promise.resolve(false) })).toBe("Nothing was written.")

  expect(await talk.run("/retry")).toMatchObject({ kind: "send", text: "third", images: [] })
  await runToEnd(talk.session, "third")
  expect(await talk.text("/undo 2", { confirm: () => Promise.resolve(false) })).toBe("Nothing was removed.")
  expect(await talk.run("/undo 2")).toEqual({
    kind: "edit",
    draft: "second",
    text: "Removed 2 messages of yours, back to: second",
  })
  expect(await talk.run("/undo -y")).toMatchObject({ kind: "edit", draft: "first" })
  expect(talk.asked).toHaveLength(1)

  const before = talk.session.id
  expect(await talk.text("/new Other work now")).toBe('Started a new conversation. The title is now "Other work".')
  expect(await talk.run("/clear")).toMatchObject({ kind: "switch", clearsScreen: true })
  expect(await talk.text(`/resume "${before}"`)).toMatch(/^Continuing /u)
  expect(await talk.text("/sessions")).toMatch(/^1\. .*My plan\n\/resume N continues one of them\.$/su)
  const quit = await talk.run("/quit --delete --yes")
  await talk.session.close("test_end")
  expect(quit.kind === "quit" ? await quit.afterClose?.() : "").toBe(`Deleted session ${before}.`)
  expect(await (await assembled.app.store()).session(before)).toBeUndefined()
})

test("a destructive command asks, and `always` is saved and valid at once", async () => {
  await using assembled = await assembleApp([says("One.")])
  const talk = conversationOf(assembled, await assembled.open())
  await runToEnd(talk.session, "first")
  const questions: string[] = []
  const answering = (answer: "once" | "always" | "cancel"): Partial<SlashContext> => ({
    confirmOrAlways: (question) => {
      questions.push(question)
      return Promise.resolve(answer)
    },
  })
  expect(await talk.text("/new", answering("cancel"))).toBe("The conversation goes on.")
  expect(await talk.text("/undo", answering("always"))).toBe("Removed: first")
  expect(readFileSync(assembled.app.home.file("config.yaml"), "utf8")).toContain("destructive_slash_confirm: false")
  expect((await talk.run("/new", answering("cancel"))).kind).toBe("switch")
  expect(questions).toHaveLength(2)
})

test("personality, reasoning and tools", async () => {
  await using assembled = await assembleApp([says("Arr."), says("Hm."), says("New.")], {
    config:
      "agent:\n  reasoning_effort: low\npersonalities:\n  butler:\n    description: serves tea\n    system_prompt: You are a butler.\n",
  })
  const talk = conversationOf(assembled, await assembled.open())
  const sent = (index: number): string => JSON.stringify(assembled.model.requests[index]?.body)
  expect(await talk.text("/personality")).toMatch(/^Personality: none\n[^]*pirate[^]*butler +serves tea/u)
  expect(await talk.text("/personality pirat")).toMatch(/^There is no personality pirat\. Did you mean pirate\?/u)
  expect(await talk.text("/personality Pirate")).toBe("Personality: pirate.")
  expect(talk.opened).toEqual([{ personality: "pirate" }])
  expect(await talk.text("/reasoning")).toBe("Effort: low. Reasoning is hidden.")
  await runToEnd(talk.session, "hi")
  expect(sent(0)).toContain("pirate captain")
  expect(await talk.text("/personality butler")).toBe("Personality: butler, from your next message on.")
  expect(await talk.text("/reasoning high")).toBe("Effort: high, from your next message on.")
  await runToEnd(talk.session, "and now?")
  expect(sent(1)).toContain("take on this personality: You are a butler.")
  // The prompt of a conversation never changes.
  expect(sent(1)).toContain("pirate captain")
  expect(talk.session.facts.personality).toBe("butler")
  expect(await talk.text("/reasoning default --global")).toBe(
    "Effort: low, from your next message on. It is now the default for later sessions.",
  )

  expect(await talk.text("/tools")).toMatch(/^file +[^\n]*read_file/mu)
  expect(await talk.text("/tools disable fiel")).toBe(
    "There is no toolset fiel. Did you mean file? /toolsets lists them.",
  )
  const all = talk.session.facts.tools
  expect(await talk.text("/tools disable file -y")).toMatch(/^Started a new conversation with \d+ tools\.$/u)
  expect(all).toContain("read_file")
  expect(talk.session.facts.tools).not.toContain("read_file")
  expect(talk.session.facts.tools).toContain("terminal")
  expect(await talk.text("/toolsets")).toMatch(/^ {2}file .*$/mu)
})

test("display commands change the display at once and are saved", async () => {
  await using assembled = await assembleApp([])
  const changed: string[] = []
  const shown: (string | undefined)[] = []
  const display = createDisplayControl(assembled.app.config, {
    changed: (key) => {
      changed.push(key)
    },
    skins: () => [
      { name: "default", description: "the usual one" },
      { name: "slate", description: "grey" },
    ],
    previewSkin: (name) => shown.push(name),
  })
  const talk = conversationOf(assembled, await assembled.open(), { display })
  expect(await talk.text("/verbose")).toBe("Tool calls: all shown, with arguments and results.")
  expect(await talk.text("/verbose")).toBe("Tool calls: not shown.")
  expect(await talk.text("/reasoning show")).toBe("Reasoning is shown.")
  expect(await talk.text("/statusbar")).toBe("The status bar is hidden.")
  expect(await talk.text("/sb on")).toBe("The status bar is shown.")
  expect(await talk.text("/indicator")).toBe("Busy indicator: emoji.")
  expect(await talk.text("/busy")).toBe("A message that you send during a reply interrupts it.")
  expect(await talk.text("/busy queue")).toBe("A message that you send during a reply is sent after it.")
  expect(await talk.text("/skin slat")).toBe("There is no skin slat. Did you mean slate? /skin lists them.")
  expect(await talk.text("/skin slate")).toBe("Skin: slate.")
  expect(await talk.text("/details tools collapsed")).toBe("Tool calls: collapsed.")
  expect(await talk.text("/details")).toBe(
    "thinking   expanded\ntools      collapsed\nsubagents  collapsed\nactivity   hidden",
  )
  expect(await talk.text("/details activity expanded")).toBe("Background processes: expanded.")
  expect(await talk.text("/details subagents hidden")).toBe("Sub-agents: hidden.")
  expect(await talk.text("/details subagents reset")).toBe("Sub-agents: collapsed.")
  expect(await talk.text("/details activity")).toMatch(/^Usage: /u)
  expect(await talk.text("/mouse")).toMatch(/^Hermes leaves the mouse to your terminal/u)
  expect(display.get("display.busy_input_mode")).toBe("queue")
  expect(new Set(changed).size).toBe(8)
  const saved = readFileSync(assembled.app.home.file("config.yaml"), "utf8")
  for (const line of [
    "skin: slate",
    "busy_input_mode: queue",
    "show_reasoning: true",
    "tui_status_indicator: emoji",
    "activity: expanded",
  ])
    expect(saved).toContain(line)
  // Without a display, the setting is saved for the next start.
  const { display: _display, ...without } = { display }
  expect(await conversationOf(assembled, talk.session, without).text("/busy steer")).toBe(
    "A message that you send during a reply is added to the running turn, from the next start on.",
  )
})

test("information, snapshots and .env", async () => {
  await using assembled = await assembleApp([says("One.", { usage: { input: 1200, output: 40, cacheRead: 0 } })], {
    files: { ".env": "OPENAI_API_KEY=sk-first-key-123456\n" },
  })
  const talk = conversationOf(assembled, await assembled.open())
  await runToEnd(talk.session, "first")
  expect(await talk.text("/version")).toMatch(/^Hermes 0\.0\.0-test, Node v/u)
  expect(await talk.text("/profile")).toMatch(/^profile +default\nhome +\//u)
  expect(await talk.text("/whoami")).toMatch(/permissions +default$/u)
  expect(await talk.text("/plugins")).toMatch(/^There are no plugins\./u)
  expect(await talk.text("/provider")).toContain("openai")
  expect(await talk.text("/config")).toContain("model.default = test-model")
  expect(await talk.text("/help undo")).toMatch(/^\/undo \[N \| list\]\n/u)
  expect(await talk.text("/help unod")).toBe("There is no command /unod. Did you mean /undo? /help lists them.")
  expect(await talk.text("/insights")).toMatch(/^The last 30 days\n {2}sessions {4}1\n/u)
  expect(await talk.text("/insights x")).toBe("Usage: /insights, or /insights DAYS.")

  const { home } = assembled.app
  expect(await talk.text("/reload")).toBe("Nothing in .env has changed.")
  const { writeFile } = await import("node:fs/promises")
  await writeFile(home.file(".env"), "OPENAI_API_KEY=sk-second-key-98765\n")
  expect(await talk.text("/reload")).toBe("1 variable of .env changed.")
  expect(assembled.app.environment.get("OPENAI_API_KEY")).toBe("sk-second-key-98765")
  expect(assembled.app.redactor.redact("it is sk-second-key-98765.")).not.toContain("second-key")

  expect(await talk.text("/snapshot")).toBe("There are no snapshots. /snapshot create makes one.")
  expect(await talk.text("/snap create before work")).toMatch(/^Created \d{8}-\d{6}-before-work with /u)
  const [id = ""] = (await talk.text("/snapshot list")).split("  ")
  await writeFile(home.file(".env"), "OPENAI_API_KEY=sk-third-key-000000\n")
  expect(await talk.text(`/snapshot restore ${id} -y`)).toMatch(/^Restored config\.yaml, \.env/u)
  expect(readFileSync(home.file(".env"), "utf8")).toContain("second")
  expect(await talk.text("/snapshot restore ../../etc -y")).toMatch(/^There is no snapshot/u)
  expect(await talk.text("/snapshot prune 1 -y")).toBe("Removed 1 snapshot.")
})

test("/terminal-setup adds a key binding after asking, and leaves files with comments alone", async () => {
  await using assembled = await assembleApp([])
  const { mkdir, writeFile } = await import("node:fs/promises")
  const base = join(assembled.app.home.userHome, ".config")
  const talk = conversationOf(assembled, await assembled.open())
  expect(await talk.text("/terminal-setup")).toMatch(/^No settings of a known editor were found\./u)
  await mkdir(join(base, "Code", "User"), { recursive: true })
  await mkdir(join(base, "Cursor", "User"), { recursive: true })
  await writeFile(join(base, "Cursor", "User", "keybindings.json"), "// mine\n[]\n")
  expect(await talk.text("/terminal-setup")).toMatch(
    /^Cursor: .* cannot be changed safely;[^]*Code: Shift\+Enter makes/u,
  )
  expect(existsSync(join(base, "Code", "User", "keybindings.json"))).toBe(true)
  expect(await talk.text("/terminal-setup")).toMatch(/^Code: Shift\+Enter is bound already\./u)
})

test("/background starts, lists and stops tasks", async () => {
  await using assembled = await assembleApp([])
  const tasks: BackgroundTask[] = []
  const background = {
    start: (prompt: string) => {
      const sessionId = toSessionId("bg_101010_aaaaaa")
      return Promise.resolve(tasks.push({ number: tasks.length + 1, prompt, sessionId, startedAt: 0 }))
    },
    list: () => tasks,
    stop: (number: number) => number <= tasks.length,
  }
  const talk = conversationOf(assembled, await assembled.open())
  expect(await talk.text("/background x")).toBe(
    "Background tasks need a conversation on a terminal. Start one with `hermes`.",
  )
  expect(await talk.text("/bg", { background })).toBe("No background task is running. /background PROMPT starts one.")
  expect(await talk.text("/btw count the beans", { background })).toBe("Task 1 is running. Its result is shown here.")
  expect(await talk.text("/background", { background })).toMatch(/^1\. count the beans {2}\(/u)
  expect(await talk.text("/background stop 1", { background })).toBe("Stopping task 1.")
  expect(await talk.text("/background stop 7", { background })).toBe("Task 7 is not running.")
})

test("/config shows and sets single settings, asks before protection is lost, and takes no keys", async () => {
  await using assembled = await assembleApp([])
  const talk = conversationOf(assembled, await assembled.open())
  const file = (): string => readFileSync(join(assembled.home.path, "config.yaml"), "utf8")
  expect(await talk.text("/config agent.max_turns")).toMatch(/^agent\.max_turns = \d+$/u)
  expect(await talk.text("/config set agent.max_turns 12")).toBe(
    "Set agent.max_turns. It applies from the next start on.",
  )
  expect(file()).toContain("max_turns: 12")
  expect(await talk.text("/config set agent.max_turns many")).toMatch(/^Invalid value for `agent\.max_turns`/u)
  expect(await talk.text("/config set approvals.profile fullauto")).toContain("did you mean full-auto?")
  expect(talk.asked).toEqual([])
  const declined = { confirm: () => Promise.resolve(false) }
  expect(await talk.text("/config set terminal.sandbox off", declined)).toBe("Nothing was changed.")
  expect(await talk.text("/config set model.api_key sk-planted")).toMatch(/^A key does not belong in a conversation\./u)
  expect(await talk.text("/config set OPENAI_API_KEY sk-planted")).toContain("`hermes config set OPENAI_API_KEY …`")
  expect(file()).not.toMatch(/sandbox|planted/u)
  for (const line of ["/config set", "/config set agent.max_turns", "/config agent.max_turns 5"])
    expect(await talk.text(line)).toMatch(/^Usage: /u)
  expect(await talk.text("/config agent.max_turn")).toBe("`agent.max_turn` is not set. Did you mean `agent.max_turns`?")
})

test.each(["", "/quit"])("/model PROVIDER asks for a key; %j is none and stores nothing", async (typed) => {
  await using assembled = await assembleApp([])
  const talk = conversationOf(assembled, await assembled.open())
  const asked: string[] = []
  const askSecret = (question: string): Promise<string> => {
    asked.push(question)
    return Promise.resolve(typed)
  }
  expect(await talk.text("/model deepseek", { askSecret })).toBe("No key was stored.")
  expect(asked).toEqual(["DEEPSEEK_API_KEY (not shown, empty to cancel): "])
  expect(existsSync(join(assembled.home.path, ".env"))).toBe(false)
})
