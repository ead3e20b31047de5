import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { mutateQuoting, plainLine } from "../../../test/support/mutate-quoting.ts"
import { seededRandom } from "../../../test/support/seeded-random.ts"
import { INITIAL_SHELL_STATE, understandCommand } from "../shell/understand-command.ts"
import { classifyCommand } from "./classify-command.ts"
import type { CommandFacts, CommandVerdict } from "./command-verdict.ts"
import { mentionedPaths } from "./command-paths.ts"
import { isReadOnly } from "./read-only.ts"

const FACTS: CommandFacts = {
  userHome: "/home/alice",
  hermesHome: "/home/alice/.hermes",
  hermesRoot: "/home/alice/.hermes",
  workspaceRoot: "/w",
  realPath: (path) => path,
  hasSudoPassword: false,
}

interface Row {
  readonly command: string
  readonly before?: readonly string[]
  readonly expect?: "hard" | "stopped"
}

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/fixtures/permissions/${name}`, import.meta.url), "utf8")
const rows = (name: string): readonly Row[] =>
  fixture(name)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row)

function judge({ command, before = [] }: Row): CommandVerdict {
  let state = INITIAL_SHELL_STATE("/w")
  for (const line of before) state = understandCommand(line, state, FACTS).after
  return classifyCommand(understandCommand(command, state, FACTS), command, FACTS)
}

test("every attack line is stopped, and every ruinous one is refused", () => {
  const attacks = rows("attack-lines.jsonl")
  expect(attacks.length).toBeGreaterThan(450)
  const passed = attacks.filter((row) => {
    const { level } = judge(row)
    return row.expect === "hard" ? level !== "hardline" : level === "ok"
  })
  expect(passed).toEqual([])
})

test("everyday lines are not asked about", () => {
  const everyday = rows("everyday-lines.jsonl")
  expect(everyday.length).toBeGreaterThan(220)
  const stopped = everyday
    .filter((row) => judge(row).level !== "ok")
    .map(({ command }) => [command, judge({ command }).findings[0]?.key])
  expect(stopped).toEqual([])
})

const TEMPLATES = JSON.parse(fixture("hard-templates.json")) as readonly string[]

test.each(TEMPLATES)("1,000 ways to write %j are refused", (template) => {
  const random = seededRandom(template.length)
  expect(judge({ command: plainLine(template) }).level).toBe("hardline")
  const escaped = Array.from({ length: 1000 }, () => mutateQuoting(template, random)).filter(
    (command) => judge({ command }).level !== "hardline",
  )
  expect(escaped).toEqual([])
})

test("parts of lines, joined at random, are judged without an exception", () => {
  const random = seededRandom(12)
  const lines = [...rows("attack-lines.jsonl"), ...rows("everyday-lines.jsonl")].map(({ command }) => command)
  const part = (): string => {
    const line = lines[Math.floor(random() * lines.length)] ?? ""
    const start = Math.floor(random() * line.length)
    return line.slice(start, start + Math.floor(random() * 20))
  }
  for (let index = 0; index < 5000; index += 1) {
    const command = `${part()}${part()}${part()}`
    const understood = understandCommand(command, INITIAL_SHELL_STATE("/w"), FACTS)
    expect(() => [
      classifyCommand(understood, command, FACTS),
      mentionedPaths(understood),
      isReadOnly(understood),
    ]).not.toThrow()
  }
})

test.each([
  ";",
  "rm ",
  "rm -",
  "rm -r ",
  "/",
  "sudo -",
  "curl ",
  "find x ",
  "git push ",
  "''",
  ":(",
  "a/",
  "\\",
  "dd ",
  "delete from x ",
  "f(){f|f&};",
  "sed -i ",
  "tee x ",
  "(",
  "$(",
  "rm -rf /*[!a]",
  "kill $(cat [h",
])("a long line of %j is judged in bounded time", (piece) => {
  const command = piece.repeat(50_000 / piece.length)
  const understood = understandCommand(command, INITIAL_SHELL_STATE("/w"), FACTS)
  const started = process.cpuUsage() // CPU time, because a busy machine delays everything
  expect(classifyCommand(understood, command, FACTS).level).toBeDefined()
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(1500)
})
