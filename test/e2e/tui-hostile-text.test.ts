import { expect, test } from "vitest"

import { callsTool, refuses, repeat, reply, says } from "../support/model-server/turn.ts"
import type { FullChat } from "./full-chat.ts"
import { IDLE, normalised, openFullChat } from "./full-chat.ts"
import { hermes, NO_SANDBOX } from "./hermes-process.ts"

/** Every kind of sequence. EVIL follows each of them. */
const SEQUENCES = [
  "\u001B]0;owned\u0007",
  "\u001B]52;c;ZXZpbA==\u001B\\",
  "\u001B[2J\u001B[1;1H",
  "\u001B[31m",
  "\u001B[8m\u001B[?25l",
  "\u001B[6n",
  "\u001Bc",
  "\u001BP$qm\u001B\\",
  "\u009B31m",
  "\u009D0;owned\u009C",
  "\u202E",
  "\u2066",
  "\b\b\b",
  "\u0007",
  "\u001B[?1049h",
]
const hostile = (name: string): string => `${name}${SEQUENCES.map((sequence) => `${sequence}EVIL`).join("")}end`
const harmless = (name: string): string => `${name}${SEQUENCES.map(() => "EVIL").join("")}end`

/** What none of the texts may bring to the terminal; Hermes itself sends nothing of it. */
const INTERPRETED = new RegExp(
  String.raw`\u{1B}\](?:0;owned|52)|\u{1B}\[(?:6n|8m|1;1H)|\u{1B}P|[\u{80}-\u{9F}\u{202A}-\u{202E}\u{2066}-\u{2069}\u{7}\u{8}]`,
  "u",
)

/** A conversation with the text in everything that comes from elsewhere. Returns its screens. */
async function converse(text: (name: string) => string): Promise<readonly string[]> {
  await using chat = await openFullChat(
    [
      reply({ reasoning: text("thought"), text: Array.from(text("streamed")) }),
      says([
        `# ${text("heading")}\n\n\`${text("code")}\`\n\n\`\`\`ts\n${text("block")}\n\`\`\`\n\n| ${text("cell")} | b |\n|--|--|\n| 1 | 2 |\n`,
      ]),
      callsTool("write_file", { path: `${text("path")}.txt`, content: `${text("content")}\n` }),
      callsTool("terminal", { command: "cat *.txt; exit 3" }),
      callsTool("search_files", { pattern: text("pattern"), path: text("missing") }),
      says("done"),
      repeat(refuses(400, text("error"))),
    ],
    { settings: `${NO_SANDBOX}display:\n  show_reasoning: true\n`, rows: 60 },
  )
  const screens: string[] = []
  const turn = async (message: string, shows: RegExp): Promise<void> => {
    chat.send(message)
    await chat.waitForScreen(shows)
    await chat.waitForScreen(IDLE)
    // The sequences are tokens of the model too.
    screens.push(normalised(chat).replace(/ ⚕ test-model.*/u, ""))
  }
  await turn("one", /streamed/u)
  await turn("two", /cell/u)
  await turn("three", /done/u)
  await turn("four", /error/u)
  expect(chat.output).not.toMatch(INTERPRETED)
  return screens
}

/** The rows that show the name of a file or a search; they are cut, so only their beginning is compared. */
const NAMED = /^(┊ .*?(?:path|pattern)|a\/path|\S*path).*EVIL.*$/gmu

test("answers, output and errors look as if the sequences were not in them, and names show them escaped", async () => {
  const [screens, expected] = [await converse(hostile), await converse(harmless)]
  const unnamed = (each: readonly string[]): readonly string[] => each.map((screen) => screen.replaceAll(NAMED, "$1"))
  expect(unnamed(screens)).toEqual(unnamed(expected))
  expect(screens[2]).toContain(String.raw`path\u{1B}]0;owned\u{7}EVIL`)
})

test("questions, lists, titles and completions with sequences in them", async () => {
  const text = hostile("name")
  await using chat = await openFullChat(
    [
      says("Stored."),
      callsTool("clarify", { question: text, choices: [text, "b"] }),
      callsTool("terminal", { command: `rm -r 'build${text}'` }),
      reply({ calls: [{ name: `no${text}`, input: { [text]: text } }] }),
      says("Over."),
    ],
    {
      settings: NO_SANDBOX,
      workFiles: { [`zfile${text.replaceAll("/", "").replaceAll("\u0000", "")}.md`]: "x" },
    },
  )
  await hermes(chat.home, ["-z", `find ${text}`])
  const [id = ""] = /\d{8}_\d{6}_[0-9a-f]+/u.exec((await hermes(chat.home, ["sessions", "list"])).stdout) ?? []
  await hermes(chat.home, ["sessions", "rename", id, text])
  chat.send("ask")
  await chat.waitForScreen("The model asks")
  expectIntact(chat)
  chat.press("escape")
  await chat.waitForScreen("Esc denies")
  expectIntact(chat)
  chat.press("escape")
  await chat.waitFor("Over.")
  await chat.waitForScreen(IDLE)
  chat.type("@zfile")
  await chat.waitForScreen(String.raw`zfilename\u{1B}]0;owned`)
  expectIntact(chat)
  chat.press("tab")
  chat.press("ctrl+c")
  await chat.waitForScreen(IDLE)
  chat.send("/sessions")
  await chat.waitForScreen("Esc leaves")
  await chat.waitUntilGone("Loading…")
  expectIntact(chat)
  chat.press("escape")
  await chat.waitForScreen(IDLE)
})

/** The rows around the text are where they belong. */
function expectIntact(chat: FullChat): void {
  expect(chat.output).not.toMatch(INTERPRETED)
  expect(chat.screen().filter((row) => row.startsWith(" ⚕ test-model │"))).toHaveLength(1)
}

test("very long lines in an answer and in the output of a command", async () => {
  await using chat = await openFullChat(
    [
      callsTool("terminal", { command: "head -c 10000000 /dev/zero | tr '\\0' x; exit 3" }),
      says([`${"y".repeat(1_000_000)}\n\nlast words`]),
    ],
    { settings: NO_SANDBOX },
  )
  chat.send("go")
  await expect.poll(() => chat.screen(), { timeout: 20_000 }).toContain("last words")
  await chat.waitForScreen(IDLE)
  expectIntact(chat)
})
