import type { Clock } from "../../../base/clock.ts"
import { errorMessage } from "../../../base/system-error.ts"
import { takeCodePoints } from "../../../base/text.ts"
import type { Message } from "../../../protocol/message.ts"
import type { DigestedCall } from "../../../toolkit/tool.ts"
import type { HistoryDraft } from "../history-draft.ts"
import type { CompressOptions } from "../context-engine.ts"
import type { Estimator } from "../token-estimate.ts"
import type { PinnedMessages } from "../pinned-messages.ts"
import type { WindowBudget } from "../window-budget.ts"
import { fallbackSummary } from "./fallback-summary.ts"
import { automaticFocus, SUMMARY_SYSTEM, summaryPrompt } from "./summary-prompt.ts"
import { assembleHistory, chooseRegion } from "./region.ts"
import type { SummaryRegion } from "./region.ts"
import { fitWords, wordsBudget } from "../user-words.ts"
import type { UserWords } from "../user-words.ts"
import { cleanBody, withWords, wrapSummary } from "./summary-text.ts"

/** Requests a summary from a model. The implementation falls back to the main model and has a timeout. */
export type SummaryPort = (request: {
  readonly system: string
  readonly prompt: string
  readonly maxTokens: number
  readonly signal: AbortSignal
}) => Promise<SummaryReply>

export type SummaryReply =
  | {
      readonly kind: "text"
      readonly text: string
      /** The configured model failed; the main model wrote it. */
      readonly usedMain?: boolean
    }
  | {
      readonly kind: "failed"
      readonly message: string
      readonly noProvider: boolean
      /** The reply was unusable, so a retry soon may help. */
      readonly malformed: boolean
    }
  | { readonly kind: "aborted" }

export interface SummariserOptions {
  readonly clock: Clock
  readonly redact: (text: string) => string
  readonly digest: (call: DigestedCall) => string
  readonly estimator: Estimator
  readonly summarise: SummaryPort | undefined
  readonly abortOnFailure: boolean
}

export interface SummaryTask {
  readonly head: number
  readonly protectLastN: number
  readonly pins: PinnedMessages
  readonly budget: WindowBudget
  /** Tokens available for the messages afterwards. */
  readonly room: number
  readonly options: CompressOptions
}

export type SummaryOutcome =
  | { readonly kind: "nothing" }
  | { readonly kind: "aborted"; readonly error?: string }
  | {
      readonly kind: "done"
      readonly draft: HistoryDraft
      readonly removed: readonly Message[]
      readonly fallback: boolean
      readonly error?: string
    }

/** Layer 5. After a failure the auxiliary model has a cooldown. */
export interface Summariser {
  run(draft: HistoryDraft, task: SummaryTask): Promise<SummaryOutcome>
  endCooldown(): void
}

const COOLDOWN_MS = { noProvider: 600_000, malformed: 30_000, other: 60_000 }
const OVERSHOOT = 1.3
const CHARS_PER_TOKEN = 4
/** Tokens of the text around a summary. */
const FRAME_TOKENS = 300
/** A shorter summary would not be useful. */
const SMALLEST_SUMMARY = 200
/** Share of the room for messages that a summary may take in a small window. */
const SUMMARY_SHARE = 0.15
/** Share of the window for the turns in the summary request. */
const INPUT_SHARE = 0.6

export function createSummariser(options: SummariserOptions): Summariser {
  const { clock, estimator } = options
  let cooldown = { until: 0, message: "" }

  const requestSummary = async (request: Parameters<SummaryPort>[0]): Promise<SummaryReply> => {
    if (request.signal.aborted) return { kind: "aborted" }
    if (options.summarise === undefined) {
      return { kind: "failed", message: "no model is available for summaries", noProvider: true, malformed: false }
    }
    if (clock.now() < cooldown.until) {
      return { kind: "failed", message: cooldown.message, noProvider: false, malformed: false }
    }
    const reply = await replyOf(options.summarise, request)
    if (request.signal.aborted) return { kind: "aborted" }
    if (reply.kind === "failed") cooldown = { until: clock.now() + cooldownMs(reply), message: reply.message }
    return reply
  }

  return {
    endCooldown: () => {
      cooldown = { until: 0, message: "" }
    },
    run: async (draft, task) => {
      const { keepExchanges } = task.options
      const region = chooseRegion(draft, {
        ...task,
        ...(keepExchanges === undefined ? {} : { keepExchanges }),
        estimator,
        summaryTokens: task.budget.summaryMin + FRAME_TOKENS,
      })
      if (region === undefined || estimator.messages(region.removed) <= FRAME_TOKENS) return { kind: "nothing" }
      const tokens = summaryTokens(region, task, estimator)
      const { signal } = task.options
      const hints = await hintsFor(region.removed, task.options)
      const reply = await requestSummary({
        system: SUMMARY_SYSTEM,
        prompt: promptFor(region, { task, hints, tokens, options, messages: draft.messages }),
        maxTokens: Math.ceil(tokens * OVERSHOOT),
        signal,
      })
      if (reply.kind === "aborted" || signal.aborted) return { kind: "aborted" }
      if (reply.kind === "failed" && options.abortOnFailure) return { kind: "aborted", error: reply.message }
      const { sessionId } = task.options
      const words = wordsFor(region, task, options)
      const done = (
        body: string,
        details: { readonly fallback: boolean; readonly error?: string },
      ): SummaryOutcome => ({
        kind: "done",
        draft: assembleHistory(draft, region, wrapSummary(withWords(body, words), sessionId)),
        removed: region.removed,
        ...details,
      })
      const maxChars = Math.ceil(tokens * OVERSHOOT) * CHARS_PER_TOKEN
      if (reply.kind === "text") {
        const body = bounded(options.redact(cleanBody(reply.text)), maxChars)
        return done(body, { fallback: false, ...(reply.usedMain === true ? { error: MAIN_MODEL_WROTE_IT } : {}) })
      }
      const body = fallbackSummary(region.turns, {
        messages: draft.messages,
        previous: region.previous,
        reason: reply.message,
        digest: options.digest,
        redact: options.redact,
        maxChars,
      })
      return done(body, { fallback: true, error: reply.message })
    },
  }
}

