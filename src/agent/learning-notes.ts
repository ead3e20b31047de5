import { stringField } from "../base/json.ts"
import type { Logger } from "../base/logger.ts"
import type { Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import { jaccard, normaliseError, wordsOf } from "../knowledge/learnings/error-words.ts"
import type { Learning } from "../knowledge/learnings/learning.ts"
import type { LearningsStore } from "../knowledge/learnings/learnings-store.ts"
import { scanThreats } from "../knowledge/threat-scan.ts"
import { defuseSteerMarkers } from "../toolkit/untrusted.ts"
import type { NotedCall, ResultNoteSource } from "./dispatch/result-note.ts"
import { failureOf } from "./failed-call.ts"
import { argumentWords, createLearningCandidates, familyOf } from "./learning-candidates.ts"

/** What Hermes learns from failed calls, and how it reminds of it. Never fails a call: what goes wrong here is logged. */
export interface LearningNotes {
  /** Watches every call, and adds what helped in a similar case to its result. */
  readonly note: ResultNoteSource
  beginTurn(): void
  /** The learnings that helped most often, one line each, for the system prompt. */
  top(count: number): readonly string[]
}

export interface LearningNotesOptions {
  readonly store: Pick<LearningsStore, "save" | "search" | "list" | "used" | "top">
  readonly autoCapture: boolean
  readonly autoInject: boolean
  readonly log: Logger
}

/**
 * A learning is shown from here on. Score and relevance must both pass: use may lift a learning above its equals, but not make an
 * unrelated one fit.
 */
const SHOWN_FROM = 0.35
/** How much the arguments of a call must share with those that failed. */
const SIMILAR_ARGUMENTS = 0.8
const MAX_LINES_PER_TURN = 3
const MAX_FIX_CHARS = 300
const MAX_PATTERN_CHARS = 160

export function createLearningNotes(options: LearningNotesOptions): LearningNotes {
  const { store } = options
  const candidates = createLearningCandidates()
  const argsOf = remembered((learning: Learning) => wordsOf(learning.args ?? ""))
  let turn = 0
  let shownInTurn = new Set<string>()
  /** Shown after a failure of this family: it has helped when the next call of the family succeeds. */
  let onTrial: { readonly id: string; readonly family: string } | undefined

  const complaints = new Set<string>()
  const told = <T>(result: Result<T>): T | undefined => {
    if (result.ok) return result.value
    if (!complaints.has(result.error)) options.log.warning(result.error)
    complaints.add(result.error)
    return undefined
  }
  /** The line for a learning, unless it was shown in this turn or enough was. */
  const show = (learning: Learning, opening: string): string | undefined => {
    if (shownInTurn.has(learning.id) || shownInTurn.size >= MAX_LINES_PER_TURN) return undefined
    shownInTurn.add(learning.id)
    return `[${opening} (learning:${learning.id}). What worked then: ${oneLine(learning.fix, MAX_FIX_CHARS)}]`
  }

  const similarError = (call: NotedCall, error: string): string | undefined => {
    const [best] = told(store.search(normaliseError(error), { limit: 1 })) ?? []
    if (best === undefined || best.relevance < SHOWN_FROM || best.score <= SHOWN_FROM) return undefined
    if (!trusted(best.learning)) return undefined
    const line = show(best.learning, "Similar to an earlier error")
    if (line !== undefined) onTrial = { id: best.learning.id, family: familyOf(call.tool) }
    return line
  }
  const similarCall = (call: NotedCall): string | undefined => {
    if (!isRisky(call)) return undefined
    const failedOnes = (told(store.list()) ?? []).filter(({ tool, args }) => tool === call.tool && args !== undefined)
    if (failedOnes.length === 0) return undefined
    const words = wordsOf(argumentWords(call.args))
    const known = failedOnes.find(
      (learning) => failedLikeThis({ failed: argsOf(learning), now: words, learning }) && trusted(learning),
    )
    return known === undefined ? undefined : show(known, `A similar call of ${call.tool} failed before`)
  }

  const afterFailure = async (call: NotedCall, error: string): Promise<string | undefined> => {
    const worthKeeping = options.autoCapture ? candidates.failed(call, error, turn) : undefined
    if (worthKeeping !== undefined) told(await store.save(worthKeeping))
    if (onTrial?.family === familyOf(call.tool)) onTrial = undefined
    return options.autoInject ? (similarError(call, error) ?? similarCall(call)) : undefined
  }
  const afterSuccess = async (call: NotedCall): Promise<string | undefined> => {
    if (options.autoCapture) candidates.succeeded(call, turn)
    const helped = onTrial?.family === familyOf(call.tool) ? onTrial.id : undefined
    if (helped !== undefined) {
      onTrial = undefined
      told(await store.used(helped))
    }
    return options.autoInject ? similarCall(call) : undefined
  }

  return {
    note: async (call) => {
      if (call.tool === "learnings") {
        if (isSave(call)) candidates.saved(stringField(call.args, "pattern") ?? "")
        return undefined
      }
      if (call.entry === undefined || call.entry.housekeeping === true) return undefined
      if (call.outcome !== "ok" && call.outcome !== "error") return undefined
      const error = failureOf(call)
      return error === undefined ? await afterSuccess(call) : await afterFailure(call, error)
    },
    beginTurn: () => {
      turn += 1
      shownInTurn = new Set()
    },
    top: (count) => {
      if (!options.autoInject) return []
      const best = told(store.top(count)) ?? []
      return best.filter(trusted).map(promptLine)
    },
  }
}

function isSave({ args, outcome }: NotedCall): boolean {
  return args["action"] === "save" && outcome === "ok"
}

function isRisky({ access }: NotedCall): boolean {
  return access === "exec" || access === "write" || access === "network"
}

/**
 * The call has the arguments that failed once. One whose further words all come from the fix is the corrected one, and needs no
 * word about it.
 */
function failedLikeThis(call: {
  readonly failed: ReadonlySet<string>
  readonly now: ReadonlySet<string>
  readonly learning: Learning
}): boolean {
  const { failed, now } = call
  if (jaccard(failed, now) < SIMILAR_ARGUMENTS) return false
  const further = [...now].filter((word) => !failed.has(word))
  const fix = wordsOf(call.learning.fix)
  return further.length === 0 || !further.every((word) => fix.has(word))
}

/** Worked out once for each learning of the file. */
function remembered<T>(work: (learning: Learning) => T): (learning: Learning) => T {
  const known = new WeakMap<Learning, T>()
  return (learning) => {
    const found = known.get(learning) ?? work(learning)
    known.set(learning, found)
    return found
  }
}

/** The file is in the hands of others too: what reads like an order to the agent is never shown to it. */
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
