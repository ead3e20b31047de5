import { describe, expect, test } from "vitest"
import { COMMAND_TREE } from "../command-table/command-tree.ts"
import type { CommandTree, Flag } from "../command.ts"
import { parseCommandLine } from "./parse-command-line.ts"
import { fc } from "../../../test/support/property.ts"

/** The real tree with the flags of later releases available, because parsing does not depend on the release. */
const TREE: CommandTree = {
  ...COMMAND_TREE,
  commands: COMMAND_TREE.commands.map((command) => ({ ...command, flags: (command.flags ?? []).map(available) })),
  runFlags: COMMAND_TREE.runFlags.map(available),
}

function available(flag: Flag): Flag {
  return { ...flag, later: false }
}

/** Parses a command line into plain data: the path, the given flags and the other words. */
function parse(line: string | readonly string[], tree = TREE): unknown {
  const words = typeof line === "string" ? line.split(" ").filter((word) => word !== "") : line
  const parsed = parseCommandLine(words, tree)
  if (parsed.kind !== "run") return parsed
  const flags: Record<string, unknown> = {}
  for (const flag of [...(parsed.command.flags ?? []), ...COMMAND_TREE.commonFlags, ...COMMAND_TREE.runFlags]) {
    if (!parsed.flags.has(flag.name)) continue
    flags[flag.name] = flag.repeatable === true ? parsed.flags.texts(flag.name) : (parsed.flags.text(flag.name) ?? true)
  }
  return { path: parsed.path.join(" "), flags, words: parsed.positionals }
}

describe("commands, flags and arguments", () => {
  test.each<[string | readonly string[], { path: string; flags: object; words: readonly string[] }]>([
    ["", { path: "chat", flags: {}, words: [] }],
    ["chat", { path: "chat", flags: {}, words: [] }],
    ["chat hello there", { path: "chat", flags: {}, words: ["hello", "there"] }],
    [["fix the bug"], { path: "chat", flags: {}, words: ["fix the bug"] }],
    [["-m", "a", "fix the bug", "now"], { path: "chat", flags: { model: "a" }, words: ["fix the bug", "now"] }],
    [["--", "sessions"], { path: "chat", flags: {}, words: ["sessions"] }],
    [["-c", "--", "go on"], { path: "chat", flags: { continue: true }, words: ["go on"] }],
    [["-z", "list the files"], { path: "chat", flags: { oneshot: "list the files" }, words: [] }],
    ["-m a chat -m b", { path: "chat", flags: { model: "b" }, words: [] }],
    ["-m a chat", { path: "chat", flags: { model: "a" }, words: [] }],
    ["-m a sessions list", { path: "sessions list", flags: { model: "a" }, words: [] }],
    ["--model=x/y=z chat", { path: "chat", flags: { model: "x/y=z" }, words: [] }],
    ["-mgpt", { path: "chat", flags: { model: "gpt" }, words: [] }],
    ["-m=gpt", { path: "chat", flags: { model: "gpt" }, words: [] }],
    [["chat", "-Qq", "hi"], { path: "chat", flags: { query: "hi", quiet: true }, words: [] }],
    [["-Qvz", "hi"], { path: "chat", flags: { oneshot: "hi", quiet: true, verbose: true }, words: [] }],
    ["-q - --output-format json", { path: "chat", flags: { query: "-", "output-format": "json" }, words: [] }],
    [["-z", "- one\n- two"], { path: "chat", flags: { oneshot: "- one\n- two" }, words: [] }],
    [["-z", "-5 + 3"], { path: "chat", flags: { oneshot: "-5 + 3" }, words: [] }],
    [["-z", ""], { path: "chat", flags: { oneshot: "" }, words: [] }],
    ["chat --image a --image b", { path: "chat", flags: { image: ["a", "b"] }, words: [] }],
    ["chat --max_turns 3", { path: "chat", flags: { "max-turns": "3" }, words: [] }],
    ["sessions ls", { path: "sessions list", flags: {}, words: [] }],
    ["sessions rename abc My new title", { path: "sessions rename", flags: {}, words: ["abc", "My", "new", "title"] }],
    ["sessions export -", { path: "sessions export", flags: {}, words: ["-"] }],
    ["config", { path: "config", flags: {}, words: [] }],
    ["config --json", { path: "config", flags: { json: true }, words: [] }],
    ["config set agent.max_turns -5", { path: "config set", flags: {}, words: ["agent.max_turns", "-5"] }],
    ["config set a -- --b", { path: "config set", flags: {}, words: ["a", "--b"] }],
    ["sessions search -- -x list", { path: "sessions search", flags: {}, words: ["-x", "list"] }],
    ["sessions search list", { path: "sessions search", flags: {}, words: ["list"] }],
    ["logs errors -n 5 -f", { path: "logs", flags: { lines: "5", follow: true }, words: ["errors"] }],
    ["logs -n5", { path: "logs", flags: { lines: "5" }, words: [] }],
    ["backup -q -l before", { path: "backup", flags: { quick: true, label: "before" }, words: [] }],
    ["logs --no-color -v", { path: "logs", flags: { "no-color": true, verbose: true }, words: [] }],
    ["--no-color logs", { path: "logs", flags: { "no-color": true }, words: [] }],
  ])("%j", (line, expected) => {
    expect(parse(line)).toEqual(expected)
  })
})

