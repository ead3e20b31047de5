import { canonicalJson } from "../base/json.ts"
import { ellipsize, takeCodePoints } from "../base/text.ts"
import { jaccard, normaliseError, wordsOf } from "../knowledge/learnings/error-words.ts"
import type { NewLearning } from "../knowledge/learnings/learnings-store.ts"
import type { NotedCall } from "./dispatch/result-note.ts"

/** Failures of this session that may become learnings. A failure alone teaches nothing; what helped, and that it came again, does. */
export interface LearningCandidates {
  /** A call failed. Gives the learning when the same failure was overcome in an earlier turn: it is worth keeping now. */
  failed(call: NotedCall, error: string, turn: number): NewLearning | undefined
  succeeded(call: NotedCall, turn: number): void
  /** The agent wrote it down itself. */
  saved(pattern: string): void
}

/** Calls of the family within which something must have helped. */
const PATIENCE = 5
const MAX_CANDIDATES = 30
/** A call that shares less with the failed one is about something else: `ls` does not repair `npm install`. */
const SAME_MATTER = 0.2
/** The same error of a call that looks otherwise (another file is missing) is no repetition. */
const SAME_SITUATION = 0.5
/** Of the words of a saved pattern and an error. */
const SAME_ERROR = 0.3
const MAX_VALUE_CHARS = 200
const MAX_SHAPE_CHARS = 300

interface Candidate {
  readonly key: string
  readonly tool: string
  readonly error: string
  readonly args: Readonly<Record<string, unknown>>
  readonly shape: ReadonlySet<string>
  callsLeft: number
  overcome?: { readonly turn: number; readonly change: string }
}

export function createLearningCandidates(): LearningCandidates {
  let candidates: readonly Candidate[] = []
  const forget = (gone: (candidate: Candidate) => boolean): void => {
    candidates = candidates.filter((candidate) => !gone(candidate))
  }
  /** One more call of the family has been made; who waited in vain is given up. */
  const countCall = (call: NotedCall): void => {
    for (const candidate of waiting(candidates, call)) candidate.callsLeft -= 1
    forget(({ overcome, callsLeft }) => overcome === undefined && callsLeft <= 0)
  }

  return {
    failed: (call, error, turn) => {
      const key = `${call.tool} ${normaliseError(error)}`
      const shape = wordsOf(argumentWords(call.args))
      const known = candidates.find((candidate) => candidate.key === key)
      const overcome = known?.overcome
      if (known !== undefined && overcome !== undefined) {
        if (overcome.turn >= turn || jaccard(known.shape, shape) < SAME_SITUATION) return undefined
        forget((candidate) => candidate === known)
        return learningFrom(known, overcome.change)
      }
      forget((candidate) => candidate === known)
      countCall(call)
      const fresh: Candidate = { key, tool: call.tool, error, args: call.args, shape, callsLeft: PATIENCE }
      candidates = [...candidates, fresh].slice(-MAX_CANDIDATES)
      return undefined
    },
    succeeded: (call, turn) => {
      if (waiting(candidates, call).length === 0) return
      const shape = wordsOf(argumentWords(call.args))
      for (const candidate of waiting(candidates, call)) {
        // The very same call worked: it was a passing trouble, and there is nothing to learn.
        if (canonicalJson(candidate.args) === canonicalJson(call.args)) forget((other) => other === candidate)
        else if (jaccard(candidate.shape, shape) >= SAME_MATTER) {
          candidate.overcome = { turn, change: changeBetween(candidate, call) }
        }
      }
      countCall(call)
    },
    saved: (pattern) => {
      const words = wordsOf(pattern)
      forget(({ error }) => jaccard(wordsOf(error), words) >= SAME_ERROR)
    },
  }
}

/** Tools that do the same kind of work: the way around an error in one may be the other. */
export function familyOf(tool: string): string {
  if (tool === "write_file" || tool === "patch") return "edit"
  if (tool === "terminal" || tool === "execute_code") return "shell"
  return /^(?:browser|web|kanban|ha)_/u.exec(tool)?.[0] ?? tool
}

/** The form of a call: the words of its arguments, without the names of those that are plain text. */
export function argumentWords(args: Readonly<Record<string, unknown>>): string {
  const words = Object.entries(args).map(([name, value]) => {
    const text = shown(value).slice(0, MAX_SHAPE_CHARS)
    return typeof value === "string" ? text : `${name} ${text}`
  })
  // Paths are left out of errors, but they tell calls apart.
  return takeCodePoints(words.join(" ").replaceAll(/[/\\]+/gu, " "), MAX_SHAPE_CHARS)
}

function waiting(candidates: readonly Candidate[], call: NotedCall): readonly Candidate[] {
  return candidates.filter(({ tool, overcome }) => overcome === undefined && familyOf(tool) === familyOf(call.tool))
}

function learningFrom(candidate: Candidate, change: string): NewLearning {
  return {
    pattern: candidate.error,
    fix: change,
    errorType: errorClass(candidate.error),
    context: `noticed on a call of ${candidate.tool}`,
    tool: candidate.tool,
    source: "auto",
    args: argumentWords(candidate.args),
  }
}

/** The name an error gives itself: `TypeError`, `ENOENT`. */
function errorClass(error: string): string {
  return /\b(?:[A-Z][A-Za-z]*(?:Error|Exception)|E[A-Z]{3,}|[A-Z]{2,6}\d{3,5})\b/u.exec(error)?.[0] ?? ""
}

function changeBetween(failed: Candidate, worked: NotedCall): string {
  const tool = failed.tool === worked.tool ? "" : `${worked.tool} in place of ${failed.tool}: `
  const names = [...new Set([...Object.keys(failed.args), ...Object.keys(worked.args)])]
  const changes = names.flatMap((name) => {
    const before = shown(failed.args[name])
    const after = shown(worked.args[name])
    if (before === after) return []
    if (after === "") return [`without ${name} ${quoted(before)}`]
    return [before === "" ? `${name} ${quoted(after)}` : `${name} ${quoted(after)} in place of ${quoted(before)}`]
  })
  return `${tool}${changes.join("; ")}`
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : canonicalJson(value)
}

function quoted(text: string): string {
  return `\`${ellipsize(text.replaceAll(/\s+/gu, " ").trim(), MAX_VALUE_CHARS)}\``
}
