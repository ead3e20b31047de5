import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { judgeSnippets } from "../../app/skills/judge-snippets.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { checkName } from "../../knowledge/skills/check-skill.ts"
import { readFrontMatter } from "../../knowledge/skills/front-matter.ts"
import { findingLines, guardDecision } from "../../knowledge/skills/guard/guard-policy.ts"
import type { GuardVerdict } from "../../knowledge/skills/guard/guard-finding.ts"
import { scanSkill, type GuardReport } from "../../knowledge/skills/guard/scan-skill.ts"
import {
  appendHubAudit,
  hubDirectory,
  readHubLock,
  writeHubLock,
  type InstalledSkill,
} from "../../knowledge/skills/hub-lock.ts"
import { contentHash } from "../../knowledge/skills/skill-files.ts"
import { scanSkillRoot } from "../../knowledge/skills/scan-skills.ts"
import { indexFields } from "../../knowledge/skills/skill-fields.ts"
import { SKILL_FILE } from "../../knowledge/skills/skill.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { fetchSkill, fetchSkills, type FetchedSkill } from "./fetch-skill.ts"

export type InstallContext = Pick<HomeContext, "home" | "environment" | "clock"> & { readonly signal: AbortSignal }

export interface InstallOptions {
  readonly category?: string
  readonly name?: string
  /** The directory to fetch it to; by default a directory of the home. */
  readonly quarantine?: string
  /** Installs despite a verdict of caution, and replaces files that were changed here. */
  readonly force: boolean
}

/** A skill in the quarantine, scanned. The caller installs or discards it; nothing stays in the quarantine afterwards. */
export interface ScannedSkill {
  readonly name: string
  readonly description: string
  readonly identifier: string
  readonly trust: FetchedSkill["trust"]
  readonly verdict: GuardVerdict
  /** One line per finding: file and line, severity, pattern, text. */
  readonly findings: readonly string[]
  readonly files: readonly string[]
  readonly hash: string
  readonly text: string
  /** False where the policy refuses it. */
  readonly isAllowed: boolean
  /** Why the skill cannot be installed under this name; undefined when it can. Writes nothing. */
  conflict(): string | undefined
  install(): Result<InstalledSkill, AdminFailure>
  discard(): void
}

/** Fetches a skill into the quarantine of the home and scans it. Installs nothing. */
export async function scanForInstall(
  typed: string,
  options: InstallOptions,
  context: InstallContext,
): Promise<Result<ScannedSkill, AdminFailure>> {
  return await inQuarantine(typed, { options, context }, async (quarantine, sources) => {
    const fetched = await fetchSkill(typed, quarantine, context)
    return fetched.ok ? scanFetched(fetched.value, sources) : failed(fetched.error)
  })
}

/** One skill of a source with several. */
export interface SourceSkill {
  /** Where it comes from, with its path. */
  readonly identifier: string
  readonly scanned: Result<ScannedSkill, AdminFailure>
}

/** The same for all skills of a source, which is fetched once. */
export async function scanAllForInstall(
  typed: string,
  options: Omit<InstallOptions, "name">,
  context: InstallContext,
): Promise<Result<readonly SourceSkill[], AdminFailure>> {
  return await inQuarantine(typed, { options, context }, async (quarantine, { discard, ...sources }) => {
    const fetched = await fetchSkills(typed, quarantine, context)
    if (!fetched.ok) return failed(fetched.error)
    const pending = new Set(fetched.value.map(({ identifier }) => identifier))
    const discardOne = (identifier: string): void => {
      pending.delete(identifier)
      if (pending.size === 0) discard()
    }
    return ok(
      fetched.value.map((skill) => {
        const done = (): void => {
          discardOne(skill.identifier)
        }
        const scanned = scanFetched(skill, { ...sources, discard: done })
        if (!scanned.ok) done()
        return { identifier: skill.identifier, scanned }
      }),
    )
  })
}

/** Runs work with a new directory of the quarantine, which is removed when the work fails. */
async function inQuarantine<T>(
  typed: string,
  { options, context }: Pick<InstallSources, "options" | "context">,
  work: (quarantine: string, sources: InstallSources) => Promise<Result<T, AdminFailure>>,
): Promise<Result<T, AdminFailure>> {
  const root = context.home.file("skills")
  const quarantine = join(options.quarantine ?? join(hubDirectory(root), "quarantine"), randomHex(8))
  makeDirectories(dirname(quarantine))
  mkdirSync(quarantine, { mode: 0o700 })
  const discard = (): void => {
    rmSync(quarantine, { recursive: true, force: true })
  }
  try {
    const result = await work(quarantine, { options, context, root, discard })
    if (!result.ok) discard()
    return result
  } catch (error) {
    discard()
    return failed(`cannot install ${typed}: ${explainSystemError(error)}`)
  }
}

interface InstallSources {
  readonly options: InstallOptions
  readonly context: InstallContext
  readonly root: string
  readonly discard: () => void
}

const MAX_SKILL_BYTES = 1_000_000

