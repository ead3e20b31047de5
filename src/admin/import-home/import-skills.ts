import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"

import { explainSystemError } from "../../base/system-error.ts"
import { readHubLock } from "../../knowledge/skills/hub-lock.ts"
import { scanSkillRoot } from "../../knowledge/skills/scan-skills.ts"
import { SKILL_FILE } from "../../knowledge/skills/skill.ts"
import type { HomeContext } from "../home-context.ts"
import { scanForInstall, type ScannedSkill } from "../skills/install-skill.ts"
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

/**
 * Installs the skills of another agent as if the user installed each directory: scanned, refused where the guard refuses it. A dry run
 * fetches and scans them in the same way, in a temporary directory, so that both report the same.
 */
export async function importSkills(options: SkillImport): Promise<CategoryReport> {
  const found = findSkills(options.foreign)
  if (found.length === 0) return { category: "skills", items: [], notes: [] }
  const quarantine = options.dryRun ? mkdtempSync(join(tmpdir(), "hermes-import-")) : undefined
  const work: Work = { ...options, quarantine, imported: new Map() }
  try {
    const items: ImportItem[] = []
    for (const skill of found) items.push(await importSkill(skill, work))
    return { category: "skills", items, notes: [] }
  } finally {
    if (quarantine !== undefined) rmSync(quarantine, { recursive: true, force: true })
  }
}

interface Work extends SkillImport {
  readonly quarantine: string | undefined
  /** The hashes of the skills that this import has installed, or would install, by name. */
  readonly imported: Map<string, string>
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

async function importSkill({ files, path }: FoundSkill, work: Work): Promise<ImportItem> {
  const skipped = (detail: string): ImportItem => ({ name: basename(path), outcome: "skipped", detail })
  const directory = files.locate(path)
  if (directory === undefined) return skipped("it cannot be read")
  if (!/^[\w.-]+$/u.test(basename(path)))
    return skipped("the name of its directory has characters that are not allowed")
  const size = sizeOf(files, path, 1)
  if (size.bytes > MAX_SKILL_BYTES || size.files > MAX_SKILL_FILES) return skipped("it is too large for a skill")
  const { quarantine } = work
  const scanned = await scanForInstall(
    directory,
    { force: false, ...(quarantine !== undefined && { quarantine }) },
    work,
  )
  if (!scanned.ok) return skipped(scanned.error.message)
  try {
    return importScanned(scanned.value, work)
  } catch (error) {
    return skipped(explainSystemError(error))
  } finally {
    scanned.value.discard()
  }
}

function importScanned(skill: ScannedSkill, { home, dryRun, imported }: Work): ImportItem {
  const { name, hash } = skill
  const skipped = (detail: string): ImportItem => ({ name, outcome: "skipped", detail })
  const root = home.file("skills")
  const present = imported.get(name) ?? readHubLock(root).find((installed) => installed.name === name)?.hash
  if (present === hash) return { name, outcome: "already-there" }
  const isTaken =
    imported.has(name) || scanSkillRoot({ path: root, kind: "home" }).skills.some((own) => own.name === name)
  if (isTaken) return skipped("you have another skill of that name")
  if (!skill.isAllowed) return skipped([`the scan says ${skill.verdict}:`, ...skill.findings].join("\n"))
  const conflict = skill.conflict()
  if (conflict !== undefined) return skipped(conflict)
  if (!dryRun) {
    const installed = skill.install()
    if (!installed.ok) return skipped(installed.error.message)
  }
  imported.set(name, hash)
  return { name, outcome: "imported", detail: home.display(join(root, name)) }
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
