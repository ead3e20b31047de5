import { statSync, utimesSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

import { epochSeconds } from "../../base/clock.ts"
import type { Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { ellipsize, scrubSurrogates } from "../../base/text.ts"
import { scanThreats } from "../threat-scan.ts"
import { consolidateLearnings } from "./consolidate-learnings.ts"
import { fingerprintOf, mergeLearnings, lastConfirmedAt } from "./learning.ts"
import type { Learning } from "./learning.ts"
import { openLearningsFile } from "./learnings-file.ts"
import type { LearningLine, LearningsFile } from "./learnings-file.ts"
import { indexLearnings, rankLearnings } from "./rank-learnings.ts"
import type { FoundLearning, RankIndex } from "./rank-learnings.ts"

/** An error and its fix, as reported by the caller. */
export interface NewLearning {
  readonly pattern: string
  readonly fix: string
  readonly errorType?: string | undefined
  readonly context?: string | undefined
  readonly tags?: readonly string[] | undefined
  readonly tool?: string | undefined
  readonly source?: "auto" | undefined
  readonly args?: string | undefined
}

export interface SavedLearning {
  readonly learning: Learning
  /** True when an existing learning was updated. */
  readonly merged: boolean
}

/**
 * Stores pairs of error and fix in `<home>/learnings.jsonl`, shared by all sessions of a home. Caches the file in memory and reads it
 * again when another process has changed it. Returns failures as messages; never throws.
 */
export interface LearningsStore {
  save(learning: NewLearning): Promise<Result<SavedLearning>>
  search(query: string, options?: LearningSearchOptions): Result<readonly FoundLearning[]>
  /** Newest first. */
  list(limit?: number): Result<readonly Learning[]>
  remove(id: string): Promise<Result<Learning>>
  /** Records that a learning has helped. */
  recordUse(id: string): Promise<Result<Learning>>
  /** Returns the learnings that helped most often, without those that never did. */
  mostUsed(count: number): Result<readonly Learning[]>
  /** Merges duplicates and drops useless learnings. Unless forced, runs once a day or when a large file has changed. */
  consolidate(options?: { readonly force?: boolean }): Promise<Result<ConsolidateOutcome>>
}

export interface LearningSearchOptions {
  /** Return only learnings with all of these tags. */
  readonly tags?: readonly string[] | undefined
  readonly limit?: number | undefined
}

export interface ConsolidateOutcome {
  readonly before: number
  readonly after: number
}

interface StoreOptions {
  readonly path: string
  readonly clock: Clock
  readonly redact: (text: string) => string
}

export function createLearningsStore(options: StoreOptions): LearningsStore {
  const { path, clock } = options
  const file = openLearningsFile(path)
  const indexed = createIndex(file)
  const withLock = <T>(work: () => Result<T>): Promise<Result<T>> => lockedChange(path, work)

  return {
    save: async (learning) => {
      const checked = validate(learning, options)
      if (!checked.ok) return checked
      return await withLock(() => ok(saveIn(file, checked.value)))
    },
    search: (query, { tags = [], limit = DEFAULT_LIMIT } = {}) =>
      tryRead(() => rankLearnings(query, indexed(), { now: epochSeconds(clock), tags }).slice(0, limit)),
    list: (limit = Number.POSITIVE_INFINITY) =>
      tryRead(() =>
        learningsOf(file.lines())
          .toSorted((a, b) => b.createdAt - a.createdAt)
          .slice(0, limit),
      ),
    remove: async (id) => await withLock(() => editIn(file, id, () => undefined)),
    recordUse: async (id) =>
      await withLock(() =>
        editIn(file, id, (learning) => ({
          ...learning,
          timesUsed: learning.timesUsed + 1,
          lastUsedAt: epochSeconds(clock),
        })),
      ),
    mostUsed: (count) =>
      tryRead(() =>
        learningsOf(file.lines())
          .filter(({ timesUsed }) => timesUsed > 0)
          .toSorted((a, b) => b.timesUsed - a.timesUsed || lastConfirmedAt(b) - lastConfirmedAt(a))
          .slice(0, count),
      ),
    consolidate: async ({ force = false } = {}) => {
      const state = tryRead(() => {
        const count = learningsOf(file.lines()).length
        return { count, due: force || isDue(path, count, clock) }
      })
      if (!state.ok) return state
      const { count, due } = state.value
      return due ? await withLock(() => ok(consolidateIn(file, { path, clock }))) : ok({ before: count, after: count })
    },
  }
}

const DEFAULT_LIMIT = 5
const MAX_LENGTH = {
  pattern: 300,
  fix: 800,
  context: 500,
  errorType: 60,
  tool: 64,
  tag: 40,
  tags: 10,
  args: 300,
} as const
const LOCK_WAIT_MS = 2000

/** Redacts and truncates the fields of a learning, and rejects prompt injection. */
function validate(learning: NewLearning, { clock, redact }: StoreOptions): Result<Learning> {
  const clean = (value: string | undefined, max: number): string =>
    ellipsize(redact(scrubSurrogates(value ?? "").trim()), max)
  const pattern = clean(learning.pattern, MAX_LENGTH.pattern)
  const fix = clean(learning.fix, MAX_LENGTH.fix)
  if (pattern === "") return fail("nothing was saved: pattern is empty; describe the error")
  if (fix === "") return fail("nothing was saved: fix is empty; describe what helped")
  const tags = [...new Set((learning.tags ?? []).map((tag) => clean(tag, MAX_LENGTH.tag).toLowerCase()))].filter(
    (tag) => tag !== "",
  )
  const errorType = clean(learning.errorType, MAX_LENGTH.errorType)
  const context = clean(learning.context, MAX_LENGTH.context)
  const tool = clean(learning.tool, MAX_LENGTH.tool)
  const args = clean(learning.args, MAX_LENGTH.args)
  const everything = [
    learning.pattern,
    learning.fix,
    learning.context,
    learning.errorType,
    learning.args,
    ...tags,
  ].join("\n")
  const threats = scanThreats(everything, "strict")
  if (threats.length > 0) {
    return fail(`nothing was saved: the text looks like prompt injection (${threats.join(", ")}); rephrase it`)
  }
  return ok({
    id: randomHex(4),
    pattern,
    errorType,
    fix,
    context,
    tags: tags.slice(0, MAX_LENGTH.tags),
    createdAt: epochSeconds(clock),
    lastUsedAt: null,
    timesUsed: 0,
    ...(tool === "" ? {} : { tool }),
    ...(learning.source === undefined ? {} : { source: learning.source }),
    ...(args === "" ? {} : { args }),
    unknown: {},
  })
}

function saveIn(file: LearningsFile, fresh: Learning): SavedLearning {
  const lines = file.lines()
  const fingerprint = fingerprintOf(fresh)
  const known = learningsOf(lines).find((learning) => fingerprintOf(learning) === fingerprint)
  if (known === undefined) {
    file.append(fresh)
    return { learning: fresh, merged: false }
  }
  const merged = mergeLearnings(known, { ...fresh, timesUsed: 1, lastUsedAt: fresh.createdAt })
  file.replace(lines.map((line) => (isOf(line, known) ? { kind: "learning", learning: merged } : line)))
  return { learning: merged, merged: true }
}

function editIn(file: LearningsFile, id: string, edit: (learning: Learning) => Learning | undefined): Result<Learning> {
  const lines = file.lines()
  const known = learningsOf(lines).find((learning) => learning.id === id)
  if (known === undefined) return fail(`there is no learning ${id}`)
  const edited = edit(known)
  file.replace(
    lines.flatMap((line) => {
      if (!isOf(line, known)) return [line]
      return edited === undefined ? [] : [{ kind: "learning", learning: edited } as const]
    }),
  )
  return ok(edited ?? known)
}

function consolidateIn(file: LearningsFile, { path, clock }: Pick<StoreOptions, "path" | "clock">): ConsolidateOutcome {
  const lines = file.lines()
  const before = learningsOf(lines)
  const after = consolidateLearnings(before, { now: epochSeconds(clock) })
  if (before.length !== after.size) file.replace(lines.flatMap((line) => consolidatedLine(line, after)))
  touchMarker(path, clock)
  return { before: before.length, after: after.size }
}

function consolidatedLine(line: LearningLine, after: ReadonlyMap<Learning, Learning>): readonly LearningLine[] {
  if (line.kind === "unparsed") return [line]
  const kept = after.get(line.learning)
  if (kept === undefined) return []
  return [kept === line.learning ? line : { kind: "learning", learning: kept }]
}

const LARGE_COUNT = 200
const DAY_MS = 86_400_000

/** An empty file whose modification time is that of the last consolidation. */
function markerPath(path: string): string {
  return `${path}.consolidated`
}

function isDue(path: string, count: number, clock: Clock): boolean {
  if (count === 0) return false
  const marker = statSync(markerPath(path), { throwIfNoEntry: false })
  if (marker === undefined || clock.now() - marker.mtimeMs > DAY_MS) return true
  return count > LARGE_COUNT && (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > marker.mtimeMs
}

function touchMarker(path: string, clock: Clock): void {
  writeFileSync(markerPath(path), "", { mode: 0o600 })
  utimesSync(markerPath(path), new Date(clock.now()), new Date(clock.now()))
}

function learningsOf(lines: readonly LearningLine[]): readonly Learning[] {
  return lines.flatMap((line) => (line.kind === "learning" ? [line.learning] : []))
}

function isOf(line: LearningLine, learning: Learning): boolean {
  return line.kind === "learning" && line.learning === learning
}

/** Rebuilds the word index when the lines change. */
function createIndex(file: LearningsFile): () => RankIndex {
  let cached: { readonly lines: readonly LearningLine[]; readonly index: RankIndex } | undefined
  return () => {
    const lines = file.lines()
    if (cached?.lines !== lines) cached = { lines, index: indexLearnings(learningsOf(lines)) }
    return cached.index
  }
}

async function lockedChange<T>(path: string, work: () => Result<T>): Promise<Result<T>> {
  try {
    makeDirectories(dirname(path))
    return await withFileLock(`${path}.lock`, { waitMs: LOCK_WAIT_MS }, work)
  } catch (error) {
    return fail(`the learnings were not changed: ${explainSystemError(error)}`)
  }
}

function tryRead<T>(work: () => T): Result<T> {
  try {
    return ok(work())
  } catch (error) {
    return fail(`the learnings cannot be read: ${explainSystemError(error)}`)
  }
}
