import { epochSeconds } from "../base/clock.ts"
import type { Clock } from "../base/clock.ts"
import { canonicalJson } from "../base/json.ts"
import { fingerprint, randomHex } from "../base/random-and-hash.ts"
import type { Result } from "../base/result.ts"
import { ellipsize, takeCodePoints } from "../base/text.ts"
import type { CandidateFile, LearningCandidate } from "../knowledge/learnings/candidate-file.ts"
import { jaccard, normaliseError, errorWords } from "../knowledge/learnings/error-words.ts"
import type { NewLearning } from "../knowledge/learnings/learnings-store.ts"
import type { SettledCall } from "./facet.ts"

/**
 * Failures that may become learnings: one is worth keeping when it was resolved once and occurs again in a later turn, of this or
 * another session. Resolved ones are stored at once, open ones when the session closes, so that they survive the process.
 */
export interface LearningCandidates {
  /** Returns the learning when the same failure was resolved in an earlier turn. */
  recordFailure(call: SettledCall, error: string, turn: number): Promise<NewLearning | undefined>
  recordSuccess(call: SettledCall, turn: number): Promise<void>
  /** The agent saved a learning about this error, so its candidates are dropped. */
  recordSaved(pattern: string): Promise<void>
  close(): Promise<void>
}

export interface LearningCandidatesOptions {
  readonly file: CandidateFile
  readonly session: () => string
  readonly clock: Clock
  readonly report: (problem: string) => void
}

/** Calls of the same family within which a call must succeed to count as the fix. */
const MAX_CALLS_TO_FIX = 5
const MAX_OPEN = 30
/** Word overlap below which a call is unrelated to the failed one: `ls` does not fix `npm install`. */
const RELATED_CALL = 0.2
/** The same error of a different call (another file is missing) is not a repetition. */
export const SAME_SITUATION = 0.5
/** Word overlap of two reports of one error. */
const REPEATED_ERROR = 0.8
/** Word overlap of a saved pattern and an error. */
const SAVED_ERROR = 0.3
const MAX_VALUE_CHARS = 200
const MAX_ARGUMENT_CHARS = 300

export function createLearningCandidates(options: LearningCandidatesOptions): LearningCandidates {
  const { file } = options
  let open: readonly LearningCandidate[] | undefined
  /** Resolved in this session, with the turn. Also in the file, unless it cannot be written. */
  const resolved = new Map<LearningCandidate, number>()
  const valueOr = <T>(result: Result<T>, fallback: T): T => {
    if (!result.ok) options.report(result.error)
    return result.ok ? result.value : fallback
  }
  const stored = (): readonly LearningCandidate[] => valueOr(file.read(), [])
  /** Open failures of this session, including those of the process that it continues. */
  const openOnes = (): readonly LearningCandidate[] => {
    open ??= stored().filter(({ change, session }) => change === undefined && session === options.session())
    return open
  }
  const forget = async (gone: readonly LearningCandidate[]): Promise<void> => {
    const ids = new Set(gone.map(({ id }) => id))
    open = openOnes().filter(({ id }) => !ids.has(id))
    for (const candidate of resolved.keys()) if (ids.has(candidate.id)) resolved.delete(candidate)
    if (stored().some(({ id }) => ids.has(id))) {
      valueOr(await file.update((current) => current.filter(({ id }) => !ids.has(id))), [])
    }
  }
  /** Counts a call against the open failures of its family and drops those that have no calls left. */
  const countCall = (call: SettledCall): void => {
    const family = familyOf(call)
    open = openOnes()
      .map((one) => (one.family === family ? { ...one, callsLeft: one.callsLeft - 1 } : one))
      .filter(({ callsLeft }) => callsLeft > 0)
  }

  return {
    recordFailure: async (call, error, turn) => {
      const fresh = candidateFrom(call, error, options)
      const own = [...resolved.keys()]
      const ids = new Set(own.map(({ id }) => id))
      const known = [...own, ...stored().filter(({ id }) => !ids.has(id))].find(
        (candidate) => candidate.change !== undefined && isRepetition(candidate, fresh),
      )
      if (known?.change !== undefined) {
        if ((resolved.get(known) ?? Number.NEGATIVE_INFINITY) >= turn) return undefined
        await forget([known])
        return learningFrom(known, known.change)
      }
      open = openOnes().filter((candidate) => !isSameReport(candidate, fresh))
      countCall(call)
      open = [...open, fresh].slice(-MAX_OPEN)
      return undefined
    },
    recordSuccess: async (call, turn) => {
      const family = familyOf(call)
      const waiting = openOnes().filter((candidate) => candidate.family === family)
      if (waiting.length === 0) return
      const { temporary, fixed } = settledBy(call, waiting)
      const settled = new Set([...temporary, ...fixed])
      open = openOnes().filter((candidate) => !settled.has(candidate))
      countCall(call)
      if (fixed.length === 0) return
      const solved = fixed.map((candidate) => ({ ...candidate, change: changeBetween(candidate, call) }))
      for (const candidate of solved) resolved.set(candidate, turn)
      const ids = new Set(solved.map(({ id }) => id))
      valueOr(await file.update((current) => [...current.filter(({ id }) => !ids.has(id)), ...solved]), [])
    },
    recordSaved: async (pattern) => {
      const saved = errorWords(pattern)
      const all = [...openOnes(), ...resolved.keys(), ...stored()]
      await forget(all.filter(({ error }) => jaccard(errorWords(error), saved) >= SAVED_ERROR))
    },
    close: async () => {
      if (open === undefined) return
      const session = options.session()
      const isLeft = ({ change, session: of }: LearningCandidate): boolean => change === undefined && of === session
      if (open.length === 0 && !stored().some(isLeft)) return
      const left = open.map((candidate) => ({ ...candidate, session }))
      valueOr(await file.update((current) => [...current.filter((one) => !isLeft(one)), ...left]), [])
    },
  }
}

