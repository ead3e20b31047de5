import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { unusedPath } from "../../base/kept-copies.ts"
import { epochSeconds, type Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { codePointLength, ellipsize } from "../../base/text.ts"
import { validateWrite, planWrite, refused, type MemoryRefusal, type MemoryWrite } from "./memory-edit.ts"
import {
  joinEntries,
  MEMORY_TARGETS,
  readMemoryFile,
  usageText,
  type MemoryContent,
  type MemoryFile,
  type MemoryTarget,
} from "./memory-file.ts"
import { searchByKeywords, type SearchableText } from "./memory-search.ts"
import { migrateMemoryFile } from "./migrate-memory-file.ts"

/** The two memory files of a home. Reports failures in its results; never throws. */
export interface MemoryStore {
  add(target: MemoryTarget, content: string, askApproval?: AskApproval): Promise<MemoryResult>
  replace(
    target: MemoryTarget,
    change: { readonly oldText: string; readonly content: string },
    askApproval?: AskApproval,
  ): Promise<MemoryResult>
  remove(target: MemoryTarget, oldText: string, askApproval?: AskApproval): Promise<MemoryResult>
  read(target: MemoryTarget): MemoryResult
  search(query: string): Promise<readonly SearchableText[]>
  /** The entries for the prompt of a new session. */
  snapshot(): MemorySnapshot
  /** Resolves when all pending writes have finished. */
  settled(): Promise<void>
}

export interface MemoryStoreOptions {
  readonly memoryPath: string
  readonly userPath: string
  readonly limits: Readonly<Record<MemoryTarget, number>>
  readonly clock: Clock
  /** Files that are neither shown nor written. */
  readonly disabled?: readonly MemoryTarget[]
  /** Set when the user must approve every write: stores a write for later and returns its id. */
  readonly stage?: (write: MemoryWrite) => Result<string>
  /** Called after every change on disk. */
  readonly onWrite?: (write: MemoryWrite) => void
  /** Returns learnings to rank together with the entries. Must not reject. */
  readonly searchLearnings?: (query: string) => Promise<readonly Omit<SearchableText, "source">[]>
}

/** Asks the user to approve a write. `unattended`: no user is present, so the write is staged. */
export type AskApproval = (write: MemoryWrite) => Promise<"yes" | "no" | "unattended">

export type MemoryResult =
  | {
      readonly kind: "done"
      readonly target: MemoryTarget
      readonly entries: readonly string[]
      readonly usage: string
      readonly message: string
    }
  | { readonly kind: "staged"; readonly target: MemoryTarget; readonly id: string }
  | MemoryRefusal

export interface MemorySnapshot {
  readonly memory: readonly string[]
  readonly user: readonly string[]
  /** Messages for the user: a file that was moved, truncated or could not be read. */
  readonly notices: readonly string[]
}

const LOCK_WAIT_MS = 5000
/** A prompt may show more than the limit, because the limit may have been lowered, but at most this multiple of it. */
const SNAPSHOT_FACTOR = 4

export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  const { limits, disabled = [] } = options
  const files: Readonly<Record<MemoryTarget, MemoryFile>> = {
    memory: { path: options.memoryPath, limitChars: limits.memory },
    user: { path: options.userPath, limitChars: limits.user },
  }
  const migrate = memoizeByTarget((target) => migrateMemoryFile(files[target].path))
  const pending = new Set<Promise<MemoryResult>>()

  const content = (target: MemoryTarget): MemoryContent => {
    migrate(target)
    return readMemoryFile(files[target])
  }
  const write = async (request: MemoryWrite, askApproval: AskApproval | undefined): Promise<MemoryResult> => {
    if (disabled.includes(request.target)) return refused(`the ${request.target} file is disabled in the settings`)
    migrate(request.target)
    const work = approvedWrite(request, { ...options, askApproval, file: files[request.target] })
    pending.add(work)
    try {
      return await work
    } finally {
      pending.delete(work)
    }
  }

  return {
    add: (target, text, askApproval) => write({ action: "add", target, content: text }, askApproval),
    replace: (target, change, askApproval) => write({ action: "replace", target, ...change }, askApproval),
    remove: (target, oldText, askApproval) => write({ action: "remove", target, oldText }, askApproval),
    read: (target) => readResult(target, content(target), files[target]),
    search: async (query) => {
      const learnings = (await options.searchLearnings?.(query)) ?? []
      return searchByKeywords(query, [
        ...MEMORY_TARGETS.flatMap((target) => searchedEntries(target, content(target))),
        ...learnings.map((learning): SearchableText => ({ ...learning, source: "learning" })),
      ])
    },
    snapshot: () => {
      const shown = (target: MemoryTarget): Shown =>
        disabled.includes(target) ? { entries: [], notices: [] } : shownEntries(content(target), files[target])
      const [memory, user] = [shown("memory"), shown("user")]
      const moves = MEMORY_TARGETS.flatMap((target) => migrate(target) ?? [])
      return {
        memory: memory.entries,
        user: user.entries,
        notices: [...moves, ...memory.notices, ...user.notices],
      }
    },
    settled: async () => {
      await Promise.allSettled(pending)
    },
  }
}

function memoizeByTarget<T>(work: (target: MemoryTarget) => T): (target: MemoryTarget) => T {
  const done = new Map<MemoryTarget, { readonly value: T }>()
  return (target) => {
    const result = done.get(target) ?? { value: work(target) }
    done.set(target, result)
    return result.value
  }
}

interface WriteContext extends MemoryStoreOptions {
  readonly file: MemoryFile
  readonly askApproval: AskApproval | undefined
}

