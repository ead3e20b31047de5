import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, refuses, repeat, reply, says } from "../support/model-server/turn.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, NO_SANDBOX, settingsFor } from "./hermes-process.ts"

/** Every kind of sequence, also the colours that Hermes itself uses. EVIL follows each of them. */
const HOSTILE = [
  "start",
  "\u001B]0;owned\u0007EVIL",
  "\u001B]52;c;ZXZpbA==\u001B\\EVIL",
  "\u001B[2J\u001B[1;1HEVIL",
  "\u001B[31mEVIL\u001B[1;36mEVIL\u001B[2mEVIL\u001B[8mEVIL",
  "\u001B[6nEVIL\u001BcEVIL\u001BP$qm\u001B\\EVIL",
  "\u009B31mEVIL\u009D0;owned\u009CEVIL",
  "\u202EEVIL\u2066EVIL\bEVIL\u0007",
  "end",
].join("")

/** What Hermes itself may send: its styles, cursor movements within its live rows, and the modes of its line editor. */
const OWN_SEQUENCES = new RegExp(
  String.raw`\u{1B}\[(?:0|1|2|22|31|32|36|1;36)m|\u{1B}\[(?:\d{1,3}[AC]|[JK]|\?2004[hl])`,
  "gu",
)

const FOREIGN_STYLE = new RegExp(String.raw`\u{1B}\[[\d;]*mEVIL`, "u")
/** Controls other than tab, line feed and carriage return, and the marks that change the direction of text. */
const INTERPRETED = new RegExp(String.raw`(?![\t\n\r])[\p{Cc}\u{202A}-\u{202E}\u{2066}-\u{2069}]`, "u")

/** No byte of a sequence from outside reaches the terminal, and no style of Hermes stands where the text had one. */
function expectHarmless(output: string, shows: string): void {
  expect(output).toContain(shows)
  expect(output).not.toMatch(FOREIGN_STYLE)
  expect(output).not.toMatch(/owned|ZXZpbA|\[2J|\[6n|\$qm/u)
  expect(output.replaceAll(OWN_SEQUENCES, "")).not.toMatch(INTERPRETED)
}

/** Everything the command prints on a terminal, including escape sequences. */
async function printed(
  home: TemporaryHome,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args,
    env: { ...home.env, ...env },
    cwd: home.workdir,
    columns: 400,
  })
  await terminal.exit
  return terminal.output
}

const CHARACTERS = Array.from(HOSTILE)
const WRITES = callsTool("write_file", { path: "a.txt", content: `${HOSTILE}\n` })
const FAILS = callsTool("terminal", { command: "cat a.txt; exit 3" })
const UNKNOWN = reply({ calls: [{ name: `no${HOSTILE}tool`, input: {} }] })

test.each<[name: string, args: readonly string[], script: readonly ScriptEntry[], shows: string]>([
  ["an answer with -z", ["-z", "hi"], [says([HOSTILE])], "start"],
  ["an answer with -Q", ["chat", "-Q", "-q", "hi"], [says([HOSTILE])], "start"],
  ["a streamed answer", ["-q", "hi"], [says(CHARACTERS)], "start"],
  ["an answer in one piece", ["-q", "hi"], [says([HOSTILE])], "start"],
  ["JSON", ["-q", "hi", "--output-format", "json"], [says([HOSTILE])], "start"],
  ["a stream of JSON", ["-q", "hi", "--output-format", "stream-json"], [says([HOSTILE])], "start"],
  ["an error of the server with -z", ["-z", "hi"], [repeat(refuses(400, HOSTILE))], "hermes -z:"],
  ["an error of the server with -q", ["-q", "hi"], [repeat(refuses(400, HOSTILE))], "Error:"],
  ["a retried error", ["-q", "hi"], [refuses(429, HOSTILE, { "retry-after": "0" }), says("ok")], "ok"],
  ["the diff of a file", ["-q", "hi"], [WRITES, says("ok")], "start"],
  ["the output of a failed command", ["-q", "hi"], [WRITES, FAILS, says("ok")], "start"],
  ["the name of a tool", ["-q", "hi"], [UNKNOWN, says("ok")], "ok"],
])("%s", async (_name, args, script, shows) => {
  for (const env of [{}, { NO_COLOR: "1" }]) {
    await using model = await startModelServer(script)
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
    const output = await printed(home, args, env)
    if (args.includes("--output-format")) expect(output.replaceAll(OWN_SEQUENCES, "")).not.toMatch(INTERPRETED)
    else expectHarmless(output, shows)
  }
})

