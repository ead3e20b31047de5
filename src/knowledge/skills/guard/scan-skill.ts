import { lstatSync, readdirSync, readFileSync, realpathSync, type Stats } from "node:fs"
import { extname, join, relative, sep } from "node:path"

import { isInside } from "../../../base/is-inside.ts"
import { takeCodePoints } from "../../../base/text.ts"
import { invisibleLine } from "../../threat-scan.ts"
import { SKILL_FILE } from "../skill.ts"
import { lineOf, type JudgeSnippets } from "./command-risk.ts"
import { findSnippets } from "./command-snippets.ts"
import { GUARD_PATTERNS } from "./guard-patterns.ts"
import { verdictOf, type GuardFinding, type GuardVerdict, type Severity } from "./guard-finding.ts"
import { readIgnoreFile } from "./skill-ignore.ts"

export interface GuardReport {
  readonly verdict: GuardVerdict
  /** The most severe first. */
  readonly findings: readonly GuardFinding[]
  /** The files of the skill without the ignored ones, relative to it. */
  readonly files: readonly string[]
}

const EXECUTABLES = new Set("exe dll so dylib bin dat com msi dmg app deb rpm".split(" "))
const SCRIPTS = new Set("py sh bash js ts rb pl php r jl".split(" "))
const MAX_FILES = 50
const MAX_TOTAL_BYTES = 1024 * 1024
const MAX_FILE_BYTES = 256 * 1024
/** A skill with more is dangerous whatever is in it, and is not read further. */
const MAX_VISITED = 2000
const MAX_SCANNED_BYTES = 8 * 1024 * 1024
const MAX_MATCH_CHARS = 120
const MAX_FINDINGS = 500
const PROBED_BYTES = 8192
/** `env|` */
const SHORTEST_MATCH = 4

/** Scans a directory for text, commands and files that a skill should not have. Reads nothing outside of it. */
export function scanSkill(directory: string, judge: JudgeSnippets): GuardReport {
  const { files, findings } = listFiles(directory)
  let remaining = MAX_SCANNED_BYTES
  for (const { path, stats } of files) {
    if (findings.length >= MAX_FINDINGS || remaining <= 0) break
    const bytes = readFileSync(join(directory, path))
    if (!isText(bytes, path)) continue
    remaining -= stats.size
    findings.push(...scanText(path, bytes.toString("utf8"), judge))
  }
  return report(
    findings,
    files.map(({ path }) => path),
  )
}

/** Scans a single text, for a skill that is not on disk as a directory of its own. */
export function scanSkillText(text: string, judge: JudgeSnippets): GuardReport {
  return report(scanText(SKILL_FILE, text, judge), [SKILL_FILE])
}

function report(findings: readonly GuardFinding[], files: readonly string[]): GuardReport {
  const sorted = findings
    .slice(0, MAX_FINDINGS)
    .toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity))
  return { verdict: verdictOf(sorted), findings: sorted, files }
}

const SEVERITIES: readonly Severity[] = ["critical", "high", "medium", "low"]

function scanText(file: string, text: string, judge: JudgeSnippets): readonly GuardFinding[] {
  const findings: GuardFinding[] = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line.length < SHORTEST_MATCH) continue
    for (const { id, severity, category, pattern, needs } of GUARD_PATTERNS) {
      const match = needs === undefined || line.includes(needs) ? pattern.exec(line) : null
      if (match === null) continue
      const found = takeCodePoints(match[0].trim(), MAX_MATCH_CHARS)
      findings.push({ id, severity, category, file, line: index + 1, match: found })
    }
    if (findings.length >= MAX_FINDINGS) break
  }
  const invisible = invisibleLine(text)
  if (invisible !== undefined)
    findings.push({
      id: "invisible_text",
      severity: "high",
      category: "injection",
      file,
      line: invisible,
      match: "an invisible character",
    })
  return [...findings, ...scanCommands(file, text, judge)]
}

/** What the commands in a text would do. One finding of a kind for each line. */
function scanCommands(file: string, text: string, judge: JudgeSnippets): readonly GuardFinding[] {
  const { snippets, isComplete } = findSnippets(text, extensionOf(file))
  const byLine = new Map<string, GuardFinding>()
  for (const risk of judge(snippets)) {
    const { id, severity, category } = risk
    const { line, text: found } = lineOf(risk)
    byLine.set(`${id} ${line}`, {
      id,
      severity,
      category,
      file,
      line,
      match: takeCodePoints(found.trim(), MAX_MATCH_CHARS),
    })
  }
  if (!isComplete)
    byLine.set("", {
      id: "unchecked_commands",
      severity: "high",
      category: "structure",
      file,
      line: 0,
      match: "more commands than are checked",
    })
  return [...byLine.values()]
}

interface ListedFile {
  readonly path: string
  readonly stats: Stats
}

function listFiles(directory: string): { readonly files: readonly ListedFile[]; readonly findings: GuardFinding[] } {
  const ignores = readIgnoreFile(directory)
  const files: ListedFile[] = []
  const findings: GuardFinding[] = []
  const real = realpathSync(directory)
  const structural = (id: string, severity: Severity, file: string, match: string): void => {
    findings.push({ id, severity, category: "structure", file, line: 0, match })
  }
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (files.length >= MAX_VISITED) return
      const full = join(folder, entry.name)
      const path = relative(directory, full).split(sep).join("/")
      if (entry.name === ".git" || ignores(path, entry.isDirectory())) continue
      if (entry.isSymbolicLink()) {
        if (leaves(full, real)) structural("link_outside", "critical", path, "a link that leaves the skill")
      } else if (entry.isDirectory()) visit(full)
      else if (entry.isFile()) files.push({ path, stats: lstatSync(full) })
      else structural("special_file", "critical", path, "neither a file nor a directory")
    }
  }
  visit(directory)
  const total = files.reduce((sum, { stats }) => sum + stats.size, 0)
  if (files.length > MAX_FILES) structural("many_files", "medium", "", `${files.length} files`)
  if (files.length >= MAX_VISITED) structural("too_many_files", "critical", "", `more than ${MAX_VISITED} files`)
  if (total > MAX_TOTAL_BYTES) structural("large_skill", "high", "", `${Math.ceil(total / 1024)} KB`)
  const lower = new Map<string, string>()
  for (const { path, stats } of files) {
    const extension = extensionOf(path)
    if (stats.size > MAX_FILE_BYTES) structural("large_file", "medium", path, `${Math.ceil(stats.size / 1024)} KB`)
    if (EXECUTABLES.has(extension)) structural("executable_file", "critical", path, `a .${extension} file`)
    else if ((stats.mode & 0o111) !== 0 && !SCRIPTS.has(extension))
      structural("executable_permission", "medium", path, "the executable permission")
    const rival = lower.get(path.toLowerCase())
    if (rival !== undefined) structural("case_collision", "high", path, `differs from ${rival} only in case`)
    lower.set(path.toLowerCase(), path)
  }
  return { files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)), findings }
}

function leaves(link: string, directory: string): boolean {
  try {
    return !isInside(realpathSync(link), directory)
  } catch {
    // A link to nothing may be given a target later.
    return true
  }
}

function extensionOf(path: string): string {
  return extname(path).slice(1).toLowerCase()
}

/** By content, not by name: a script without an extension runs too. */
function isText(bytes: Buffer, path: string): boolean {
  return path.endsWith(SKILL_FILE) || !bytes.subarray(0, PROBED_BYTES).includes(0)
}
