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
import type { MemoryAnswer, MemoryStore } from "./memory-store.ts"

/** A write that waits for a person, in a file of its own below `<home>/pending/memory`. */
export interface StagedWrite {
  readonly id: string
  /** ISO time. */
  readonly createdAt: string
  readonly write: MemoryWrite
}

const MAX_BYTES = 100_000
/** More than a person would ever look through; beyond it a write is refused. */
const MAX_WAITING = 200

/** Keeps a write for later and gives its id. */
export function stageWrite(directory: string, write: MemoryWrite, clock: Clock): Result<string> {
  try {
    makeDirectories(directory)
    if (stagedNames(directory).length >= MAX_WAITING) {
      return fail(`${MAX_WAITING} changes already wait for the person; they can decide with /memory`)
    }
    const id = randomHex(4)
    const created_at = new Date(clock.now()).toISOString()
    writeFileAtomic(stagedPath(directory, id), `${JSON.stringify({ id, created_at, ...fileForm(write) }, null, 2)}\n`)
    return ok(id)
  } catch (error) {
    return fail(`the change could not be kept for the person: ${explainSystemError(error)}`)
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

/** What waits, oldest first. A file that is not a staged write is left out. */
export function listStagedWrites(directory: string): readonly StagedWrite[] {
  return stagedNames(directory)
    .flatMap((name) => readStaged(directory, name.slice(0, -".json".length)) ?? [])
    .toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : a.id < b.id ? -1 : 1))
}

function stagedNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => name.endsWith(".json") && isId(name.slice(0, -".json".length)))
  } catch {
    return [] // there is no such folder yet, or none that can be read: then nothing can be decided about
  }
}

function stagedPath(directory: string, id: string): string {
  return join(directory, `${id}.json`)
}

/** Ids become file names, and people type them. */
function isId(text: string): boolean {
  return /^[\w-]{1,64}$/.test(text)
}

function readStaged(directory: string, id: string): StagedWrite | undefined {
  try {
    const { bytes } = readRegularFile(stagedPath(directory, id), { maxBytes: MAX_BYTES })
    return stagedWrite(id, parseJson(bytes.toString("utf8")))
  } catch {
    return undefined // gone, or not a file that can be read: then nothing of ours waits there
  }
}

function stagedWrite(id: string, value: unknown): StagedWrite | undefined {
  if (!isRecord(value)) return undefined
  const { action, target, content, old_text: oldText, created_at: createdAt } = value
  if (target !== "memory" && target !== "user") return undefined
  const at = { id, createdAt: typeof createdAt === "string" ? createdAt : "" }
  if (action === "add" && typeof content === "string") return { ...at, write: { action, target, content } }
  if (typeof oldText !== "string") return undefined
  if (action === "remove") return { ...at, write: { action, target, oldText } }
  if (action !== "replace" || typeof content !== "string") return undefined
  return { ...at, write: { action, target, oldText, content } }
}

/** Does what was staged. It waits no longer, unless the store refuses it. `store` must not ask for approval again. */
export async function applyStagedWrite(directory: string, id: string, store: MemoryStore): Promise<MemoryAnswer> {
  const staged = isId(id) ? readStaged(directory, id) : undefined
  if (staged === undefined) return refused(`no change with the id ${id} waits`)
  const answer = await applyWrite(staged.write, store)
  if (answer.kind === "done") removeStaged(directory, id)
  return answer
}

function applyWrite(write: MemoryWrite, store: MemoryStore): Promise<MemoryAnswer> {
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

/** Whether there was such a write; it is gone then. */
export function discardStagedWrite(directory: string, id: string): boolean {
  if (!isId(id) || readStaged(directory, id) === undefined) return false
  return removeStaged(directory, id)
}

function removeStaged(directory: string, id: string): boolean {
  try {
    rmSync(stagedPath(directory, id), { force: true })
    return true
  } catch {
    return false // it goes on waiting; applied twice it changes nothing
  }
}
