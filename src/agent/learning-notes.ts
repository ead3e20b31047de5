import type { Clock } from "../base/clock.ts"
import { stringField } from "../base/json.ts"
import type { Logger } from "../base/logger.ts"
import type { Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import type { CandidateFile } from "../knowledge/learnings/candidate-file.ts"
import { jaccard, normaliseError, errorWords } from "../knowledge/learnings/error-words.ts"
import type { Learning } from "../knowledge/learnings/learning.ts"
import { errorTraits, isSameError } from "../knowledge/learnings/same-error.ts"
import type { LearningsStore } from "../knowledge/learnings/learnings-store.ts"
import { scanThreats } from "../knowledge/threat-scan.ts"
import { defuseSteerMarkers } from "../toolkit/untrusted.ts"
import type { SettledCall, ResultNote } from "./facet.ts"
import { callFailure } from "./call-failure.ts"
import { argumentWords, createLearningCandidates, familyOf, SAME_SITUATION } from "./learning-candidates.ts"

/** Captures learnings from failed calls and shows them with later results. Never fails a call: its own errors are logged. */
export interface LearningNotes {
  /** Observes every call and adds the fix of a similar earlier failure to its result. */
  readonly note: ResultNote
  beginTurn(): void
  /** The most used learnings, one line each, for the system prompt. */
  top(count: number): readonly string[]
  /** Stores what a later process needs to continue. */
  close(): Promise<void>
}

export interface LearningNotesOptions {
  readonly store: Pick<LearningsStore, "save" | "search" | "list" | "recordUse" | "mostUsed">
  readonly candidates: CandidateFile
  /** The id of the current session. */
  readonly session: () => string
  readonly clock: Clock
  readonly autoCapture: boolean
  readonly autoInject: boolean
  readonly log: Logger
}

/**
 * Both score and relevance must reach this. The score includes how often a learning was used, which must not make an unrelated one
 * match.
 */
const MIN_SCORE = 0.35
/** Word overlap with the failed arguments from which a call counts as similar. */
const SIMILAR_ARGUMENTS = 0.8
/** Learnings of a search that are compared with the error in detail. */
const MAX_COMPARED = 20
const MAX_LINES_PER_TURN = 3
const MAX_FIX_CHARS = 300
const MAX_PATTERN_CHARS = 160

export function createLearningNotes(options: LearningNotesOptions): LearningNotes {
  const { store } = options
  const argsOf = memoized((learning: Learning) => errorWords(learning.args ?? ""))
  const traitsOf = memoized((learning: Learning) => errorTraits(learning.pattern))
  /** The very same error of a similar call, for errors without a telling word. */
  const isRepetition = (
    call: SettledCall,
    { error, learning }: { readonly error: string; readonly learning: Learning },
  ): boolean =>
    normaliseError(error) === normaliseError(learning.pattern) &&
    jaccard(argsOf(learning), errorWords(argumentWords(call.args))) >= SAME_SITUATION
  let turn = 0
  let shownInTurn = new Set<string>()
  /** The learning shown after the last failure; it counts as used when the next call of that family succeeds. */
  let pending: { readonly id: string; readonly family: string } | undefined

  const logged = new Set<string>()
  const logOnce = (problem: string): void => {
    if (!logged.has(problem)) options.log.warning(problem)
    logged.add(problem)
  }
  const valueOrLog = <T>(result: Result<T>): T | undefined => {
    if (!result.ok) logOnce(result.error)
    return result.ok ? result.value : undefined
  }
  const candidates = createLearningCandidates({
    file: options.candidates,
    session: options.session,
    clock: options.clock,
    report: logOnce,
  })
  /** The line for a learning; undefined when it was already shown in this turn or the turn has enough lines. */
  const show = (learning: Learning, opening: string): string | undefined => {
    if (shownInTurn.has(learning.id) || shownInTurn.size >= MAX_LINES_PER_TURN) return undefined
    shownInTurn.add(learning.id)
    return `[${opening} (learning:${learning.id}). What worked then: ${oneLine(learning.fix, MAX_FIX_CHARS)}]`
  }

  const similarError = (call: SettledCall, error: string): string | undefined => {
    const reported = errorTraits(error)
    const found = valueOrLog(store.search(normaliseError(error), { limit: MAX_COMPARED })) ?? []
    const best = found.find(
      ({ learning, relevance, score }) =>
        relevance >= MIN_SCORE &&
        score > MIN_SCORE &&
        (learning.tool === undefined || learning.tool === call.tool) &&
        (isSameError(reported, traitsOf(learning), { sameTool: learning.tool === call.tool }) ||
          isRepetition(call, { error, learning })) &&
        trusted(learning),
    )
    if (best === undefined) return undefined
    const line = show(best.learning, "Similar to an earlier error")
    if (line !== undefined) pending = { id: best.learning.id, family: familyOf(call) }
    return line
  }
  const similarCall = (call: SettledCall): string | undefined => {
    if (!isRisky(call)) return undefined
    const failed = (valueOrLog(store.list()) ?? []).filter(({ tool, args }) => tool === call.tool && args !== undefined)
    if (failed.length === 0) return undefined
    const words = errorWords(argumentWords(call.args))
    const known = failed.find(
      (learning) => isSimilarCall({ failed: argsOf(learning), now: words, learning }) && trusted(learning),
    )
    return known === undefined ? undefined : show(known, `A similar call of ${call.tool} failed before`)
  }

  const afterFailure = async (call: SettledCall, error: string): Promise<string | undefined> => {
    const learning = options.autoCapture ? await candidates.recordFailure(call, error, turn) : undefined
    if (learning !== undefined) valueOrLog(await store.save(learning))
    if (pending?.family === familyOf(call)) pending = undefined
    return options.autoInject ? similarError(call, error) : undefined
  }
  const afterSuccess = async (call: SettledCall): Promise<string | undefined> => {
    if (options.autoCapture) await candidates.recordSuccess(call, turn)
    const helped = pending?.family === familyOf(call) ? pending.id : undefined
    if (helped !== undefined) {
      pending = undefined
      valueOrLog(await store.recordUse(helped))
    }
    return options.autoInject ? similarCall(call) : undefined
  }

  return {
    note: async (call) => {
      if (call.entry?.role === "learnings") {
        if (isSave(call)) await candidates.recordSaved(stringField(call.args, "pattern") ?? "")
        return undefined
      }
      if (call.entry === undefined || call.entry.housekeeping === true) return undefined
      if (call.outcome !== "ok" && call.outcome !== "error") return undefined
      const error = callFailure(call)
      return error === undefined ? await afterSuccess(call) : await afterFailure(call, error)
    },
    beginTurn: () => {
      turn += 1
      shownInTurn = new Set()
    },
    top: (count) => {
      if (!options.autoInject) return []
      const best = valueOrLog(store.mostUsed(count)) ?? []
      return best.filter(trusted).map(promptLine)
    },
    close: async () => {
      await candidates.close()
    },
  }
}

function isSave({ args, outcome }: SettledCall): boolean {
  return args["action"] === "save" && outcome === "ok"
}

function isRisky({ access }: SettledCall): boolean {
  return access === "exec" || access === "write" || access === "network"
}

/**
 * Whether the call has arguments like those that failed. A call whose additional words all come from the fix is already corrected
 * and does not count.
 */
function isSimilarCall(call: {
  readonly failed: ReadonlySet<string>
  readonly now: ReadonlySet<string>
  readonly learning: Learning
}): boolean {
  const { failed, now } = call
  if (jaccard(failed, now) < SIMILAR_ARGUMENTS) return false
  const additional = [...now].filter((word) => !failed.has(word))
  const fix = errorWords(call.learning.fix)
  return additional.length === 0 || !additional.every((word) => fix.has(word))
}

/** Computes a value once per learning. */
function memoized<T>(work: (learning: Learning) => T): (learning: Learning) => T {
  const known = new WeakMap<Learning, T>()
  return (learning) => {
    const found = known.get(learning) ?? work(learning)
    known.set(learning, found)
    return found
  }
}

/** Other programs can edit the file, so entries that look like a prompt injection are never shown. */
function trusted({ pattern, fix }: Learning): boolean {
  return scanThreats(`${pattern}\n${fix}`, "strict").length === 0
}

function promptLine(learning: Learning): string {
  const pattern = oneLine(learning.pattern, MAX_PATTERN_CHARS)
  return `- ${pattern} → ${oneLine(learning.fix, MAX_FIX_CHARS)} (learning:${learning.id})`
}

function oneLine(text: string, max: number): string {
  return ellipsize(defuseSteerMarkers(text).replaceAll(/\s+/gu, " ").trim(), max)
}
