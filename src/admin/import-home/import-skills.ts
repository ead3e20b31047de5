import { basename, join } from "node:path"

import { judgeSnippets } from "../../app/skills/judge-snippets.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { readFrontMatter } from "../../knowledge/skills/front-matter.ts"
import { findingLines, guardDecision } from "../../knowledge/skills/guard/guard-policy.ts"
import { scanSkill } from "../../knowledge/skills/guard/scan-skill.ts"
import { readHubLock } from "../../knowledge/skills/hub-lock.ts"
import { scanSkillRoot } from "../../knowledge/skills/scan-skills.ts"
import { indexFields } from "../../knowledge/skills/skill-fields.ts"
import { contentHash } from "../../knowledge/skills/skill-files.ts"
import { SKILL_FILE } from "../../knowledge/skills/skill.ts"
import type { HomeContext } from "../home-context.ts"
import { scanForInstall } from "../skills/install-skill.ts"
import type { ForeignFiles } from "./foreign-files.ts"
import type { ForeignHome } from "./foreign-home.ts"
import type { CategoryReport, ImportItem } from "./import-report.ts"

export interface SkillImport extends HomeContext {
  readonly foreign: ForeignHome
  readonly dryRun: boolean
  readonly signal: AbortSignal
}

const MAX_SKILL_BYTES = 8 * 1024 * 1024
const MAX_SKILL_FILES = 2000
const MAX_DEPTH = 8

/** Installs the skills of another agent as if the user installed each directory: scanned, refused where the guard refuses it. */
export async function importSkills(options: SkillImport): Promise<CategoryReport> {
  const items: ImportItem[] = []
  for (const { files, path } of findSkills(options.foreign)) items.push(await importSkill({ files, path }, options))
  return { category: "skills", items, notes: [] }
}

interface FoundSkill {
  readonly files: ForeignFiles
  readonly path: string
}

function findSkills({ agent, files, beside }: ForeignHome): readonly FoundSkill[] {
  const below = (from: ForeignFiles, directory: string): readonly FoundSkill[] =>
    from
      .list(directory)
      // Codex keeps its own skills in a hidden directory.
      .filter(({ name, kind }) => kind === "directory" && !name.startsWith("."))
      .filter(({ path }) => from.list(path).some(({ name }) => name === SKILL_FILE))
      .map(({ path }) => ({ files: from, path }))
  const workspaces = agent === "openclaw" ? files.list("").filter(({ name }) => /^workspace(?:-|$)/u.test(name)) : []
  return [
    ...below(files, "skills"),
    ...workspaces.flatMap(({ path }) => below(files, `${path}/skills`)),
    ...(agent === "openclaw" && beside !== undefined ? below(beside, "skills") : []),
  ]
}

async function importSkill({ files, path }: FoundSkill, options: SkillImport): Promise<ImportItem> {
  const skipped = (detail: string): ImportItem => ({ name: basename(path), outcome: "skipped", detail })
  const directory = files.locate(path)
  if (directory === undefined) return skipped("it cannot be read")
  if (!/^[\w.-]+$/u.test(basename(path)))
    return skipped("the name of its directory has characters that are not allowed")
  const size = sizeOf(files, path, 1)
  if (size.bytes > MAX_SKILL_BYTES || size.files > MAX_SKILL_FILES) return skipped("it is too large for a skill")
  try {
    const text = files.read(`${path}/${SKILL_FILE}`, { maxBytes: MAX_SKILL_BYTES }) ?? ""
    const { fields } = readFrontMatter(text)
    const { name } = indexFields(fields, basename(path))
    const report = scanSkill(directory, judgeSnippets)
    const root = options.home.file("skills")
    const installed = readHubLock(root).find((skill) => skill.name === name)
    if (installed?.hash === contentHash(directory, report.files)) return { name, outcome: "already-there" }
    if (scanSkillRoot({ path: root, kind: "home" }).skills.some((skill) => skill.name === name))
      return { name, outcome: "skipped", detail: "you have another skill of that name" }
    if (guardDecision({ trust: "community", verdict: report.verdict }) !== "allow")
      return {
        name,
        outcome: "skipped",
        detail: [`the scan says ${report.verdict}:`, ...findingLines(report.findings)].join("\n"),
      }
    const target = options.home.display(join(root, name))
    if (options.dryRun) return { name, outcome: "imported", detail: target }
    const scanned = await scanForInstall(directory, { force: false }, options)
    const placed = scanned.ok ? scanned.value.install() : scanned
    return placed.ok
      ? { name, outcome: "imported", detail: options.home.display(join(root, placed.value.install_path)) }
      : { name, outcome: "skipped", detail: placed.error.message }
  } catch (error) {
    return skipped(explainSystemError(error))
  }
}

function sizeOf(files: ForeignFiles, path: string, depth: number): { readonly bytes: number; readonly files: number } {
  if (depth > MAX_DEPTH) return { bytes: Infinity, files: Infinity }
  let total = { bytes: 0, files: 0 }
  for (const entry of files.list(path)) {
    const inner = entry.kind === "file" ? { bytes: entry.size, files: 1 } : sizeOf(files, entry.path, depth + 1)
    total = { bytes: total.bytes + inner.bytes, files: total.files + inner.files }
    if (total.files > MAX_SKILL_FILES) break
  }
  return total
}