test("the arguments of a tool are shown with their control characters made visible", async () => {
  await using model = await startModelServer([callsTool("read_file", { path: HOSTILE }), says("ok")])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  const output = await printed(home, ["-q", "hi"], {})
  expect(output).toContain("read_file start\\u{1B}]0;owned\\u{7}")
  expect(output).not.toMatch(FOREIGN_STYLE)
  expect(output.replaceAll(OWN_SEQUENCES, "")).not.toMatch(INTERPRETED)
})

/** YAML has no control characters in it, only their escapes. */
function escaped(text: string): string {
  return JSON.stringify(text).replaceAll(/[\u{7F}-\u{FFFF}]/gu, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  })
}

test("stored text, settings, files and arguments", async () => {
  await using model = await startModelServer([repeat(says([HOSTILE]))])
  await using home = await temporaryHome({
    config: settingsFor(model, `agent:\n  system_prompt: ${escaped(HOSTILE)}\n`),
    files: { "memories/MEMORY.md": `${HOSTILE}\n`, "logs/errors.log": `${HOSTILE}\n` },
  })
  await hermes(home, ["-z", `find ${HOSTILE}`], { stdin: "inherit-null" })
  const [, id = ""] = /(\d{8}_\d{6}_[0-9a-f]+)/u.exec(await printed(home, ["sessions", "list"])) ?? []
  const table: readonly (readonly [args: readonly string[], shows: string])[] = [
    [["sessions", "list"], "find"],
    [["sessions", "rename", id, "name \u001B[31mEVIL\u001B]0;owned\u0007EVIL\u202EEVIL"], "name"],
    [["sessions", "show", id], "start"],
    [["sessions", "search", "find"], "find"],
    [["sessions", "show", HOSTILE], "start"],
    [["memory", "status"], "start"],
    [["logs", "errors"], "start"],
    [["config", "get", "agent.system_prompt"], "start"],
    [["config", "show"], "model"],
    [["config", "get", HOSTILE], "start"],
    [["doctor"], "Hermes"],
    [[`bad${HOSTILE}`], "bad"],
    [["--resume", HOSTILE], "start"],
    [["-z", "hi", "--image", "start\u001B[31mEVIL\u001B]0;owned\u0007EVIL\u202EEVIL"], "start"],
    [["-z", "hi", "-m", `model${HOSTILE}`], "start"],
  ]
  const problems: string[] = []
  for (const [args, shows] of table) {
    const output = await printed(home, args)
    try {
      expectHarmless(output, shows)
    } catch (error) {
      problems.push(`hermes ${JSON.stringify(args)} printed ${JSON.stringify(output)}: ${String(error)}`)
    }
  }
  expect(problems).toEqual([])
})

test("a conversation: answers, questions, notices of background processes and what commands write to the terminal", async () => {
  const clarifies = callsTool("clarify", { question: HOSTILE, choices: [HOSTILE, "b"] })
  const direct = callsTool("terminal", { command: "cat a.txt > /dev/tty; cat a.txt > /proc/$PPID/fd/1; true" })
  const background = callsTool("terminal", { command: "cat a.txt; exit 3", background: true, notify_on_complete: true })
  await using model = await startModelServer([WRITES, direct, clarifies, background, repeat(says(CHARACTERS))])
  await using home = await temporaryHome({ config: settingsFor(model) })
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args: ["--permission-profile", "full-auto"],
    env: home.env,
    cwd: home.workdir,
    columns: 600,
  })
  await terminal.waitFor(/^you> /mu)
  terminal.type("go")
  terminal.press("enter")
  await terminal.waitFor("Number or answer:")
  expect(terminal.output).toContain("The model asks")
  terminal.type("1")
  terminal.press("enter")
  await terminal.waitFor(/(?:EVILend[^]*){3}^you> $/mu)
  const visible = terminal.output.replaceAll(/^ {2}[|!\d] ?.*$/gmu, "")
  expect(visible.replaceAll(OWN_SEQUENCES, "")).not.toMatch(INTERPRETED)
  expect(visible).not.toMatch(FOREIGN_STYLE)
})

test("a pipe gets the answer as it is", async () => {
  await using model = await startModelServer([says([HOSTILE])])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const { stdout } = await hermes(home, ["-z", "hi"], { stdin: "inherit-null" })
  expect(stdout).toBe(`${HOSTILE}\n`)
})