/** Share of the removed messages that quotations of the user may take, so that a summary always saves something. */
const WORDS_SHARE = 0.3

function wordsFor(region: SummaryRegion, task: SummaryTask, { redact, estimator }: SummariserOptions): UserWords {
  const most = WORDS_SHARE * estimator.messages(region.removed)
  const { saidTokens, listedTokens } = wordsBudget(task.budget.contextLength, task.room)
  const budget = { saidTokens: Math.min(saidTokens, most), listedTokens: Math.min(listedTokens, most / 2) }
  return fitWords({ ...region.words, said: region.words.said.map(redact) }, budget)
}

const MAIN_MODEL_WROTE_IT =
  "the model in auxiliary.compression failed, so the main model wrote the summary; check that setting"

async function replyOf(summarise: SummaryPort, request: Parameters<SummaryPort>[0]): Promise<SummaryReply> {
  try {
    const reply = await summarise(request)
    if (reply.kind !== "text" || cleanBody(reply.text) !== "") return reply
    return { kind: "failed", message: "the model returned an empty summary", noProvider: false, malformed: true }
  } catch (error) {
    return { kind: "failed", message: errorMessage(error), noProvider: false, malformed: false }
  }
}

function cooldownMs(reply: Extract<SummaryReply, { kind: "failed" }>): number {
  if (reply.noProvider) return COOLDOWN_MS.noProvider
  return reply.malformed ? COOLDOWN_MS.malformed : COOLDOWN_MS.other
}

/** A memory failure must not stop compression. */
async function hintsFor(removed: readonly Message[], options: CompressOptions): Promise<string> {
  try {
    return await options.beforeRemoval(removed, 5)
  } catch {
    return ""
  }
}

/** The target length of the summary. In a small window it must fit the room that is left and be far shorter than what it replaces. */
function summaryTokens(region: SummaryRegion, { budget, room }: SummaryTask, estimator: Estimator): number {
  const share = Math.floor(0.2 * estimator.messages(region.turns))
  const wanted = Math.max(budget.summaryMin, Math.min(share, budget.summaryCeiling))
  if (!budget.small) return wanted
  const left = (room - estimator.messages([...region.head, ...region.kept]) - FRAME_TOKENS) / OVERSHOOT
  const most = Math.min(left, SUMMARY_SHARE * room, estimator.messages(region.removed) / 3)
  return Math.min(wanted, Math.max(SMALLEST_SUMMARY, Math.floor(most)))
}

function promptFor(
  region: SummaryRegion,
  input: {
    readonly task: SummaryTask
    readonly hints: string
    readonly tokens: number
    readonly options: SummariserOptions
    readonly messages: readonly Message[]
  },
): string {
  const { task, options } = input
  return options.redact(
    summaryPrompt({
      turns: region.turns,
      previous: region.previous,
      focus: task.options.focus ?? automaticFocus(input.messages),
      hints: input.hints,
      targetTokens: input.tokens,
      maxChars: Math.floor(task.budget.contextLength * INPUT_SHARE) * CHARS_PER_TOKEN,
      today: localDate(options.clock),
    }),
  )
}

function localDate(clock: Clock): string | undefined {
  const now = new Date(clock.now())
  if (Number.isNaN(now.getTime())) return undefined
  const two = (value: number): string => String(value).padStart(2, "0")
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}`
}

/** Cuts a summary that is far longer than requested. */
function bounded(body: string, maxChars: number): string {
  return body.length <= maxChars
    ? body
    : `${takeCodePoints(body, maxChars)}\n[The summary was too long; the rest is cut.]`
}
