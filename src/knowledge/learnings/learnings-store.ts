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
import { fingerprintOf, mergeLearnings, provenAt } from "./learning.ts"
import type { Learning } from "./learning.ts"
import { openLearningsFile } from "./learnings-file.ts"
import type { LearningLine, LearningsFile } from "./learnings-file.ts"
import { indexLearnings, rankLearnings } from "./rank-learnings.ts"
import type { FoundLearning, RankIndex } from "./rank-learnings.ts"

/** What a caller says about an error and what helped. */
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
  /** It was known already and has been brought up to date. */
  readonly merged: boolean
}

/**
 * `<home>/learnings.jsonl`: error → fix pairs, shared by all sessions of a home. Kept in memory and read again when another
 * process has changed the file. Failures are sentences; nothing here throws.
 */
export interface LearningsStore {
  save(learning: NewLearning): Promise<Result<SavedLearning>>
  search(query: string, options?: SearchOptions): Result<readonly FoundLearning[]>
  /** Newest first. */
  list(limit?: number): Result<readonly Learning[]>
  remove(id: string): Promise<Result<Learning>>
  /** It helped once more. */
  used(id: string): Promise<Result<Learning>>
  /** Those that helped most often, without those that never did. */
  top(count: number): Result<readonly Learning[]>
  /** Merges, drops and bounds; called at the end of a session, it does its work once a day or when the file has grown. */
  consolidate(options?: { readonly force?: boolean }): Promise<Result<ConsolidateOutcome>>
}

export interface SearchOptions {
  /** Only learnings with all of these. */
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
  const change = <T>(work: () => Result<T>): Promise<Result<T>> => locked(path, work)

  return {
    save: async (wanted) => {
      const checked = acceptable(wanted, options)
      if (!checked.ok) return checked
      return await change(() => ok(saveIn(file, checked.value)))
    },
    search: (query, { tags = [], limit = DEFAULT_FOUND } = {}) =>
      reading(() => rankLearnings(query, indexed(), { now: epochSeconds(clock), tags }).slice(0, limit)),
    list: (limit = Number.POSITIVE_INFINITY) =>
      reading(() =>
        learningsOf(file.lines())
          .toSorted((a, b) => b.createdAt - a.createdAt)
          .slice(0, limit),
      ),
    remove: async (id) => await change(() => editIn(file, id, () => undefined)),
    used: async (id) =>
      await change(() =>
        editIn(file, id, (learning) => ({
          ...learning,
          timesUsed: learning.timesUsed + 1,
          lastUsedAt: epochSeconds(clock),
        })),
      ),
    top: (count) =>
      reading(() =>
        learningsOf(file.lines())
          .filter(({ timesUsed }) => timesUsed > 0)
          .toSorted((a, b) => b.timesUsed - a.timesUsed || provenAt(b) - provenAt(a))
          .slice(0, count),
      ),
    consolidate: async ({ force = false } = {}) => {
      const state = reading(() => {
        const count = learningsOf(file.lines()).length
        return { count, due: force || isDue(path, count, clock) }
      })
      if (!state.ok) return state
      const { count, due } = state.value
      return due ? await change(() => ok(consolidateIn(file, { path, clock }))) : ok({ before: count, after: count })
    },
  }
}

const DEFAULT_FOUND = 5
const MAX = { pattern: 300, fix: 800, context: 500, errorType: 60, tool: 64, tag: 40, tags: 10, args: 300 } as const
const LOCK_WAIT_MS = 2000

/** The learning as it may be kept: without orders to the agent, without secrets, bounded. */
function acceptable(wanted: NewLearning, { clock, redact }: StoreOptions): Result<Learning> {
  const clean = (value: string | undefined, max: number): string =>
    ellipsize(redact(scrubSurrogates(value ?? "").trim()), max)
  const pattern = clean(wanted.pattern, MAX.pattern)
  const fix = clean(wanted.fix, MAX.fix)
  if (pattern === "") return fail("nothing was kept: pattern is empty; say what went wrong")
  if (fix === "") return fail("nothing was kept: fix is empty; say what helped")
  const tags = [...new Set((wanted.tags ?? []).map((tag) => clean(tag, MAX.tag).toLowerCase()))].filter(
    (tag) => tag !== "",
  )
  const errorType = clean(wanted.errorType, MAX.errorType)
  const context = clean(wanted.context, MAX.context)
  const tool = clean(wanted.tool, MAX.tool)
  const args = clean(wanted.args, MAX.args)
  const everything = [wanted.pattern, wanted.fix, wanted.context, wanted.errorType, wanted.args, ...tags].join("\n")
  const threats = scanThreats(everything, "strict")
  if (threats.length > 0) {
    return fail(`nothing was kept: the text reads like an attack on the agent (${threats.join(", ")}); reword it`)
  }
  return ok({
    id: randomHex(4),
    pattern,
    errorType,
    fix,
    context,
    tags: tags.slice(0, MAX.tags),
    createdAt: epochSeconds(clock),
    lastUsedAt: null,
    timesUsed: 0,
    ...(tool === "" ? {} : { tool }),
    ...(wanted.source === undefined ? {} : { source: wanted.source }),
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
  markDone(path, clock)
  return { before: before.length, after: after.size }
}

function consolidatedLine(line: LearningLine, after: ReadonlyMap<Learning, Learning>): readonly LearningLine[] {
  if (line.kind === "foreign") return [line]
  const kept = after.get(line.learning)
  if (kept === undefined) return []
  return [kept === line.learning ? line : { kind: "learning", learning: kept }]
}

const MANY = 200
const DAY_MS = 86_400_000

/** An empty file beside the learnings whose time says when they were last put in order. */
function markOf(path: string): string {
  return `${path}.consolidated`
}

function isDue(path: string, count: number, clock: Clock): boolean {
  if (count === 0) return false
  const done = statSync(markOf(path), { throwIfNoEntry: false })
  if (done === undefined || clock.now() - done.mtimeMs > DAY_MS) return true
  return count > MANY && (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > done.mtimeMs
}

function markDone(path: string, clock: Clock): void {
  writeFileSync(markOf(path), "", { mode: 0o600 })
  utimesSync(markOf(path), new Date(clock.now()), new Date(clock.now()))
}

function learningsOf(lines: readonly LearningLine[]): readonly Learning[] {
  return lines.flatMap((line) => (line.kind === "learning" ? [line.learning] : []))
}

function isOf(line: LearningLine, learning: Learning): boolean {
  return line.kind === "learning" && line.learning === learning
}

/** The word index follows the lines it was made from. */
function createIndex(file: LearningsFile): () => RankIndex {
  let made: { readonly of: readonly LearningLine[]; readonly index: RankIndex } | undefined
  return () => {
    const lines = file.lines()
    if (made?.of !== lines) made = { of: lines, index: indexLearnings(learningsOf(lines)) }
    return made.index
  }
}

async function locked<T>(path: string, work: () => Result<T>): Promise<Result<T>> {
  try {
    makeDirectories(dirname(path))
    return await withFileLock(`${path}.lock`, { waitMs: LOCK_WAIT_MS }, work)
  } catch (error) {
    return fail(`the learnings were not changed: ${explainSystemError(error)}`)
  }
}

function reading<T>(work: () => T): Result<T> {
  try {
    return ok(work())
  } catch (error) {
    return fail(`the learnings cannot be read: ${explainSystemError(error)}`)
  }
}
