import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { epochSeconds, type Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { codePointLength, ellipsize } from "../../base/text.ts"
import { checkedWrite, planWrite, refused, type MemoryRefusal, type MemoryWrite } from "./memory-edit.ts"
import {
  joinEntries,
  MEMORY_TARGETS,
  readMemoryFile,
  usageText,
  type MemoryContent,
  type MemoryFile,
  type MemoryTarget,
} from "./memory-file.ts"
import { searchTexts, type SearchedText } from "./memory-search.ts"
import { moveFromOlderPlace } from "./older-layout.ts"

/** The two memory files of a home. What went wrong is part of every answer; nothing here throws. */
export interface MemoryStore {
  add(target: MemoryTarget, content: string, approval?: Approval): Promise<MemoryAnswer>
  replace(
    target: MemoryTarget,
    change: { readonly oldText: string; readonly content: string },
    approval?: Approval,
  ): Promise<MemoryAnswer>
  remove(target: MemoryTarget, oldText: string, approval?: Approval): Promise<MemoryAnswer>
  read(target: MemoryTarget): MemoryAnswer
  search(query: string): Promise<readonly SearchedText[]>
  /** What a new session's prompt shows. */
  snapshot(): MemorySnapshot
  /** When the writes that have begun are done. */
  settled(): Promise<void>
}

export interface MemoryStoreOptions {
  readonly memoryPath: string
  readonly userPath: string
  readonly limits: Readonly<Record<MemoryTarget, number>>
  readonly clock: Clock
  /** Files that are switched off: not shown, not written. */
  readonly off?: readonly MemoryTarget[]
  /** Given when a person must agree to every write: keeps one for later and gives its id. */
  readonly stage?: (write: MemoryWrite) => Result<string>
  /** Told about every change that reached the disk. */
  readonly onWrite?: (write: MemoryWrite) => void
  /** Learnings that may answer a query, to be ranked with the entries. Must not reject. */
  readonly searchLearnings?: (query: string) => Promise<readonly Omit<SearchedText, "source">[]>
}

/** Asks the person about a write. `nobody`: there is no one to ask, so it waits. */
export type Approval = (write: MemoryWrite) => Promise<"yes" | "no" | "nobody">

export type MemoryAnswer =
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
  /** Sentences for the person: a file that was moved, cut or could not be read. */
  readonly notices: readonly string[]
}

const LOCK_WAIT_MS = 5000
/** A prompt may show somewhat more than the limit, since limits change; beyond this the file is no longer curated. */
const SNAPSHOT_LIMITS = 4

export function createMemoryStore(options: MemoryStoreOptions): MemoryStore {
  const { limits, off = [] } = options
  const files: Readonly<Record<MemoryTarget, MemoryFile>> = {
    memory: { path: options.memoryPath, limitChars: limits.memory },
    user: { path: options.userPath, limitChars: limits.user },
  }
  const moved = onceFor((target) => moveFromOlderPlace(files[target].path))
  const running = new Set<Promise<MemoryAnswer>>()

  const content = (target: MemoryTarget): MemoryContent => {
    moved(target)
    return readMemoryFile(files[target])
  }
  const write = async (wanted: MemoryWrite, approval: Approval | undefined): Promise<MemoryAnswer> => {
    if (off.includes(wanted.target)) return refused(`the ${wanted.target} file is switched off in the settings`)
    moved(wanted.target)
    const work = approvedWrite(wanted, { ...options, approval, file: files[wanted.target] })
    running.add(work)
    try {
      return await work
    } finally {
      running.delete(work)
    }
  }

  return {
    add: (target, text, approval) => write({ action: "add", target, content: text }, approval),
    replace: (target, change, approval) => write({ action: "replace", target, ...change }, approval),
    remove: (target, oldText, approval) => write({ action: "remove", target, oldText }, approval),
    read: (target) => readAnswer(target, content(target), files[target]),
    search: async (query) => {
      const learnings = (await options.searchLearnings?.(query)) ?? []
      return searchTexts(query, [
        ...MEMORY_TARGETS.flatMap((target) => searchedEntries(target, content(target))),
        ...learnings.map((learning): SearchedText => ({ ...learning, source: "learning" })),
      ])
    },
    snapshot: () => {
      const shown = (target: MemoryTarget): Shown =>
        off.includes(target) ? { entries: [], notices: [] } : shownEntries(content(target), files[target])
      const [memory, user] = [shown("memory"), shown("user")]
      const moves = MEMORY_TARGETS.flatMap((target) => moved(target) ?? [])
      return {
        memory: memory.entries,
        user: user.entries,
        notices: [...moves, ...memory.notices, ...user.notices],
      }
    },
    settled: async () => {
      await Promise.allSettled(running)
    },
  }
}

function onceFor<T>(work: (target: MemoryTarget) => T): (target: MemoryTarget) => T {
  const done = new Map<MemoryTarget, { readonly value: T }>()
  return (target) => {
    const known = done.get(target) ?? { value: work(target) }
    done.set(target, known)
    return known.value
  }
}

interface WriteContext extends MemoryStoreOptions {
  readonly file: MemoryFile
  readonly approval: Approval | undefined
}

