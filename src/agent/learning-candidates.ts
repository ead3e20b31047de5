import { canonicalJson } from "../base/json.ts"
import { ellipsize, takeCodePoints } from "../base/text.ts"
import { jaccard, normaliseError, errorWords } from "../knowledge/learnings/error-words.ts"
import type { NewLearning } from "../knowledge/learnings/learnings-store.ts"
import type { SettledCall } from "./facet.ts"

/** Failures of this session that may become learnings: a failure is worth keeping when it was resolved once and occurs again later. */
export interface LearningCandidates {
  /** Returns the learning when the same failure was resolved in an earlier turn. */
  recordFailure(call: SettledCall, error: string, turn: number): NewLearning | undefined
  recordSuccess(call: SettledCall, turn: number): void
  /** The agent saved a learning about this error, so its candidates are dropped. */
  recordSaved(pattern: string): void
}

/** Calls of the same family within which a call must succeed to count as the fix. */
const MAX_CALLS_TO_FIX = 5
const MAX_CANDIDATES = 30
/** Word overlap below which a call is unrelated to the failed one: `ls` does not fix `npm install`. */
const RELATED_CALL = 0.2
/** The same error of a different call (another file is missing) is not a repetition. */
const SAME_SITUATION = 0.5
/** Word overlap of a saved pattern and an error. */
const SAME_ERROR = 0.3
const MAX_VALUE_CHARS = 200
const MAX_ARGUMENT_CHARS = 300

interface Candidate {
  readonly key: string
  readonly tool: string
  readonly family: string
  readonly error: string
  readonly args: Readonly<Record<string, unknown>>
  readonly words: ReadonlySet<string>
  callsLeft: number
  resolved?: { readonly turn: number; readonly change: string }
}

export function createLearningCandidates(): LearningCandidates {
  let candidates: readonly Candidate[] = []
  const forget = (gone: (candidate: Candidate) => boolean): void => {
    candidates = candidates.filter((candidate) => !gone(candidate))
  }
  /** Counts a call against the candidates of its family and drops those that have none left. */
  const countCall = (call: SettledCall): void => {
    for (const candidate of unresolved(candidates, call)) candidate.callsLeft -= 1
    forget(({ resolved, callsLeft }) => resolved === undefined && callsLeft <= 0)
  }

  return {
    recordFailure: (call, error, turn) => {
      const key = `${call.tool} ${normaliseError(error)}`
      const words = errorWords(argumentWords(call.args))
      const known = candidates.find((candidate) => candidate.key === key)
      const resolved = known?.resolved
      if (known !== undefined && resolved !== undefined) {
        if (resolved.turn >= turn || jaccard(known.words, words) < SAME_SITUATION) return undefined
        forget((candidate) => candidate === known)
        return learningFrom(known, resolved.change)
      }
      forget((candidate) => candidate === known)
      countCall(call)
      const { tool, args } = call
      const family = familyOf(call)
      const fresh: Candidate = { key, tool, family, error, args, words, callsLeft: MAX_CALLS_TO_FIX }
      candidates = [...candidates, fresh].slice(-MAX_CANDIDATES)
      return undefined
    },
    recordSuccess: (call, turn) => {
      if (unresolved(candidates, call).length === 0) return
      const words = errorWords(argumentWords(call.args))
      for (const candidate of unresolved(candidates, call)) {
        // An identical call succeeded, so the failure was temporary and there is no fix to learn.
        if (canonicalJson(candidate.args) === canonicalJson(call.args)) forget((other) => other === candidate)
        else if (jaccard(candidate.words, words) >= RELATED_CALL) {
          candidate.resolved = { turn, change: changeBetween(candidate, call) }
        }
      }
      countCall(call)
    },
    recordSaved: (pattern) => {
      const saved = errorWords(pattern)
      forget(({ error }) => jaccard(errorWords(error), saved) >= SAME_ERROR)
    },
  }
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

function unresolved(candidates: readonly Candidate[], call: SettledCall): readonly Candidate[] {
  return candidates.filter(({ family, resolved }) => resolved === undefined && family === familyOf(call))
}

function learningFrom(candidate: Candidate, change: string): NewLearning {
  return {
    pattern: candidate.error,
    fix: change,
    errorType: errorClass(candidate.error),
    context: `from a failed call of ${candidate.tool}`,
    tool: candidate.tool,
    source: "auto",
    args: argumentWords(candidate.args),
  }
}

/** The class or code in an error text: `TypeError`, `ENOENT`. */
function errorClass(error: string): string {
  return /\b(?:[A-Z][A-Za-z]*(?:Error|Exception)|E[A-Z]{3,}|[A-Z]{2,6}\d{3,5})\b/u.exec(error)?.[0] ?? ""
}

function changeBetween(failed: Candidate, worked: SettledCall): string {
  const tool = failed.tool === worked.tool ? "" : `${worked.tool} instead of ${failed.tool}: `
  const names = [...new Set([...Object.keys(failed.args), ...Object.keys(worked.args)])]
  const changes = names.flatMap((name) => {
    const before = argumentText(failed.args[name])
    const after = argumentText(worked.args[name])
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
