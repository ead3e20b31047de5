import { readdirSync } from "node:fs"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isCurrent, readSkillSnapshot, snapshotText, type ScannedRoot, type SkillSnapshot } from "./skill-snapshot.ts"
import type { Skill, SkillRoot } from "./skill.ts"

export interface LoadedSkills {
  /** All skills, in the order of the roots; of several with the same name the first root's win. */
  readonly skills: readonly Skill[]
  readonly categories: Readonly<Record<string, string>>
  readonly snapshot: SkillSnapshot
}

/** Other directories than those of this start are kept for a while: users work in several projects. */
const MAX_ROOTS = 40

/**
 * Lists the skills of all roots. Where nothing has changed since the last time, that is one file to read and a few times to compare;
 * only otherwise the code that reads front matter is loaded.
 */
export async function loadSkills(roots: readonly SkillRoot[], snapshotPath: string): Promise<LoadedSkills> {
  const snapshot = readSkillSnapshot(snapshotPath)
  const scanned: [SkillRoot, ScannedRoot][] = []
  let isChanged = false
  for (const root of roots) {
    if (isEmpty(root.path)) continue
    const known = snapshot.roots[root.path]
    if (known !== undefined && isCurrent(known, root)) {
      scanned.push([root, known])
      continue
    }
    const { scanSkillRoot } = await import("./scan-skills.ts")
    scanned.push([root, scanSkillRoot(root)])
    isChanged = true
  }
  const current = Object.fromEntries(scanned.map(([root, found]) => [root.path, found]))
  const others = Object.entries(snapshot.roots).filter(([path]) => current[path] === undefined)
  const next = {
    ...snapshot,
    roots: { ...current, ...Object.fromEntries(others.slice(0, MAX_ROOTS - scanned.length)) },
  }
  if (isChanged) saveSnapshot(snapshotPath, next)
  return {
    skills: firstOfEachName(scanned.map(([, { skills }]) => skills)),
    categories: scanned.reduceRight((all, [, { categories }]) => ({ ...all, ...categories }), {}),
    snapshot: next,
  }
}

/** Every home has the directory; one without skills costs nothing. */
function isEmpty(path: string): boolean {
  try {
    return readdirSync(path).every((name) => name.startsWith("."))
  } catch {
    // It does not exist or cannot be read.
    return true
  }
}

/** Best effort: without the file the next start scans again. */
export function saveSnapshot(path: string, snapshot: SkillSnapshot): void {
  try {
    writeFileAtomic(path, snapshotText(snapshot))
  } catch {
    // A full or read-only disk.
  }
}

/** Skills of one root that share a name stay: asking for that name is then refused as ambiguous. */
function firstOfEachName(lists: readonly (readonly Skill[])[]): readonly Skill[] {
  const seen = new Set<string>()
  return lists.flatMap((skills) => {
    const kept = skills.filter(({ name }) => !seen.has(name.toLowerCase()))
    for (const { name } of kept) seen.add(name.toLowerCase())
    return kept
  })
}
