import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"

import { judgeSnippets } from "../../app/skills/judge-snippets.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { GuardVerdict } from "../../knowledge/skills/guard/guard-finding.ts"
import { findingLines } from "../../knowledge/skills/guard/guard-policy.ts"
import { scanSkill } from "../../knowledge/skills/guard/scan-skill.ts"
import { appendHubAudit, readHubLock, writeHubLock, type InstalledSkill } from "../../knowledge/skills/hub-lock.ts"
import { contentHash } from "../../knowledge/skills/skill-files.ts"
import { scanSkillRoot } from "../../knowledge/skills/scan-skills.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { scanForInstall, type InstallContext, type ScannedSkill } from "./install-skill.ts"

/** What became of an installed skill here and at its source. */
export interface SkillCheck {
  readonly skill: InstalledSkill
  readonly state: "current" | "outdated" | "changed" | "missing" | "unavailable"
  readonly reason: string
}

/** Compares every installed skill with its source, one after the other. */
export async function checkInstalled(context: InstallContext): Promise<readonly SkillCheck[]> {
  const checks: SkillCheck[] = []
  for (const skill of readHubLock(context.home.file("skills"))) checks.push(await checkOne(skill, context))
  return checks
}

async function checkOne(skill: InstalledSkill, context: InstallContext): Promise<SkillCheck> {
  const here = join(context.home.file("skills"), skill.install_path)
  if (!existsSync(here)) return { skill, state: "missing", reason: "its directory is gone; uninstall and install it" }
  if (contentHash(here) !== skill.hash)
    return { skill, state: "changed", reason: "it was changed here after it was installed" }
  const fetched = await scanForInstall(skill.identifier, { force: false, name: skill.name }, context)
  if (!fetched.ok) return { skill, state: "unavailable", reason: fetched.error.message }
  const { hash } = fetched.value
  fetched.value.discard()
  return hash === skill.hash
    ? { skill, state: "current", reason: "" }
    : { skill, state: "outdated", reason: "its source has another version" }
}

/** Fetches the current version of an installed skill, scanned, for the user to accept. */
export async function scanForUpdate(
  skill: InstalledSkill,
  options: { readonly force: boolean },
  context: InstallContext,
): Promise<Result<ScannedSkill, AdminFailure>> {
  return await scanForInstall(skill.identifier, { ...options, name: skill.name }, context)
}

export interface AuditedSkill {
  readonly name: string
  readonly directory: string
  readonly verdict: GuardVerdict
  readonly findings: readonly string[]
  /** Installed, and not as it was accepted. */
  readonly isChanged: boolean
}

/** Scans the skills of the home: the installed ones, or all. */
export function auditSkills(
  { home }: Pick<HomeContext, "home">,
  options: { readonly all: boolean },
): readonly AuditedSkill[] {
  const root = home.file("skills")
  const lock = new Map(readHubLock(root).map((skill) => [join(root, skill.install_path), skill]))
  return scanSkillRoot({ path: root, kind: "home" })
    .skills.filter(({ directory }) => options.all || lock.has(directory))
    .map(({ name, directory }) => {
      const { verdict, findings } = scanSkill(directory, judgeSnippets)
      const accepted = lock.get(directory)
      const isChanged = accepted !== undefined && accepted.hash !== contentHash(directory)
      return { name, directory, verdict, findings: findingLines(findings), isChanged }
    })
}

/** The record of an installed skill. Fails with the reason why it cannot be removed. */
export function findInstalled({ home }: Pick<HomeContext, "home">, name: string): Result<InstalledSkill, AdminFailure> {
  const root = home.file("skills")
  const skill = readHubLock(root).find((installed) => installed.name === name)
  return skill === undefined ? failed(notInstalled(name, root)) : ok(skill)
}

/** Removes an installed skill. Skills that were not installed are the user's own and are not touched. */
export function uninstallSkill(
  { home, clock }: Pick<HomeContext, "home" | "clock">,
  name: string,
): Result<InstalledSkill, AdminFailure> {
  const root = home.file("skills")
  const found = findInstalled({ home }, name)
  if (!found.ok) return found
  const skill = found.value
  try {
    const directory = insideRoot(root, skill.install_path)
    if (!directory.ok) return failed(directory.error)
    rmSync(directory.value, { recursive: true, force: true })
    writeHubLock(
      root,
      readHubLock(root).filter((installed) => installed.name !== name),
    )
    const at = new Date(clock.now()).toISOString()
    appendHubAudit(root, { at, event: "uninstalled", name, identifier: skill.identifier })
    return ok(skill)
  } catch (error) {
    return failed(`the skill ${name} could not be removed: ${explainSystemError(error)}`)
  }
}

/** The lock file may have been edited. */
function insideRoot(root: string, path: string): Result<string> {
  const isUsable =
    path !== "" && !path.startsWith("/") && path.split("/").every((part) => !["", ".", ".."].includes(part))
  return isUsable ? ok(join(root, path)) : fail(`the record of this skill names ${path}, which is not a skill`)
}

function notInstalled(name: string, root: string): string {
  const own = scanSkillRoot({ path: root, kind: "home" }).skills.find((skill) => skill.name === name)
  if (own === undefined) return `there is no installed skill ${name}`
  if (own.bundled) return `the skill ${name} belongs to Hermes; disable it with: hermes skills disable ${name}`
  return `the skill ${name} was not installed but written here; to remove it, delete ${own.directory}`
}
