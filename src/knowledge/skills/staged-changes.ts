import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { SkillChange } from "./skill-change.ts"

/** A change of a skill that waits for approval, stored as a file in `<home>/pending/skills`. */
export interface StagedChange {
  readonly id: string
  /** ISO time. */
  readonly createdAt: string
  readonly change: SkillChange
}

const MAX_BYTES = 4_000_000
/** Further changes are refused: no user would review more. */
const MAX_STAGED = 100

/** Stores a change for later approval and returns its id. An equal one that waits already is not stored twice. */
export function stageChange(directory: string, change: SkillChange, clock: Clock): Result<string> {
  try {
    makeDirectories(directory)
    const waiting = listStagedChanges(directory)
    const same = waiting.find((staged) => staged.change.action === change.action && staged.change.name === change.name)
    if (waiting.length >= MAX_STAGED && same === undefined)
      return fail(`${MAX_STAGED} changes already wait for approval; the user can review them with /skills pending`)
    const id = change.action === "create" && same !== undefined ? same.id : randomHex(4)
    const created_at = new Date(clock.now()).toISOString()
    writeFileAtomic(
      join(directory, `${id}.json`),
      `${JSON.stringify({ id, created_at, ...fileForm(change) }, null, 2)}\n`,
    )
    return ok(id)
  } catch (error) {
    return fail(`the change could not be staged for approval: ${explainSystemError(error)}`)
  }
}

function fileForm(change: SkillChange): object {
  const { action, name } = change
  return {
    action,
    name,
    ...("content" in change ? { content: change.content } : {}),
    ...("filePath" in change ? { file_path: change.filePath } : {}),
    ...(change.action === "create" ? { category: change.category } : {}),
    ...(change.action === "delete" ? { absorbed_into: change.absorbedInto } : {}),
  }
}

/** The changes that wait, oldest first. Other files are ignored. */
export function listStagedChanges(directory: string): readonly StagedChange[] {
  return stagedIds(directory)
    .flatMap((id) => readStaged(directory, id) ?? [])
    .toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : a.id < b.id ? -1 : 1))
}

/** Returns whether it existed. */
export function discardStagedChange(directory: string, id: string): boolean {
  if (!stagedIds(directory).includes(id)) return false
  rmSync(join(directory, `${id}.json`), { force: true })
  return true
}

function stagedIds(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
      .filter((name) => /^[\w-]{1,64}\.json$/u.test(name))
      .map((name) => name.slice(0, -".json".length))
  } catch {
    // Nothing waits.
    return []
  }
}

function readStaged(directory: string, id: string): StagedChange | undefined {
  try {
    const { bytes } = readRegularFile(join(directory, `${id}.json`), { maxBytes: MAX_BYTES })
    const value = parseJson(bytes.toString("utf8"))
    const change = isRecord(value) ? changeFrom(value) : undefined
    if (change === undefined || !isRecord(value)) return undefined
    const { created_at: createdAt } = value
    return { id, createdAt: typeof createdAt === "string" ? createdAt : "", change }
  } catch {
    // Removed meanwhile, or not readable.
    return undefined
  }
}

function changeFrom(value: Readonly<Record<string, unknown>>): SkillChange | undefined {
  const { action, name, content, category = "", file_path: filePath, absorbed_into: absorbedInto = "" } = value
  if (typeof name !== "string") return undefined
  switch (action) {
    case "create":
      return typeof content === "string" && typeof category === "string"
        ? { action, name, category, content }
        : undefined
    case "edit":
      return typeof content === "string" ? { action, name, content } : undefined
    case "write_file":
      return typeof content === "string" && typeof filePath === "string"
        ? { action, name, filePath, content }
        : undefined
    case "remove_file":
      return typeof filePath === "string" ? { action, name, filePath } : undefined
    case "delete":
      return typeof absorbedInto === "string" ? { action, name, absorbedInto } : undefined
    default:
      return undefined
  }
}
