import { cp, mkdir, readdir, rename, rm } from "node:fs/promises"
import { existsSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { withFileLock } from "../../base/file-lock.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { readBundledManifest, suppressedNames, writeBundledManifest } from "./bundled-manifest.ts"
import { scanSkillRoot } from "./scan-skills.ts"
import { contentHash, pythonContentHash } from "./skill-files.ts"
import { SKILL_FILE } from "./skill.ts"

export interface BundledSync {
  readonly added: readonly string[]
  readonly updated: readonly string[]
  /** Changed by the user, so left alone. */
  readonly kept: readonly string[]
}

const LOCK_WAIT_MS = 10_000

/**
 * Brings the bundled skills of a home up to date: new ones are copied, those that the user has not touched are replaced, changed ones stay,
 * and deleted ones stay deleted. Each skill is replaced completely or not at all; an interrupted run is continued by the next.
 */
export async function syncBundledSkills(options: {
  /** Directories of the package with skills in categories. */
  readonly bundle: string
  readonly skillsRoot: string
}): Promise<BundledSync> {
  const { bundle, skillsRoot } = options
  await mkdir(skillsRoot, { recursive: true, mode: 0o700 })
  return await withFileLock(join(skillsRoot, ".bundled.lock"), { waitMs: LOCK_WAIT_MS }, async () => {
    const known = readBundledManifest(skillsRoot)
    const suppressed = suppressedNames(skillsRoot)
    // The Python edition has skills of the same name in other categories.
    const { skills } = scanSkillRoot({ path: skillsRoot, kind: "home" })
    const existing = new Map(skills.map(({ directory }) => [basename(directory), directory]))
    const next = new Map<string, string>()
    const added: string[] = []
    const updated: string[] = []
    const kept: string[] = []
    for (const source of await bundledDirectories(bundle)) {
      const name = basename(source)
      const category = basename(dirname(source))
      const current = existing.get(name)
      const target = current ?? join(skillsRoot, category, name)
      const hash = contentHash(source)
      const recorded = known.get(name)
      if (suppressed.has(name) && current === undefined) continue
      if (current === undefined) {
        // A recorded skill that is gone was deleted by the user.
        if (recorded === undefined) {
          await replaceDirectory(source, target)
          added.push(name)
        }
        next.set(name, recorded ?? hash)
        continue
      }
      const present = contentHash(target)
      if (present === hash) next.set(name, hash)
      else if (recorded !== undefined && isUnchanged(target, present, recorded)) {
        await replaceDirectory(source, target)
        updated.push(name)
        next.set(name, hash)
      } else {
        kept.push(name)
        if (recorded !== undefined) next.set(name, recorded)
      }
    }
    writeBundledManifest(skillsRoot, next)
    return { added, updated, kept }
  })
}

/** The bundled skills: `<category>/<name>` directories with a SKILL.md. */
export async function bundledDirectories(bundle: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const category of await readdir(bundle, { withFileTypes: true })) {
    if (!category.isDirectory()) continue
    for (const skill of await readdir(join(bundle, category.name), { withFileTypes: true })) {
      const directory = join(bundle, category.name, skill.name)
      if (skill.isDirectory() && existsSync(join(directory, SKILL_FILE))) found.push(directory)
    }
  }
  return found.toSorted()
}

function isUnchanged(directory: string, present: string, recorded: string): boolean {
  return present === recorded || (recorded.length === 32 && pythonContentHash(directory) === recorded)
}

/** Copies to a temporary directory first, so that a killed process leaves the old or the new skill. */
async function replaceDirectory(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const staging = join(dirname(target), `.${basename(target)}.${randomHex(4)}`)
  const former = `${staging}.old`
  try {
    await cp(source, staging, { recursive: true })
    if (existsSync(target)) await rename(target, former)
    await rename(staging, target)
  } finally {
    await rm(staging, { recursive: true, force: true })
    await rm(former, { recursive: true, force: true })
  }
}