describe("session names with several words after -c and -r", () => {
  test.each<[string, object]>([
    ["-c", { path: "chat", flags: { continue: true }, words: [] }],
    ["-c Pokemon Agent Dev", { path: "chat", flags: { continue: "Pokemon Agent Dev" }, words: [] }],
    ["-c Pokemon Agent --yolo", { path: "chat", flags: { continue: "Pokemon Agent", yolo: true }, words: [] }],
    ["-c Pokemon chat", { path: "chat", flags: { continue: "Pokemon" }, words: [] }],
    ["chat -c My work -q hi", { path: "chat", flags: { continue: "My work", query: "hi" }, words: [] }],
    ["--continue=My -q hi", { path: "chat", flags: { continue: "My", query: "hi" }, words: [] }],
    ["-r My long title -m x", { path: "chat", flags: { resume: "My long title", model: "x" }, words: [] }],
    ["-r sessions", { path: "chat", flags: { resume: "sessions" }, words: [] }],
    // A command word ends the name if the rest is valid for that command …
    ["-c sessions list", { path: "sessions list", flags: { continue: true }, words: [] }],
    ["-c my config", { path: "config", flags: { continue: "my" }, words: [] }],
    // … and is part of the name otherwise.
    ["-c sessions of march", { path: "chat", flags: { continue: "sessions of march" }, words: [] }],
    ["-c chat about cats", { path: "chat", flags: { continue: "chat about cats" }, words: [] }],
    ["-c logs -z hi", { path: "chat", flags: { continue: "logs", oneshot: "hi" }, words: [] }],
    ["chat -c the logs", { path: "chat", flags: { continue: "the logs" }, words: [] }],
  ])("%s", (line, expected) => {
    expect(parse(line)).toEqual(expected)
  })
})