function scanFetched(
  fetched: FetchedSkill,
  { options, context, root, discard }: InstallSources,
): Result<ScannedSkill, AdminFailure> {
  const text = readRegularFile(join(fetched.directory, SKILL_FILE), { maxBytes: MAX_SKILL_BYTES }).bytes.toString(
    "utf8",
  )
  const { fields, problem } = readFrontMatter(text)
  const { name: declared, description } = indexFields(fields, fetched.directoryName)
  if (problem !== undefined || description === "")
    return failed(`there is no valid skill in ${fetched.identifier}: ${problem ?? "it has no description"}`)
  const name = options.name ?? declared
  const checked = checkName("name", name)
  if (!checked.ok) return failed(`${checked.error}; choose one with \`hermes skills install --name\``)
  const category = options.category ?? ""
  const placed = category === "" ? ok(undefined) : checkName("category", category)
  if (!placed.ok) return failed(placed.error)
  const report = scanSkill(fetched.directory, judgeSnippets)
  const decision = guardDecision({ trust: fetched.trust, verdict: report.verdict }, options.force)
  const facts = { name, description, identifier: fetched.identifier, trust: fetched.trust, text }
  const placement = { fetched, report, name, category, force: options.force }
  const install = (): Result<InstalledSkill, AdminFailure> => {
    try {
      if (decision !== "allow") {
        audit("refused", { ...facts, verdict: report.verdict }, { context, root })
        return failed(refusalText({ ...facts, verdict: report.verdict }))
      }
      return installScanned(placement, { context, root })
    } catch (error) {
      return failed(`the skill ${name} could not be installed: ${explainSystemError(error)}`)
    } finally {
      discard()
    }
  }
  return ok({
    ...facts,
    verdict: report.verdict,
    findings: findingLines(report.findings),
    files: report.files,
    hash: contentHash(fetched.directory, report.files),
    isAllowed: decision === "allow",
    conflict: () => {
      const target = findTarget(placement, root)
      return target.ok ? undefined : target.error.message
    },
    install,
    discard,
  })
}

function refusalText({ name, verdict, trust }: Pick<ScannedSkill, "name" | "verdict" | "trust">): string {
  return verdict === "dangerous"
    ? `the skill ${name} was not installed: the scan found something dangerous, and --force does not change that`
    : `the skill ${name} was not installed: the scan says ${verdict} and its source is ${trust}; read the findings, --force installs it anyway`
}

interface Placement {
  readonly fetched: FetchedSkill
  readonly report: GuardReport
  readonly name: string
  readonly category: string
  readonly force: boolean
}

interface Target {
  readonly installPath: string
  readonly lock: readonly InstalledSkill[]
  readonly former: InstalledSkill | undefined
}

/** Where the skill belongs. Fails where something else is there already. */
function findTarget({ name, category, force }: Placement, root: string): Result<Target, AdminFailure> {
  const lock = readHubLock(root)
  const former = lock.find((installed) => installed.name === name)
  const existing = scanSkillRoot({ path: root, kind: "home" }).skills.find(
    (skill) => skill.name === name || basename(skill.directory) === name,
  )
  const installPath = former?.install_path ?? (category === "" ? name : `${category}/${name}`)
  const target = join(root, installPath)
  if (existing !== undefined && existing.directory !== target)
    return failed(
      `there is already a skill ${name} in ${existing.directory}; remove it, or choose another name with \`hermes skills install --name\``,
    )
  if (existsSync(target) && former === undefined)
    return failed(
      `${target} exists already and was not installed; move it away, or choose another name with \`hermes skills install --name\``,
    )
  if (existsSync(target) && former !== undefined && contentHash(target) !== former.hash && !force)
    return failed(`the skill ${name} was changed here since it was installed; --force replaces your changes`)
  return ok({ installPath, lock, former })
}

/** Moves the scanned files to their directory and records them. Links and ignored files are left behind. */
function installScanned(
  placement: Placement,
  { context, root }: Pick<InstallSources, "context" | "root">,
): Result<InstalledSkill, AdminFailure> {
  const found = findTarget(placement, root)
  if (!found.ok) return found
  const { fetched, report, name } = placement
  const { installPath, lock, former } = found.value
  const target = join(root, installPath)
  const staging = join(dirname(fetched.directory), `ready-${randomHex(4)}`)
  for (const file of report.files) {
    makeDirectories(dirname(join(staging, file)))
    cpSync(join(fetched.directory, file), join(staging, file))
  }
  const entry: InstalledSkill = {
    name,
    source: fetched.source,
    identifier: fetched.identifier,
    trust: fetched.trust,
    hash: contentHash(staging),
    files: report.files,
    installed_at: new Date(context.clock.now()).toISOString(),
    verdict: report.verdict,
    install_path: installPath,
  }
  makeDirectories(dirname(target))
  const replaced = `${staging}.old`
  if (existsSync(target)) renameSync(target, replaced)
  renameSync(staging, target)
  rmSync(replaced, { recursive: true, force: true })
  writeHubLock(root, [...lock.filter((installed) => installed.name !== name), entry])
  audit(former === undefined ? "installed" : "updated", entry, { context, root })
  return ok(entry)
}

function audit(
  event: "installed" | "updated" | "refused",
  fields: { readonly name: string; readonly identifier: string; readonly trust: string; readonly verdict: string },
  { context, root }: Pick<InstallSources, "context" | "root">,
): void {
  const { name, identifier, trust, verdict } = fields
  appendHubAudit(root, { at: new Date(context.clock.now()).toISOString(), event, name, identifier, trust, verdict })
}
