import { writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { expect, test } from "vitest"

import { formatLogLine } from "../../src/base/log-line.ts"
import { textColumns } from "../../src/terminal/text-width.ts"
import { createFakeCommand } from "../support/fake-command.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, NO_SANDBOX, settingsFor } from "./hermes-process.ts"

async function linesOnTerminal(
  home: TemporaryHome,
  args: readonly string[],
  size: { readonly columns: number; readonly env?: Readonly<Record<string, string>> },
): Promise<readonly string[]> {
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args,
    env: { ...home.env, ...size.env },
    cwd: home.workdir,
    columns: size.columns,
  })
  expect((await terminal.exit).code).toBe(0)
  return terminal.screen()
}

test("tables fit the terminal, COLUMNS narrows them, and a pipe gets everything", async () => {
  await using model = await startModelServer([says("Red ones."), says("はい。")])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const long = "which roses should I plant on the shady north side of the house this autumn"
  await hermes(home, ["-z", long])
  await hermes(home, ["-z", "日本語で質問してもいいですか、とても長い質問なのですが、大丈夫でしょうか"])
  for (const columns of [80, 60]) {
    const lines = await linesOnTerminal(home, ["sessions", "list"], { columns })
    expect(lines, String(columns)).toHaveLength(3)
    for (const line of lines) expect(textColumns(line)).toBeLessThanOrEqual(columns)
    expect(lines[0]).toMatch(/ID$/)
    for (const line of lines.slice(1)) expect(line).toMatch(/…  .* \d{8}_\d{6}_[0-9a-f]{6}$/)
  }
  const narrow = await linesOnTerminal(home, ["sessions", "list"], { columns: 100, env: { COLUMNS: "64" } })
  for (const line of narrow) expect(textColumns(line)).toBeLessThanOrEqual(64)
  const { stdout } = await hermes(home, ["sessions", "list"], { env: { COLUMNS: "40" } })
  expect(stdout).not.toContain("…")
})

test("a search groups messages by conversation and shows tool results as text", async () => {
  await using model = await startModelServer([
    callsTool("terminal", { command: "printf 'first line\\nthe zeppelin flies\\n'" }),
    says("It mentions a zeppelin."),
    says("A zeppelin is an airship."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  await hermes(home, ["-z", "read the news"])
  await hermes(home, ["-z", "what is a zeppelin"])
  const { stdout, code } = await hermes(home, ["sessions", "search", "zeppelin"])
  expect(code).toBe(0)
  const groups = stdout.trimEnd().split("\n\n")
  expect(groups).toHaveLength(2)
  for (const group of groups) expect(group.split("\n")[0]).toMatch(/\S {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}\d{8}_\d{6}_/)
  const news = groups.find((group) => group.includes("It mentions")) ?? ""
  expect(news.split("\n").slice(1)).toEqual([
    "  assistant  It mentions a zeppelin.",
    expect.stringMatching(/^ {2}assistant {2}→ terminal command: printf /),
    "  terminal   first line the zeppelin flies exit_code: 0",
  ])
})

test("filters of logs hide and show whole entries", async () => {
  await using home = await temporaryHome({ files: { "logs/keep": "" } })
  const entry = (minutes: number, level: "INFO" | "ERROR", message: string): string =>
    formatLogLine({ time: Date.now() - minutes * 60_000, level, session: undefined, logger: "agent", message })
  const [old, failed, fine] = [
    entry(600, "ERROR", "old\n    at old.ts:1"),
    entry(5, "ERROR", "failed\n    at new.ts:1"),
    entry(1, "INFO", "fine\n  more"),
  ]
  writeFileSync(join(home.path, "logs/agent.log"), `${old}\n${failed}\n${fine}\n`)
  expect((await hermes(home, ["logs", "--since", "1h"])).stdout).toBe(`${failed}\n${fine}\n`)
  expect((await hermes(home, ["logs", "--level", "error"])).stdout).toBe(`${old}\n${failed}\n`)
  expect((await hermes(home, ["logs", "--level", "rubbish"])).code).toBe(2)
})

test("-z prints only the answer: a note about a failed write goes to stderr, and JSON has it in a field", async () => {
  const script = [
    callsTool("write_file", { path: "/proc/nowhere/no.txt", content: "x" }),
    says("All written."),
    callsTool("write_file", { path: "/proc/nowhere/no.txt", content: "x" }),
    says("All written."),
  ]
  await using model = await startModelServer(script)
  await using home = await temporaryHome({ config: settingsFor(model) })
  const { stdout, stderr } = await hermes(home, ["-z", "write it", "--yolo"])
  expect(stdout).toBe("All written.\n")
  expect(stderr).toContain("Note: a change to these files failed in this turn: `/proc/nowhere/no.txt`")
  const json = await hermes(home, ["-z", "write it", "--yolo", "--output-format", "json"])
  expect(JSON.parse(json.stdout)).toMatchObject({
    final_text: "All written.",
    notes: [expect.stringContaining("/proc/nowhere/no.txt")],
  })
})

test("a linter that cannot run is skipped and not reported as an error in the file", async () => {
  const complaint =
    "echo 'error: rustup could not choose a version of rustfmt to run, because one was not specified explicitly, and no default is configured.' >&2; exit 1"
  await using model = await startModelServer([
    callsTool("write_file", { path: "main.rs", content: "fn main() {}\n" }),
    says("Done."),
  ])
  await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
  const path = ["cargo", "rustc", "rustfmt"].map((name) => createFakeCommand(home.userHome, name, complaint).directory)
  const env = { PATH: [...path, home.env["PATH"] ?? ""].join(delimiter) }
  expect((await hermes(home, ["-z", "write rust"], { env })).code).toBe(0)
  const result = model.toolResults(1).at(-1)?.text ?? ""
  expect(result).toContain('"lint":{"status":"skipped","message":"rustfmt is not usable here"}')
  expect(result).not.toContain("rustup")
})

test("hermes memory shows what is remembered", async () => {
  await using home = await temporaryHome({ files: { "memories/USER.md": "prefers short answers\n§\nlives in Ghent" } })
  expect((await hermes(home, ["memory"])).stdout).toContain(
    "2 entries\n  - prefers short answers\n  - lives in Ghent\n",
  )
})

test("a flag that resembles no other gets no suggestion", async () => {
  await using home = await temporaryHome()
  const { code, stderr } = await hermes(home, ["--foo"])
  expect([code, stderr]).toEqual([2, "Unknown flag `--foo`. See `hermes --help`.\n"])
})