describe("mistakes are reported in one sentence", () => {
  test.each<[string | readonly string[], string]>([
    ["sesions list", "Unknown command `sesions`. Did you mean `sessions`? See `hermes --help`."],
    [
      "frobnicate",
      "Unknown command `frobnicate`. Write a prompt in quotes, or after `hermes chat`. See `hermes --help`.",
    ],
    ["helo", "Unknown command `helo`. Did you mean `help`? See `hermes --help`."],
    ["sessions lst", "`hermes sessions` has no subcommand `lst`. Did you mean `list`? See `hermes sessions --help`."],
    ["--foo", "Unknown flag `--foo`. See `hermes --help`."],
    ["--modle x", "Unknown flag `--modle`. Did you mean `--model`? See `hermes --help`."],
    ["sessions list --lim 3", "Unknown flag `--lim`. Did you mean `--limit`? See `hermes sessions list --help`."],
    ["sessions list -z", "Unknown flag `-z`. See `hermes sessions list --help`."],
    ["-Qx", "Unknown flag `-x`. See `hermes --help`."],
    ["-z", "`-z` needs a value."],
    ["-z --model x", "`-z` needs a value; write `--oneshot=VALUE` if the value starts with a dash."],
    ["-z -v", "`-z` needs a value; write `--oneshot=VALUE` if the value starts with a dash."],
    ["--plan --yolo", "`--plan` and `--yolo` cannot be used together."],
    ["--yolo chat --plan", "`--plan` and `--yolo` cannot be used together."],
    ["--plan --permission-profile auto", "`--plan` and `--permission-profile` cannot be used together."],
    ["-z a -q b", "`--oneshot` and `--query` cannot be used together."],
    ["-c a -r b", "`--resume` and `--continue` cannot be used together."],
    ["--yolo=1", "`--yolo` takes no value."],
    ["chat --max-turns many", "`--max-turns` needs a whole number, not `many`."],
    ["chat --max-turns 0", "`--max-turns` must be at least 1, not 0."],
    ["chat --max-turns 1.5", "`--max-turns` needs a whole number, not `1.5`."],
    ["chat --output-format xml", "`--output-format` must be one of text, json, stream-json, not `xml`."],
    ["completion tcsh", "SHELL must be one of bash, zsh, fish, not `tcsh`."],
    ["config get", "`hermes config get` needs KEY (setting, for example agent.max_turns)."],
    ["config set a", "`hermes config set` needs VALUE (true, 5, 0.5, null, text, or JSON)."],
    ["config path extra", "`hermes config path` does not take `extra`. See `hermes config path --help`."],
    ["-z hi sessions list", "`--oneshot` is a flag of `hermes chat` and cannot be used with `hermes sessions list`."],
    ["-q hi logs", "`--query` is a flag of `hermes chat` and cannot be used with `hermes logs`."],
    ["help nothing", "Unknown command `nothing`. See `hermes --help`."],
  ])("%j", (line, message) => {
    expect(parse(line)).toEqual({ kind: "usage", message })
  })
})

describe("command lines that run no command", () => {
  test.each<[string, object]>([
    ["--help", { kind: "help", path: [] }],
    ["-h", { kind: "help", path: [] }],
    ["help", { kind: "help", path: [] }],
    ["help sessions list", { kind: "help", path: ["sessions", "list"] }],
    [
      "sessions ls --bogus=1 --help",
      { kind: "usage", message: "Unknown flag `--bogus`. See `hermes sessions list --help`." },
    ],
    ["sessions ls -h", { kind: "help", path: ["sessions", "list"] }],
    ["cron --help", { kind: "help", path: ["cron"] }],
    ["--version", { kind: "version" }],
    ["-m x -V", { kind: "version" }],
    ["cron list", { kind: "unavailable", what: "hermes cron list" }],
    ["cron", { kind: "unavailable", what: "hermes cron" }],
    ["kanban --board b list --anything", { kind: "unavailable", what: "hermes kanban list" }],
    ["chat --input-format stream-json", { kind: "unavailable", what: "--input-format" }],
    ["login", { kind: "replaced", path: ["login"], by: "hermes auth add PROVIDER" }],
    ["acp --version", { kind: "unavailable", what: "hermes acp" }],
  ])("%s", (line, outcome) => {
    expect(parse(line, COMMAND_TREE)).toEqual(outcome)
  })
})

test("parsing never throws or hangs", () => {
  const vocabulary = fc.constantFrom(
    ...COMMAND_TREE.commands.flatMap((command) => [
      command.name,
      ...(command.subcommands ?? []).map((entry) => entry.name),
    ]),
    ...[...COMMAND_TREE.runFlags, ...COMMAND_TREE.commonFlags].flatMap((flag) => [
      `--${flag.name}`,
      `--${flag.name}=x`,
      `-${flag.short ?? "x"}`,
    ]),
    "--",
    "-",
    "",
    "help",
    "-Qvz",
    "-5",
    "- item",
    "My",
    "words",
    "=",
    "--=",
    "-é",
    "--\u0000",
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(vocabulary, fc.string()), { maxLength: 8 }), (words) => {
      const { kind } = parseCommandLine(words, COMMAND_TREE)
      expect(["run", "help", "version", "unavailable", "replaced", "usage"]).toContain(kind)
    }),
    { numRuns: 2000 },
  )
})

test("reading a flag that the command does not declare throws", () => {
  const parsed = parseCommandLine(["logs"], COMMAND_TREE)
  expect(() => (parsed.kind === "run" ? parsed.flags.has("query") : undefined)).toThrow("--query")
})

test("returns numbers as numbers", () => {
  const parsed = parseCommandLine(["logs", "-n", "12"], COMMAND_TREE)
  expect(parsed.kind === "run" && parsed.flags.number("lines")).toBe(12)
})
