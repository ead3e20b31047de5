import { readdirSync, statSync } from "node:fs"

import { isRecord, parseJson } from "../../base/json.ts"
import { fingerprint } from "../../base/random-and-hash.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import type { Skill, SkillRoot } from "./skill.ts"

/** The skills below one root, and what must stay the same for them to be still correct. */
export interface ScannedRoot {
  readonly skills: readonly Skill[]
  /** What `DESCRIPTION.md` says about a category. */
  readonly categories: Readonly<Record<string, string>>
  /** A stamp for every file that was read and every directory that was listed. */
  readonly manifest: Readonly<Record<string, Stamp>>
}

/** Modification time in nanoseconds and size. */
export type Stamp = readonly [modified: number, size: number]

/** The scanned roots by path, as they are cached in the home. */
export interface SkillSnapshot {
  readonly roots: Readonly<Record<string, ScannedRoot>>
  /** The hash of the bundled skills that were last copied into the home. */
  readonly bundle: string
}

const VERSION = 1
const MAX_BYTES = 20_000_000
const MISSING: Stamp = [0, -1]

/** Reads the cached index. Only this program writes it; anything unexpected means that there is none. */
export function readSkillSnapshot(path: string): SkillSnapshot {
  const value = readJson(path)
  if (!isRecord(value) || value["version"] !== VERSION || !isRecord(value["roots"])) return { roots: {}, bundle: "" }
  const { bundle, roots } = value
  return {
    bundle: typeof bundle === "string" ? bundle : "",
    roots: Object.fromEntries(
      Object.entries(roots).filter((entry): entry is [string, ScannedRoot] => isRoot(entry[1])),
    ),
  }
}

export function snapshotText({ roots, bundle }: SkillSnapshot): string {
  return JSON.stringify({ version: VERSION, bundle, roots })
}

/** True while nothing that the entries were read from has changed. */
export function isCurrent({ manifest }: ScannedRoot, root: SkillRoot): boolean {
  const stamps = Object.entries(manifest)
  return (
    stamps.length > 0 &&
    stamps.every(([path, [modified, size]]) => {
      const now = stampOf(path, root)
      return now[0] === modified && now[1] === size
    })
  )
}

/** Changes when the file is written or an entry of the directory is added or removed. */
export function stampOf(path: string, root: SkillRoot): Stamp {
  // Records of usage are written beside the skills, so the time of the root says nothing: its visible entries do.
  if (path === root.path) return [namesStamp(path), 0]
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (stats === undefined) return MISSING
  return [Number(stats.mtimeNs), stats.isDirectory() ? 0 : Number(stats.size)]
}

function namesStamp(directory: string): number {
  try {
    const names = readdirSync(directory).filter((name) => !name.startsWith("."))
    return Number.parseInt(fingerprint(names.toSorted().join("/")).slice(0, 12), 16)
  } catch {
    // The directory was removed.
    return -1
  }
}

function readJson(path: string): unknown {
  try {
    return parseJson(readRegularFile(path, { maxBytes: MAX_BYTES }).bytes.toString("utf8"))
  } catch {
    // There is no snapshot yet.
    return undefined
  }
}

function isRoot(value: unknown): value is ScannedRoot {
  if (!isRecord(value) || !isRecord(value["manifest"]) || !isRecord(value["categories"])) return false
  const { skills, manifest } = value
  return (
    Array.isArray(skills) &&
    skills.every(isSkill) &&
    Object.values(manifest).every((stamp) => Array.isArray(stamp) && stamp.length === 2)
  )
}

const TEXT_FIELDS = ["name", "description", "category", "directory", "source"] as const
const LIST_FIELDS = [
  "platforms",
  "environments",
  "requiresToolsets",
  "requiresTools",
  "fallbackForToolsets",
  "fallbackForTools",
] as const

function isSkill(value: unknown): value is Skill {
  return (
    isRecord(value) &&
    TEXT_FIELDS.every((field) => typeof value[field] === "string") &&
    LIST_FIELDS.every((field) => Array.isArray(value[field]))
  )
}