/** A write nobody has to agree to happens at once. Otherwise it must be possible first: a person is not asked in vain. */
async function approvedWrite(wanted: MemoryWrite, context: WriteContext): Promise<MemoryAnswer> {
  const write = checkedWrite(wanted)
  if ("kind" in write) return write
  if (context.stage === undefined) return await commit(write, context)
  const possible = await underLock(context.file, () => changedEntries(write, context))
  if (possible.kind !== "change") return possible
  const verdict = (await context.approval?.(write)) ?? "nobody"
  if (verdict === "yes") return await commit(write, context)
  if (verdict === "no") return refused("the person does not want this change; do not try it again")
  const staged = context.stage(write)
  return staged.ok ? { kind: "staged", target: write.target, id: staged.value } : refused(staged.error)
}

async function commit(write: MemoryWrite, context: WriteContext): Promise<MemoryAnswer> {
  const { file } = context
  let written = false
  const answer = await underLock(file, () => {
    const planned = changedEntries(write, context)
    if (planned.kind !== "change") return planned
    writeFileAtomic(file.path, joinEntries(planned.entries), { mode: 0o600 })
    written = true
    return done(write.target, planned.entries, { file, message: planned.message })
  })
  if (written) context.onWrite?.(write)
  return answer
}

async function underLock<T>(file: MemoryFile, work: () => T): Promise<T | MemoryRefusal> {
  try {
    makeDirectories(dirname(file.path))
    return await withFileLock(`${file.path}.lock`, { waitMs: LOCK_WAIT_MS }, work)
  } catch (error) {
    return refused(`memory was not changed: ${explainSystemError(error)}`)
  }
}

type Planned =
  | { readonly kind: "change"; readonly entries: readonly string[]; readonly message: string }
  | Exclude<MemoryAnswer, { readonly kind: "staged" }>

/** To be called under the lock: decides on what the file holds at this moment. */
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
  const backup = keepCopy(file.path, content.bytes, Math.floor(epochSeconds(clock)))
  return refused(
    `${basename(file.path)} was changed by somebody else and was not overwritten: ${content.reason}. ` +
      `A copy is in ${backup}. Ask the person to put ${file.path} in order: short entries, a line with only § between them`,
    { backup },
  )
}

/** A copy beside the file. The same content is copied once, however often a write is tried. */
function keepCopy(path: string, bytes: Buffer, epoch: number): string {
  const directory = dirname(path)
  const prefix = `${basename(path)}.bak.`
  const known = readdirSync(directory, { withFileTypes: true })
    .filter((item) => item.isFile() && item.name.startsWith(prefix))
    .find(({ name }) => readFileSync(join(directory, name)).equals(bytes))?.name
  if (known !== undefined) return join(directory, known)
  const free = freeName(join(directory, `${prefix}${epoch}`), new Set(readdirSync(directory)))
  writeFileSync(free, bytes, { mode: 0o600, flag: "wx" })
  return free
}

function freeName(path: string, taken: ReadonlySet<string>): string {
  if (!taken.has(basename(path))) return path
  for (let number = 2; ; number += 1) {
    const name = `${path}-${number}`
    if (!taken.has(basename(name))) return name
  }
}

function readAnswer(target: MemoryTarget, content: MemoryContent, file: MemoryFile): MemoryAnswer {
  if (content.kind === "unreadable") return refused(unreadable(file, content.reason))
  const count = content.entries.length === 1 ? "1 entry" : `${content.entries.length} entries`
  const message =
    content.kind === "drifted" ? `${basename(file.path)} cannot be written at present: ${content.reason}` : count
  return done(target, content.entries, { file, message })
}

function done(
  target: MemoryTarget,
  entries: readonly string[],
  { file, message }: { readonly file: MemoryFile; readonly message: string },
): Extract<MemoryAnswer, { kind: "done" }> {
  return { kind: "done", target, entries, usage: usageText(entries, file.limitChars), message }
}

function unreadable(file: MemoryFile, reason: string): string {
  return `${file.path} could not be read: ${reason}`
}

function searchedEntries(target: MemoryTarget, content: MemoryContent): readonly SearchedText[] {
  if (content.kind === "unreadable") return []
  return content.entries.map((text) => ({ source: target, text, at: content.changedAt }))
}

interface Shown {
  readonly entries: readonly string[]
  readonly notices: readonly string[]
}

/** The entries of a prompt are bounded, whatever somebody put into the file. */
function shownEntries(content: MemoryContent, file: MemoryFile): Shown {
  if (content.kind === "unreadable") return { entries: [], notices: [`${unreadable(file, content.reason)}.`] }
  const cut = content.entries.map((entry) => ellipsize(entry, Math.max(file.limitChars, 1), " […]"))
  const room = file.limitChars * SNAPSHOT_LIMITS
  let used = 0
  const entries = cut.filter((entry) => (used += codePointLength(entry)) <= room)
  const left = content.entries.length - entries.length
  return {
    entries,
    notices: [
      ...(content.kind === "drifted" ? [`${file.path} is not in order: ${content.reason}.`] : []),
      ...(left === 0 ? [] : [`${left} entries of ${file.path} are beyond its limit and were left out.`]),
    ],
  }
}