/** Writes at once when no approval is required. Otherwise checks first that the write is possible, before it asks the user. */
async function approvedWrite(request: MemoryWrite, context: WriteContext): Promise<MemoryResult> {
  const write = validateWrite(request)
  if ("kind" in write) return write
  if (context.stage === undefined) return await commit(write, context)
  const possible = await underLock(context.file, () => changedEntries(write, context))
  if (possible.kind !== "change") return possible
  const answer = (await context.askApproval?.(write)) ?? "unattended"
  if (answer === "yes") return await commit(write, context)
  if (answer === "no") return refused("the user rejected this change; do not try it again")
  const staged = context.stage(write)
  return staged.ok ? { kind: "staged", target: write.target, id: staged.value } : refused(staged.error)
}

async function commit(write: MemoryWrite, context: WriteContext): Promise<MemoryResult> {
  const { file } = context
  let written = false
  const result = await underLock(file, () => {
    const planned = changedEntries(write, context)
    if (planned.kind !== "change") return planned
    writeFileAtomic(file.path, joinEntries(planned.entries), { mode: 0o600 })
    written = true
    return done(write.target, planned.entries, { file, message: planned.message })
  })
  if (written) context.onWrite?.(write)
  return result
}

async function underLock<T>(file: MemoryFile, work: () => T): Promise<T | MemoryRefusal> {
  try {
    makeDirectories(dirname(file.path))
    return await withFileLock(`${file.path}.lock`, { waitMs: LOCK_WAIT_MS, sharedWithPython: true }, work)
  } catch (error) {
    return refused(`memory was not changed: ${explainSystemError(error)}`)
  }
}

type Planned =
  | { readonly kind: "change"; readonly entries: readonly string[]; readonly message: string }
  | Exclude<MemoryResult, { readonly kind: "staged" }>

/** Plans a write from the current contents of the file. The caller must hold the lock. */
function changedEntries(write: MemoryWrite, { file, clock }: WriteContext): Planned {
  const content = readMemoryFile(file)
  if (content.kind === "unreadable") return refused(`memory was not changed: ${unreadable(file, content.reason)}`)
  if (content.kind === "drifted") return driftRefusal(content, { file, clock })
  const plan = planWrite(write, content.entries, file.limitChars)
  return plan.kind === "same" ? done(write.target, content.entries, { file, message: plan.message }) : plan
}

function driftRefusal(
  content: Extract<MemoryContent, { kind: "drifted" }>,
  { file, clock }: { readonly file: MemoryFile; readonly clock: Clock },
): MemoryRefusal {
  const backup = backUp(file.path, content.bytes, Math.floor(epochSeconds(clock)))
  return refused(
    `${basename(file.path)} was edited outside Hermes and was not overwritten: ${content.reason}. ` +
      `A copy is in ${backup}. Ask the user to fix ${file.path}: short entries, separated by lines with only §`,
    { backup },
  )
}

/** Copies the file to a backup next to it, unless a backup with the same content exists. Returns its path. */
function backUp(path: string, bytes: Buffer, epoch: number): string {
  const directory = dirname(path)
  const prefix = `${basename(path)}.bak.`
  const existing = readdirSync(directory, { withFileTypes: true })
    .filter((item) => item.isFile() && item.name.startsWith(prefix))
    .find(({ name }) => readFileSync(join(directory, name)).equals(bytes))?.name
  if (existing !== undefined) return join(directory, existing)
  const free = unusedPath(join(directory, `${prefix}${epoch}`))
  writeFileSync(free, bytes, { mode: 0o600, flag: "wx" })
  return free
}

function readResult(target: MemoryTarget, content: MemoryContent, file: MemoryFile): MemoryResult {
  if (content.kind === "unreadable") return refused(unreadable(file, content.reason))
  const count = content.entries.length === 1 ? "1 entry" : `${content.entries.length} entries`
  const message = content.kind === "drifted" ? `${basename(file.path)} cannot be written now: ${content.reason}` : count
  return done(target, content.entries, { file, message })
}

function done(
  target: MemoryTarget,
  entries: readonly string[],
  { file, message }: { readonly file: MemoryFile; readonly message: string },
): Extract<MemoryResult, { kind: "done" }> {
  return { kind: "done", target, entries, usage: usageText(entries, file.limitChars), message }
}

function unreadable(file: MemoryFile, reason: string): string {
  return `${file.path} could not be read: ${reason}`
}

function searchedEntries(target: MemoryTarget, content: MemoryContent): readonly SearchableText[] {
  if (content.kind === "unreadable") return []
  return content.entries.map((text) => ({ source: target, text, at: content.changedAt }))
}

interface Shown {
  readonly entries: readonly string[]
  readonly notices: readonly string[]
}

/** Bounds the entries for the prompt, because users may edit the file. */
function shownEntries(content: MemoryContent, file: MemoryFile): Shown {
  if (content.kind === "unreadable") return { entries: [], notices: [`${unreadable(file, content.reason)}.`] }
  const cut = content.entries.map((entry) => ellipsize(entry, Math.max(file.limitChars, 1), " […]"))
  const maxChars = file.limitChars * SNAPSHOT_FACTOR
  let used = 0
  const entries = cut.filter((entry) => (used += codePointLength(entry)) <= maxChars)
  const omitted = content.entries.length - entries.length
  return {
    entries,
    notices: [
      ...(content.kind === "drifted" ? [`${file.path} cannot be updated: ${content.reason}.`] : []),
      ...(omitted === 0 ? [] : [`${omitted} entries of ${file.path} exceed its limit and were left out.`]),
    ],
  }
}
