import { appendFileSync } from "node:fs"
import { join, relative, sep } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { JudgeSnippets } from "./guard/command-risk.ts"
import { findingLines } from "./guard/guard-policy.ts"
import { scanSkill } from "./guard/scan-skill.ts"
import { contentHash } from "./skill-files.ts"

/** One installed skill in `skills/.hub/lock.json`. */
export interface InstalledSkill {
  readonly name: string
  /** `directory`, `archive` or `git`. */
  readonly source: string
  /** The path or address it was installed from. */
  readonly identifier: string
  readonly trust: string
  /** The content that the user accepted. */
  readonly hash: string
  readonly files: readonly string[]
  readonly installed_at: string
  readonly verdict: string
  /** Relative to the root of the skills. */
  readonly install_path: string
}

const MAX_BYTES = 10_000_000

export function hubDirectory(skillsRoot: string): string {
  return join(skillsRoot, ".hub")
}

/** Reads the lock file, also one of the Python edition. */
export function readHubLock(skillsRoot: string): readonly InstalledSkill[] {
  try {
    const { bytes } = readRegularFile(join(hubDirectory(skillsRoot), "lock.json"), { maxBytes: MAX_BYTES })
    const value = parseJson(bytes.toString("utf8"))
    const installed = isRecord(value) ? value["installed"] : undefined
    if (!isRecord(installed)) return []
    return Object.entries(installed).flatMap(([name, entry]) => (isRecord(entry) ? [installedSkill(name, entry)] : []))
  } catch {
    // Nothing was installed yet.
    return []
  }
}

function installedSkill(name: string, entry: Readonly<Record<string, unknown>>): InstalledSkill {
  const text = (...fields: readonly string[]): string => {
    const value = fields.map((field) => entry[field]).find((one) => typeof one === "string")
    return typeof value === "string" ? value : ""
  }
  const { files } = entry
  return {
    name,
    source: text("source"),
    identifier: text("identifier"),
    trust: text("trust", "trust_level"),
    hash: text("hash", "content_hash"),
    files: Array.isArray(files) ? files.filter((file) => typeof file === "string") : [],
    installed_at: text("installed_at"),
    verdict: text("verdict", "scan_verdict"),
    install_path: text("install_path") || name,
  }
}

/** Replaces the lock file. The fields that only the Python edition reads are written too. */
export function writeHubLock(skillsRoot: string, skills: readonly InstalledSkill[]): void {
  makeDirectories(hubDirectory(skillsRoot))
  const installed = Object.fromEntries(
    skills.map((skill) => [
      skill.name,
      { ...skill, trust_level: skill.trust, content_hash: skill.hash, scan_verdict: skill.verdict },
    ]),
  )
  const text = `${JSON.stringify({ version: 1, installed }, null, 2)}\n`
  writeFileAtomic(join(hubDirectory(skillsRoot), "lock.json"), text)
}

/** Appends one line to the record of installations. */
export function appendHubAudit(skillsRoot: string, fields: Readonly<Record<string, unknown>>): void {
  makeDirectories(hubDirectory(skillsRoot))
  appendFileSync(join(hubDirectory(skillsRoot), "audit.log"), `${JSON.stringify(fields)}\n`, { mode: 0o600 })
}

/**
 * Warnings about an installed skill whose files are not those that the user accepted. Fails when the guard finds something dangerous in the
 * changed skill.
 */
export async function installedChanges(
  directory: string,
  { skillsRoot, loadJudge }: { readonly skillsRoot: string; readonly loadJudge: () => Promise<JudgeSnippets> },
): Promise<Result<readonly string[]>> {
  const path = relative(skillsRoot, directory).split(sep).join("/")
  const entry = readHubLock(skillsRoot).find(({ install_path: installed }) => installed === path)
  if (entry === undefined || entry.hash === "") return ok([])
  try {
    // The Python edition hashes in another way; its records cannot be compared.
    if (!/^[0-9a-f]{16}$/u.test(entry.hash) || contentHash(directory) === entry.hash) return ok([])
    const { verdict, findings } = scanSkill(directory, await loadJudge())
    if (verdict === "dangerous") {
      const critical = findings.filter(({ severity }) => severity === "critical")
      return fail(
        `the skill ${entry.name} was changed after it was installed and is now dangerous: ` +
          `${findingLines(critical).join("; ")}. Tell the user; hermes skills audit shows it`,
      )
    }
    return ok([`This skill was changed after it was installed from ${entry.identifier}.`])
  } catch (error) {
    return fail(`the skill ${entry.name} cannot be checked: ${explainSystemError(error)}`)
  }
}
