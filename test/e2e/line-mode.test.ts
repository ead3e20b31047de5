import { existsSync, readFileSync, statSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test, vi } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { openSqliteStore } from "../../src/state/sqlite/open-store.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { callsTool, reply, says, stallsAfter, waitsFor } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import type { TerminalOptions, VirtualTerminal } from "../support/virtual-terminal.ts"
import { hermes, NO_SANDBOX, settingsFor } from "./hermes-process.ts"
import { expectExited } from "./process-alive.ts"

const SPINNER = /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] /
const ESCAPE = "\u001B"
const BRACKETED_PASTE_OFF = "\u001B[?2004l"

describe("closing the window", () => {
  test("stores the interrupted call, ends the session and its commands, and exits 129", async () => {
    await using model = await startModelServer([
      callsTool("terminal", { command: "echo $$ > shell.pid; echo printed-before; sleep 300" }),
    ])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
    await using terminal = await openChat(home)
    enter(terminal, "run something long")
    await terminal.waitFor("→ terminal")
    const pid = await pidIn(join(home.workdir, "shell.pid"))
    terminal.closeWindow()
    expect(await terminal.exit).toMatchObject({ code: 129 })
    await expectExited(pid)
    const session = await lastSession(home)
    expect([session.roles, session.isEnded]).toEqual([["user", "assistant", "tool"], true])
    expect(errorLog(home)).toBe("")
  })

  test("at the prompt and at a question", async () => {
    await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" })])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
    await using idle = await openChat(home)
    idle.closeWindow()
    expect(await idle.exit).toMatchObject({ code: 129 })
    await using asking = await openChat(home)
    enter(asking, "clean up")
    await asking.waitFor(/\[d\]eny\?/)
    asking.closeWindow()
    expect(await asking.exit).toMatchObject({ code: 129 })
    expect(existsSync(join(home.workdir, "build/x"))).toBe(true)
    expect((await lastSession(home)).isEnded).toBe(true)
    expect(errorLog(home)).toBe("")
  })

  test("during a query and at a question of another command", async () => {
    await using model = await startModelServer([says(["Once upon", " a time"], stallsAfter({ deltas: 1 }))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const open = (args: readonly string[]): Promise<VirtualTerminal> =>
      openTerminal({ command: hermesCommand(), args, env: home.env, cwd: home.workdir })
    await using query = await open(["-q", "tell a story"])
    await query.waitFor("Once upon")
    query.closeWindow()
    expect(await query.exit).toMatchObject({ code: 130 })
    await using key = await open(["auth", "add", "openrouter"])
    await key.waitFor("Key for openrouter:")
    key.closeWindow()
    expect(await key.exit).toMatchObject({ code: 129 })
    expect(errorLog(home)).toBe("")
  })
})

describe("under a shell with job control", () => {
  test("Ctrl+Z and fg continue the conversation with its draft", async () => {
    await using model = await startModelServer([says("Still here.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openShell(home)
    enter(terminal, hermesCommand().join(" "))
    await terminal.waitFor(/^you> /m)
    terminal.type("hel")
    await terminal.waitFor("you> hel")
    terminal.press("ctrl+z")
    await terminal.waitFor(/Stopped/)
    enter(terminal, "stty -a | grep -o ' icanon' && fg")
    await terminal.waitFor(/^ icanon/m)
    await terminal.waitFor(/icanon[^]*you> hel/)
    enter(terminal, "lo")
    await terminal.waitFor("Still here.")
    expect(lastMessage(model, 0)).toBe("hello")
    terminal.press("ctrl+d")
    await terminal.waitFor("Continue with: hermes --resume")
  })

  test("a conversation whose output is read by nothing any more ends", async () => {
    await using home = await temporaryHome({ config: "model:\n  provider: demo\n" })
    await using terminal = await openShell(home)
    enter(terminal, `${hermesCommand().join(" ")} | true; echo "ended: \${PIPESTATUS[0]}"`)
    await terminal.waitFor(/^ended: 0/m)
  })

  test("closing the window ends the session, although the shell sends SIGHUP too", async () => {
    await using model = await startModelServer([says(["Once upon", " a time"], stallsAfter({ deltas: 1 }))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openShell(home)
    enter(terminal, hermesCommand().join(" "))
    await terminal.waitFor(/^you> /m)
    enter(terminal, "tell a story")
    await terminal.waitFor("Once upon")
    const pid = childOf(terminal.pid)
    terminal.closeWindow()
    await terminal.exit
    await expectExited(pid)
    expect(await lastSession(home)).toEqual({ roles: ["user", "assistant"], isEnded: true })
  })
})

test.each([
  { event: "SIGTERM", signal: "SIGTERM", code: 130 },
  { event: "an internal error", signal: "SIGUSR2", code: 1 },
] as const)("the terminal is restored after $event", async ({ signal, code }) => {
  await using model = await startModelServer([callsTool("terminal", { command: "sleep 300" })])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const fault = `process.on("SIGUSR2",()=>{throw new Error("boom")})`
  await using terminal = await openTerminal({
    command: "/bin/bash",
    args: ["--norc", "-c", `${hermesCommand().join(" ")}; echo "code $?"; stty -a`],
    env: { ...home.env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}` },
    cwd: home.workdir,
  })
  await terminal.waitFor(/^you> /m)
  enter(terminal, "wait")
  await terminal.waitFor(SPINNER)
  process.kill(childOf(terminal.pid), signal)
  await terminal.waitFor(`code ${code}`)
  await terminal.waitFor(/ icanon [^]* echo /)
  expect(everything(terminal)).not.toMatch(SPINNER)
  expect(terminal.output.lastIndexOf(BRACKETED_PASTE_OFF)).toBeGreaterThan(terminal.output.lastIndexOf("you>"))
})

test("Ctrl+C at the empty prompt asks first; Ctrl+D leaves", async () => {
  await using model = await startModelServer([])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home)
  terminal.type("half a thought")
  await terminal.waitFor("you> half a thought")
  terminal.press("ctrl+c")
  await vi.waitFor(() => expect(terminal.screen().at(-1)).toBe("you> "))
  terminal.press("ctrl+c")
  await terminal.waitFor("Press Ctrl+C again to leave.")
  terminal.type("x")
  await vi.waitFor(() => expect(terminal.screen().at(-1)).toBe("you> x"))
  terminal.press("backspace")
  terminal.press("ctrl+d")
  expect((await terminal.exit).code).toBe(0)
  await using other = await openChat(home)
  other.press("ctrl+c")
  other.press("ctrl+c")
  expect((await other.exit).code).toBe(0)
})

describe("during a turn", () => {
  test.each([40, 80, 120])("a progress line shows what happens, at %i columns, and is erased", async (columns) => {
    const gate = Promise.withResolvers<void>()
    await using model = await startModelServer([
      callsTool("terminal", { command: "until test -e go; do sleep 0.02; done" }),
      says("Done.", waitsFor(gate.promise)),
    ])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openChat(home, [], { columns })
    enter(terminal, "wait for it")
    await terminal.waitFor(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Running terminal until test/)
    terminal.resize(columns - 8, 30)
    await terminal.waitFor(/Running terminal .*\(1 s\)/)
    await writeFile(join(home.workdir, "go"), "")
    await terminal.waitFor(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Thinking/)
    gate.resolve()
    await terminal.waitFor("Done.")
    await terminal.waitFor(/(?:^you> ?[^]*){2}/m)
    expect(everything(terminal)).not.toMatch(SPINNER)
  })

  test.each([
    { name: "NO_COLOR", more: { NO_COLOR: "1" }, allowed: SPINNER },
    { name: "TERM=dumb", more: {}, dumb: true, allowed: undefined },
  ])("$name", async ({ more, dumb, allowed }) => {
    await using model = await startModelServer([
      callsTool("terminal", { command: "until test -e go; do sleep 0.02; done" }),
      says("Done."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openTerminal({
      command: dumb === true ? ["/usr/bin/env", "TERM=dumb", ...hermesCommand()] : hermesCommand(),
      env: { ...home.env, ...more },
      cwd: home.workdir,
    })
    await terminal.waitFor(/^you> /m)
    enter(terminal, "wait fox")
    await terminal.waitFor("→ terminal")
    if (allowed !== undefined) await terminal.waitFor(allowed)
    await writeFile(join(home.workdir, "go"), "")
    await terminal.waitFor("Done.")
    // eslint-disable-next-line no-control-regex -- colours are what this looks for
    expect(terminal.output).not.toMatch(/\u001B\[[\d;]*m/)
    if (dumb === true) expect(terminal.output).not.toContain(ESCAPE)
  })

  test("shows the change of a file, the output of a failed command and the reason of a refusal", async () => {
    const long = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`).join("\n")
    await using model = await startModelServer([
      callsTool("write_file", { path: "notes.txt", content: long }),
      callsTool("patch", { path: "notes.txt", old_string: "line 7\n", new_string: "line seven\n" }),
      callsTool("terminal", { command: "seq 1 30; echo broken >&2; exit 3" }),
      callsTool("terminal", { command: "rm -rf /" }),
      says("That was it."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
    await using terminal = await openChat(home)
    enter(terminal, "work")
    await terminal.waitFor("That was it.")
    const screen = everything(terminal)
    expect(screen).toMatch(/✓ write_file: [^]*\n {4}\+line 17\n {4}\+\d+ more\n/)
    expect(screen).toMatch(/✓ patch: [^]*\n {4}-line 7\n {4}\+line seven\n/)
    expect(screen).toMatch(/✗ terminal: exit code 3\n {4}22\n(?: {4}\d+\n){8} {4}broken\n/)
    expect(screen).toMatch(/✗ terminal: blocked: \S+/)
    expect(terminal.output).toContain("\u001B[32m    +line seven")
  })

  test("results of calls that run at the same time name their calls", async () => {
    await using model = await startModelServer([
      reply({
        calls: [
          { name: "read_file", input: { path: "a.txt" } },
          { name: "read_file", input: { path: "missing.txt" } },
        ],
      }),
      says("Read."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "a.txt": "a" } })
    await using terminal = await openChat(home)
    enter(terminal, "read both")
    await terminal.waitFor("Read.")
    expect(everything(terminal)).toMatch(/✓ read_file a\.txt: /)
    expect(everything(terminal)).toMatch(/✗ read_file missing\.txt: /)
  })

  test("what is typed during a reply is not mixed into it and is in the prompt afterwards", async () => {
    const gate = Promise.withResolvers<void>()
    await using model = await startModelServer([
      says(["Once upon", " a time."], stallsAfter({ deltas: 1 }, gate.promise)),
      says("Fine."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openChat(home)
    enter(terminal, "tell a story")
    await terminal.waitFor("Once upon")
    terminal.type("typed ahead 日本")
    gate.resolve()
    await terminal.waitFor("you> typed ahead 日本")
    expect(everything(terminal)).toContain("Once upon a time.\n")
    enter(terminal, " done")
    await terminal.waitFor("Fine.")
    expect(lastMessage(model, 1)).toBe("typed ahead 日本 done")
  })

  test("what is typed while a command runs is below the progress line", async () => {
    await using model = await startModelServer([
      callsTool("terminal", { command: "until test -e go; do sleep 0.02; done" }),
      says("Done."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openChat(home)
    enter(terminal, "wait for it")
    await terminal.waitFor(SPINNER)
    terminal.type("and then rest")
    await terminal.waitFor(/Running terminal .*\n› and then rest/)
    await writeFile(join(home.workdir, "go"), "")
    await terminal.waitFor("you> and then rest")
    expect(everything(terminal)).not.toContain("› and")
  })
})

test("an approval waits for the user", async () => {
  await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("Gone.")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
  await using terminal = await openChat(home)
  enter(terminal, "clean up")
  await terminal.waitFor(/\[d\]eny\?/)
  expect(everything(terminal)).not.toContain("to answer")
  enter(terminal, "o")
  await terminal.waitFor("Gone.")
})

test("a question of -q that was not answered in time is closed, and the next one works", async () => {
  const remove = callsTool("terminal", { command: "rm -r build" })
  await using model = await startModelServer([remove, callsTool("clarify", { question: "Which one?" }), says("Noted.")])
  await using home = await temporaryHome({
    config: settingsFor(model, `${NO_SANDBOX}approvals:\n  timeout: 1\n`),
    workFiles: { "build/x": "x" },
  })
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args: ["-q", "clean up"],
    env: home.env,
    cwd: home.workdir,
  })
  await terminal.waitFor("There was no answer in time, so the call was denied.")
  await terminal.waitFor("Your answer: ")
  enter(terminal, "the first")
  expect((await terminal.exit).code).toBe(0)
  expect(model.view(2).messages.at(-1)?.results[0]?.text).toContain("the first")
})

describe("a prompt on the command line", () => {
  test("opens a conversation with it", async () => {
    await using model = await startModelServer([says("It is fixed."), says("You are welcome.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openTerminal({
      command: hermesCommand(),
      args: ["fix the bug"],
      env: home.env,
      cwd: home.workdir,
    })
    await terminal.waitFor("you> fix the bug")
    await terminal.waitFor("It is fixed.")
    enter(terminal, "thanks")
    await terminal.waitFor("You are welcome.")
    expect(lastMessage(model, 0)).toBe("fix the bug")
  })

  test("with piped input it is answered once", async () => {
    await using model = await startModelServer([says("Two lines.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["count the lines"], { stdin: "a\nb\n" })
    expect([result.code, result.stdout]).toEqual([0, "Two lines.\n"])
    expect(lastMessage(model, 0)).toBe("count the lines\n\n```\na\nb\n```")
  })

  test("one unknown word is not a prompt", async () => {
    await using home = await temporaryHome()
    const result = await hermes(home, ["sesions"])
    expect([result.code, result.stderr]).toEqual([
      2,
      "Unknown command `sesions`. Did you mean `sessions`? See `hermes --help`.\n",
    ])
  })
})

describe("keys from standard input", () => {
  test("are stored and not shown", async () => {
    await using home = await temporaryHome()
    const result = await hermes(home, ["auth", "add", "openrouter"], { stdin: "sk-or-planted-0123456789\n" })
    expect([result.code, result.stdout, result.stderr]).toEqual([0, "Added key 1 to openrouter.\n", ""])
    expect(readFileSync(join(home.path, "auth.json"), "utf8")).toContain("sk-or-planted-0123456789")
  })

  test.each([
    { stdin: "", code: 1, says: "Standard input is empty" },
    { stdin: "sk-one\nsk-two\n", code: 2, says: "more than one word" },
  ])("$says", async ({ stdin, code, says: message }) => {
    await using home = await temporaryHome()
    const result = await hermes(home, ["auth", "add", "openrouter"], { stdin })
    expect([result.code, result.stderr.includes(message)]).toEqual([code, true])
  })
})

test("the prompt history survives, without secrets, for the user only", async () => {
  await using model = await startModelServer([says("One."), says("Two."), says("Three.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const secret = "sk-abcdefghijklmnop1234"
  {
    await using terminal = await openChat(home)
    enter(terminal, `use ${secret}`)
    await terminal.waitFor("One.")
    enter(terminal, "plant the beans")
    await terminal.waitFor("Two.")
    enter(terminal, "/quit")
    await terminal.exit
  }
  const file = join(home.path, ".hermes_history")
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, "utf8")).not.toContain(secret)
  await using terminal = await openChat(home)
  terminal.press("up")
  await terminal.waitFor("you> /quit")
  terminal.press("up")
  await terminal.waitFor("you> plant the beans")
  terminal.press("ctrl+c")
  terminal.press("ctrl+r")
  terminal.type("bean")
  await terminal.waitFor("(history search) bean: plant the beans")
  terminal.press("enter")
  await terminal.waitFor("Three.")
  expect(lastMessage(model, 2)).toBe("plant the beans")
})

describe("several lines", () => {
  test("are typed with Alt+Enter, Ctrl+J and a backslash, and edited as one message", async () => {
    await using model = await startModelServer([says("Four lines.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openChat(home)
    terminal.type("one")
    await terminal.waitFor("you> one")
    terminal.press("alt+enter")
    terminal.type("two")
    terminal.press("ctrl+j")
    terminal.type("three\\")
    terminal.press("enter")
    terminal.type("four")
    await terminal.waitFor(/you> one\n {5}two\n {5}three\n {5}four/)
    terminal.press("up")
    terminal.press("end")
    terminal.type("!")
    terminal.press("enter")
    await terminal.waitFor("Four lines.")
    expect(lastMessage(model, 0)).toBe("one\ntwo\nthree!\nfour")
  })

  test("a paste keeps its line breaks and is sent with Enter", async () => {
    await using model = await startModelServer([says("Pasted.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openChat(home)
    terminal.type("look: ")
    terminal.paste("a\r\n  b\n/help\tc")
    await terminal.waitFor(/you> look: a\n\s+b\n\s+\/help/)
    expect(model.requests).toHaveLength(0)
    terminal.press("enter")
    await terminal.waitFor("Pasted.")
    expect(lastMessage(model, 0)).toBe("look: a\n  b\n/help\tc")
  })
})

test.each([40, 60, 80, 120])(
  "wide and combining characters and a resize keep the draft readable at %i columns",
  async (columns) => {
    await using model = await startModelServer([says("Read.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using terminal = await openChat(home, [], { columns })
    const text = `${"日本語テキスト".repeat(Math.ceil(columns / 14))} cafe\u0301 end`
    const shown = text.replaceAll(" ", "")
    terminal.type(text)
    await vi.waitFor(() => expect(draftOnScreen(terminal)).toBe(shown))
    terminal.resize(columns - 7, 30)
    await vi.waitFor(() => expect(draftOnScreen(terminal)).toBe(shown))
    terminal.resize(columns + 10, 30)
    await vi.waitFor(() => expect(draftOnScreen(terminal)).toBe(shown))
    expect(everything(terminal).match(/you>/g)).toHaveLength(1)
    for (const _ of "end") terminal.press("backspace")
    terminal.press("backspace")
    terminal.press("backspace")
    terminal.press("home")
    terminal.press("delete")
    terminal.press("enter")
    await terminal.waitFor("Read.")
    expect(lastMessage(model, 0)).toBe(text.slice(1).replace(" cafe\u0301 end", " caf"))
  },
)

test("a draft that is taller than the window stays editable", async () => {
  await using model = await startModelServer([says("Long.")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openChat(home, [], { columns: 60, rows: 12 })
  const text = Array.from({ length: 40 }, (_, index) => `row ${index}`).join("\n")
  terminal.paste(text)
  await terminal.waitFor("row 39")
  terminal.type("!")
  await terminal.waitFor("row 39!")
  terminal.press("enter")
  await terminal.waitFor("Long.")
  expect(lastMessage(model, 0)).toBe(`${text}!`)
})

async function openShell(home: TemporaryHome): Promise<VirtualTerminal> {
  const terminal = await openTerminal({
    command: "/bin/bash",
    args: ["--norc", "--noprofile", "-i"],
    env: { ...home.env, PS1: "shell$ " },
    cwd: home.workdir,
  })
  await terminal.waitFor("shell$")
  return terminal
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")[0])
}

/** The text between the prompt and the cursor, with its rows joined. */
/** Without blanks: at the end of a row they cannot be seen. */
function draftOnScreen(terminal: VirtualTerminal): string {
  const rows = terminal.screen()
  const first = rows.findLastIndex((row) => row.startsWith("you> "))
  return rows.slice(first).join("").slice("you> ".length).replaceAll(" ", "")
}

async function openChat(
  home: TemporaryHome,
  args: readonly string[] = [],
  size: Pick<TerminalOptions, "columns" | "rows"> = {},
): Promise<VirtualTerminal> {
  const terminal = await openTerminal({ command: hermesCommand(), args, env: home.env, cwd: home.workdir, ...size })
  await terminal.waitFor(/^you> /m)
  return terminal
}

function enter(terminal: VirtualTerminal, text: string): void {
  terminal.type(text)
  terminal.press("enter")
}

function everything(terminal: VirtualTerminal): string {
  return [...terminal.scrollback(), ...terminal.screen()].join("\n")
}

function lastMessage(model: ModelServer, request: number): string | undefined {
  return model.view(request).messages.at(-1)?.text
}

function errorLog(home: TemporaryHome): string {
  const path = join(home.path, "logs", "errors.log")
  return existsSync(path) ? readFileSync(path, "utf8") : ""
}

async function pidIn(path: string): Promise<number> {
  await vi.waitFor(() => expect(existsSync(path) && readFileSync(path, "utf8").endsWith("\n")).toBe(true), {
    timeout: 20_000,
  })
  return Number(readFileSync(path, "utf8"))
}

async function lastSession(
  home: TemporaryHome,
): Promise<{ readonly roles: readonly string[]; readonly isEnded: boolean }> {
  const log = { debug: () => undefined, warning: () => undefined }
  const store = await openSqliteStore({ path: join(home.path, "state.db"), clock: systemClock, log })
  try {
    const id = await store.latestSession(["cli"])
    if (id === undefined) throw new Error("no session was stored")
    const messages = await store.messages(id)
    return { roles: messages.map(({ role }) => role), isEnded: (await store.session(id))?.endReason !== null }
  } finally {
    await store.close()
  }
}
