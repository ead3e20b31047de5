import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"

import { assertNever } from "../../base/assert-never.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { refused, type MemoryWrite } from "./memory-edit.ts"
import type { MemoryResult, MemoryStore } from "./memory-store.ts"

/** A write that waits for approval, stored as a file in `<home>/pending/memory`. */
export interface StagedWrite {
  readonly id: string
  /** ISO time. */
  readonly createdAt: string
  readonly write: MemoryWrite
}

const MAX_BYTES = 100_000
/** Further writes are refused: no user would review more. */
const MAX_STAGED = 200

/** Stores a write for later approval and returns its id. */
export function stageWrite(directory: string, write: MemoryWrite, clock: Clock): Result<string> {
  try {
    makeDirectories(directory)
    if (stagedNames(directory).length >= MAX_STAGED) {
      return fail(`${MAX_STAGED} changes already wait for approval; the user can review them with /memory`)
    }
    const id = randomHex(4)
    const created_at = new Date(clock.now()).toISOString()
    writeFileAtomic(stagedPath(directory, id), `${JSON.stringify({ id, created_at, ...fileForm(write) }, null, 2)}\n`)
    return ok(id)
  } catch (error) {
    return fail(`the change could not be staged for approval: ${explainSystemError(error)}`)
  }
}

function fileForm(write: MemoryWrite): object {
  const { action, target } = write
  return {
    action,
    target,
    ...(write.action === "remove" ? {} : { content: write.content }),
    ...(write.action === "add" ? {} : { old_text: write.oldText }),
  }
}

/** Returns the staged writes, oldest first. Ignores other files. */
export function listStagedWrites(directory: string): readonly StagedWrite[] {
  return stagedNames(directory)
    .flatMap((name) => readStaged(directory, name.slice(0, -".json".length)) ?? [])
    .toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : a.id < b.id ? -1 : 1))
}

function stagedNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(".json") && isId(name.slice(0, -".json".length)))
  } catch {
    return [] // the directory is missing or unreadable, so nothing can be approved
  }
}

function stagedPath(directory: string, id: string): string {
  return join(directory, `${id}.json`)
}

/** Ids become file names, and users type them. */
function isId(text: string): boolean {
  return /^[\w-]{1,64}$/.test(text)
}

function readStaged(directory: string, id: string): StagedWrite | undefined {
  try {
    const { bytes } = readRegularFile(stagedPath(directory, id), { maxBytes: MAX_BYTES })
    return stagedWrite(id, parseJson(bytes.toString("utf8")))
  } catch {
    return undefined // missing or unreadable, so there is no staged write
  }
}

function stagedWrite(id: string, value: unknown): StagedWrite | undefined {
  if (!isRecord(value)) return undefined
  const { action, target, content, old_text: oldText, created_at: createdAt } = value
  if (target !== "memory" && target !== "user") return undefined
  const header = { id, createdAt: typeof createdAt === "string" ? createdAt : "" }
  if (action === "add" && typeof content === "string") return { ...header, write: { action, target, content } }
  if (typeof oldText !== "string") return undefined
  if (action === "remove") return { ...header, write: { action, target, oldText } }
  if (action !== "replace" || typeof content !== "string") return undefined
  return { ...header, write: { action, target, oldText, content } }
}

/** Applies a staged write. It stays staged when the store refuses it. `store` must not require approval. */
export async function applyStagedWrite(directory: string, id: string, store: MemoryStore): Promise<MemoryResult> {
  const staged = isId(id) ? readStaged(directory, id) : undefined
  if (staged === undefined) return refused(`there is no staged change with the id ${id}`)
  const result = await applyWrite(staged.write, store)
  if (result.kind === "done") removeStaged(directory, id)
  return result
}

function applyWrite(write: MemoryWrite, store: MemoryStore): Promise<MemoryResult> {
  switch (write.action) {
    case "add":
      return store.add(write.target, write.content)
    case "replace":
      return store.replace(write.target, write)
    case "remove":
      return store.remove(write.target, write.oldText)
    default:
      return assertNever(write)
  }
}

/** Deletes a staged write. Returns whether it existed. */
export function discardStagedWrite(directory: string, id: string): boolean {
  if (!isId(id) || readStaged(directory, id) === undefined) return false
  return removeStaged(directory, id)
}

function removeStaged(directory: string, id: string): boolean {
  try {
    rmSync(stagedPath(directory, id), { force: true })
    return true
  } catch {
    return false // it stays staged; applying it twice is harmless
  }
}