/** The failures that a successful call settles: as temporary, when it is the same call, or as fixed. */
function settledBy(
  call: SettledCall,
  waiting: readonly LearningCandidate[],
): { readonly temporary: readonly LearningCandidate[]; readonly fixed: readonly LearningCandidate[] } {
  const argsHash = hashOf(call.args)
  const words = errorWords(argumentWords(call.args))
  return {
    temporary: waiting.filter((candidate) => candidate.argsHash === argsHash),
    fixed: waiting.filter(
      (candidate) => candidate.argsHash !== argsHash && jaccard(errorWords(candidate.words), words) >= RELATED_CALL,
    ),
  }
}

function candidateFrom(
  call: SettledCall,
  error: string,
  { session, clock }: Pick<LearningCandidatesOptions, "session" | "clock">,
): LearningCandidate {
  return {
    id: randomHex(4),
    session: session(),
    tool: call.tool,
    family: familyOf(call),
    error,
    words: argumentWords(call.args),
    values: Object.fromEntries(
      Object.entries(call.args).map(([name, value]) => [name, ellipsize(argumentText(value), MAX_ARGUMENT_CHARS)]),
    ),
    argsHash: hashOf(call.args),
    callsLeft: MAX_CALLS_TO_FIX,
    at: epochSeconds(clock),
  }
}

function isSameReport(known: LearningCandidate, fresh: LearningCandidate): boolean {
  return known.tool === fresh.tool && normaliseError(known.error) === normaliseError(fresh.error)
}

function isRepetition(known: LearningCandidate, fresh: LearningCandidate): boolean {
  if (known.tool !== fresh.tool) return false
  const isSame =
    isSameReport(known, fresh) || jaccard(errorWords(known.error), errorWords(fresh.error)) >= REPEATED_ERROR
  return isSame && jaccard(errorWords(known.words), errorWords(fresh.words)) >= SAME_SITUATION
}

function hashOf(args: Readonly<Record<string, unknown>>): string {
  return fingerprint(canonicalJson(args))
}

/** Tools of one family do the same kind of work, so a call of one may fix the failure of another. */
export function familyOf({ entry, tool }: SettledCall): string {
  return entry?.family ?? tool
}

/** The words of the arguments of a call. Names of string arguments are left out. */
export function argumentWords(args: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(args).map(([name, value]) => {
    const text = argumentText(value).slice(0, MAX_ARGUMENT_CHARS)
    return typeof value === "string" ? text : `${name} ${text}`
  })
  // `errorWords` drops paths, but here they distinguish calls: split them into words.
  return takeCodePoints(words.join(" ").replaceAll(/[/\\]+/gu, " "), MAX_ARGUMENT_CHARS)
}

function learningFrom(candidate: LearningCandidate, change: string): NewLearning {
  return {
    pattern: candidate.error,
    fix: change,
    errorType: errorClass(candidate.error),
    context: `from a failed call of ${candidate.tool}`,
    tool: candidate.tool,
    source: "auto",
    args: candidate.words,
  }
}

/** The class or code in an error text: `TypeError`, `ENOENT`. */
function errorClass(error: string): string {
  return /\b(?:[A-Z][A-Za-z]*(?:Error|Exception)|E[A-Z]{3,}|[A-Z]{2,6}\d{3,5})\b/u.exec(error)?.[0] ?? ""
}

function changeBetween(failed: LearningCandidate, worked: SettledCall): string {
  const tool = failed.tool === worked.tool ? "" : `${worked.tool} instead of ${failed.tool}: `
  const names = [...new Set([...Object.keys(failed.values), ...Object.keys(worked.args)])]
  const changes = names.flatMap((name) => {
    const before = failed.values[name] ?? ""
    const after = ellipsize(argumentText(worked.args[name]), MAX_ARGUMENT_CHARS)
    if (before === after) return []
    if (after === "") return [`without ${name} ${quoted(before)}`]
    return [before === "" ? `${name} ${quoted(after)}` : `${name} ${quoted(after)} instead of ${quoted(before)}`]
  })
  return `${tool}${changes.join("; ")}`
}

function argumentText(value: unknown): string {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : canonicalJson(value)
}

function quoted(text: string): string {
  return `\`${ellipsize(text.replaceAll(/\s+/gu, " ").trim(), MAX_VALUE_CHARS)}\``
}
