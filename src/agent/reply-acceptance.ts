import type { ModelReply, ModelRuntime } from "../llm/model.ts"
import type { AssistantMessage, Message, UserMessage } from "../protocol/message.ts"
import { readArguments } from "../toolkit/read-arguments.ts"
import { hasUnclosedScratchpad, isAcknowledgement } from "./unfinished-reply.ts"

/**
 * What the loop does with a reply. `retry` repeats the request with `temporaryMessages` after the history and, after a truncated
 * reply, a larger output limit. Temporary messages are never stored and end with the next kept reply.
 */
export type ReplyVerdict =
  | { readonly kind: "keep"; readonly partial?: true }
  | {
      readonly kind: "retry"
      readonly temporaryMessages: readonly Message[]
      readonly maxOutputTokens?: number
      /** What becomes of the text of the reply; absent when it has none. */
      readonly text?: RetriedText
    }
  /** The answer is the text of an earlier reply that only called housekeeping tools. */
  | { readonly kind: "earlier-text"; readonly text: string }
  /** The retries of this model are used up; a fallback model may succeed. */
  | {
      readonly kind: "give-up"
      readonly code: GiveUpCode
      readonly message: string
      /** What the user can do when there is no fallback model. */
      readonly advice?: string
    }

/** `continued`: the next reply goes on in mid-sentence. `paragraph`: it follows as a new paragraph. Otherwise the text does not count. */
export type RetriedText =
  | { readonly kind: "continued" | "paragraph" }
  | { readonly kind: "discarded"; readonly reason: string }

export type GiveUpCode = "content_policy_blocked" | "output_limit" | "cut_calls" | "open_scratchpad" | "empty_response"

/** What was retried since the last kept reply. */
export interface RetryState {
  /** Text of earlier replies that belong to the same answer; the kept reply begins with it. */
  earlierReplies: string
  /** Text so far of a reply that was cut at the output limit and is being continued. */
  continuedText: string
  continuations: number
  truncatedCalls: number
  invalidArguments: number
  unclosedScratchpads: number
  incompleteReplies: number
  /** Replies with finish reason `incomplete`; sent again until a reply is kept. */
  interimReplies: readonly AssistantMessage[]
  acknowledgements: number
  reasoningOnlyReplies: number
  emptyReplies: number
  /** The model was already asked to answer from its tool results. */
  answerRequested: boolean
  /** Text of the last reply, if it only called housekeeping tools. */
  earlierText: string | undefined
}

export function createRetryState(): RetryState {
  return {
    earlierReplies: "",
    continuedText: "",
    continuations: 0,
    truncatedCalls: 0,
    invalidArguments: 0,
    unclosedScratchpads: 0,
    incompleteReplies: 0,
    interimReplies: [],
    acknowledgements: 0,
    reasoningOnlyReplies: 0,
    emptyReplies: 0,
    answerRequested: false,
    earlierText: undefined,
  }
}

export interface ReplyContext {
  /** The model that sent the reply. */
  readonly runtime: Pick<ModelRuntime, "wire" | "model" | "provider">
  /** The request ended with tool results. */
  readonly afterTools: boolean
  /** A tool has run in this turn. */
  readonly toolsUsed: boolean
  readonly configuredMaxOutputTokens: number | undefined
}

const MAX_CONTINUATIONS = 3
const MAX_TRUNCATED_CALLS = 3
const MAX_INVALID_ARGUMENTS = 2
const MAX_UNCLOSED_SCRATCHPADS = 2
const MAX_INCOMPLETE_REPLIES = 3
const MAX_ACKNOWLEDGEMENTS = 2
const MAX_REASONING_ONLY_REPLIES = 2
const MAX_EMPTY_REPLIES = 3

const DEFAULT_OUTPUT_TOKENS = 4096
const LARGEST_OUTPUT_TOKENS = 32_768

/** Decides by how a reply ended whether it is kept, and counts retries in `state`. */
export function judgeReply(reply: ModelReply, state: RetryState, context: ReplyContext): ReplyVerdict {
  const verdict = judgeByEnding(reply, state, context)
  if (verdict.kind !== "retry") return verdict
  const text = verdict.text?.kind === "paragraph" && repeatsEarlierReply(reply, state) ? REPEATED : verdict.text
  if (hasText(reply) && (text?.kind === "continued" || text?.kind === "paragraph"))
    state.earlierReplies += `${reply.content ?? ""}${text.kind === "paragraph" ? "\n\n" : ""}`
  const temporaryMessages = [...state.interimReplies, ...verdict.temporaryMessages]
  return { ...verdict, temporaryMessages, ...(text === undefined ? {} : { text }) }
}

const REPEATED: RetriedText = { kind: "discarded", reason: "the model repeated itself; asking it again" }

/** True when the reply says the same as the earlier reply of the same answer. */
export function repeatsEarlierReply({ content }: ModelReply, { earlierReplies }: RetryState): boolean {
  const text = content?.trim() ?? ""
  if (text === "" || !earlierReplies.endsWith("\n\n")) return false
  const earlier = earlierReplies.trimEnd()
  return earlier === text || earlier.endsWith(`\n\n${text}`)
}

function judgeByEnding(reply: ModelReply, state: RetryState, context: ReplyContext): ReplyVerdict {
  if (reply.finishReason === "content_filter") return blocked(reply)
  if (reply.ending === "cut-call") return CUT_CALL
  if (reply.ending === "cut-text") return { kind: "keep", partial: true }
  if (reply.finishReason === "length") return truncated(reply, state, context)
  if (reply.finishReason === "incomplete" && state.incompleteReplies < MAX_INCOMPLETE_REPLIES - 1)
    return incomplete(reply, state)
  if (hasUnclosedScratchpad(reply.content ?? "")) return unclosedScratchpad(state)
  if (reply.toolCalls.length > 0) return judgeCalls(reply, state, context)
  return hasText(reply) ? judgeText(reply, state, context) : judgeEmpty(reply, state, context)
}

function blocked(reply: ModelReply): ReplyVerdict {
  const reason = reply.content === null || reply.content === "" ? "" : `: ${reply.content}`
  return {
    kind: "give-up",
    code: "content_policy_blocked",
    message: `content_policy_blocked: the provider refused to answer${reason}`,
  }
}

/** The model client has already retried the request. */
const CUT_CALL: ReplyVerdict = {
  kind: "give-up",
  code: "cut_calls",
  message: "the connection was lost in the middle of a tool call, several times in a row; the call was not run",
}

/** The server expects another request that includes the reply so far. A repeated reply is included once. */
function incomplete(reply: ModelReply, state: RetryState): ReplyVerdict {
  state.incompleteReplies += 1
  const message = assistant(reply)
  const last = state.interimReplies.at(-1)
  const repeats = last !== undefined && last.content === message.content && last.reasoning === message.reasoning
  if (!repeats) state.interimReplies = [...state.interimReplies, message]
  return { kind: "retry", temporaryMessages: [], text: { kind: "paragraph" } }
}

/** The reply reached the output limit: a text is continued, tool calls are requested again with a larger limit. */
function truncated(reply: ModelReply, state: RetryState, context: ReplyContext): ReplyVerdict {
  if (reply.toolCalls.length > 0) return truncatedCalls(state, context, OUTPUT_LIMIT)
  if (!hasText(reply)) {
    if (reply.reasoning === null) return judgeEmpty(reply, state, context)
    return {
      kind: "give-up",
      code: "output_limit",
      message:
        "the model used its whole output limit for reasoning and wrote no answer; raise model.max_tokens or lower agent.reasoning_effort",
    }
  }
  if (state.continuations >= MAX_CONTINUATIONS) return { kind: "keep", partial: true }
  state.continuations += 1
  state.continuedText += reply.content ?? ""
  return {
    kind: "retry",
    temporaryMessages: [{ ...assistant(reply), content: state.continuedText }, synthetic(CONTINUE)],
    maxOutputTokens: largerOutputLimit(state.continuations, context),
    text: { kind: "continued" },
  }
}

type GiveUp = Extract<ReplyVerdict, { kind: "give-up" }>

const OUTPUT_LIMIT: GiveUp = {
  kind: "give-up",
  code: "output_limit",
  message: "the model's tool calls are longer than its output limit, so none of them was run; raise model.max_tokens",
}

/** The reply ended normally, so a larger output limit would not help. */
const INCOMPLETE_CALLS: GiveUp = {
  kind: "give-up",
  code: "cut_calls",
  message:
    "the model sent tool calls with incomplete arguments, several times in a row, so none of them was run; try again, or use another model",
}

/** Calls with truncated arguments never run. Some servers do not report that the output limit was reached. */
function truncatedCalls(state: RetryState, context: ReplyContext, giveUp: GiveUp): ReplyVerdict {
  state.truncatedCalls += 1
  if (state.truncatedCalls <= MAX_TRUNCATED_CALLS) {
    return {
      kind: "retry",
      temporaryMessages: [],
      maxOutputTokens: largerOutputLimit(state.truncatedCalls, context),
      text: { kind: "discarded", reason: "the tool call after it was cut off; asking the model again" },
    }
  }
  return giveUp
}

function largerOutputLimit(attempt: number, { configuredMaxOutputTokens: configured }: ReplyContext): number {
  return Math.min(
    (configured ?? DEFAULT_OUTPUT_TOKENS) * (attempt + 1),
    Math.max(LARGEST_OUTPUT_TOKENS, configured ?? 0),
  )
}

function unclosedScratchpad(state: RetryState): ReplyVerdict {
  state.unclosedScratchpads += 1
  if (state.unclosedScratchpads <= MAX_UNCLOSED_SCRATCHPADS) {
    const text = {
      kind: "discarded",
      reason: "the reply ended in the middle of its reasoning; asking the model again",
    } as const
    return { kind: "retry", temporaryMessages: [], text }
  }
  return {
    kind: "give-up",
    code: "open_scratchpad",
    message: "the model's replies ended in the middle of its reasoning",
  }
}

function judgeCalls(reply: ModelReply, state: RetryState, context: ReplyContext): ReplyVerdict {
  const kinds = reply.toolCalls.map((call) => readArguments(call.function.arguments).kind)
  if (kinds.includes("truncated")) return truncatedCalls(state, context, INCOMPLETE_CALLS)
  if (kinds.includes("invalid") && state.invalidArguments < MAX_INVALID_ARGUMENTS) {
    state.invalidArguments += 1
    const text = {
      kind: "discarded",
      reason: "the tool call after it is not valid JSON; asking the model again",
    } as const
    return { kind: "retry", temporaryMessages: [], text }
  }
  // After two retries the calls are kept: dispatch answers them with an error that the model can read.
  return { kind: "keep" }
}

function judgeText(reply: ModelReply, state: RetryState, context: ReplyContext): ReplyVerdict {
  const text = reply.content ?? ""
  const isAnnouncement =
    context.runtime.wire === "codex_responses" && isAcknowledgement(text, { toolsUsed: context.toolsUsed })
  if (isAnnouncement && state.acknowledgements < MAX_ACKNOWLEDGEMENTS) {
    state.acknowledgements += 1
    return {
      kind: "retry",
      temporaryMessages: [assistant(reply), synthetic(START_NOW)],
      text: { kind: "paragraph" },
    }
  }
  return { kind: "keep" }
}

function judgeEmpty(reply: ModelReply, state: RetryState, context: ReplyContext): ReplyVerdict {
  if (state.continuedText !== "") return { kind: "keep", partial: true }
  if (state.earlierText !== undefined) return { kind: "earlier-text", text: state.earlierText }
  if (reply.reasoning !== null && reply.reasoning !== "" && state.reasoningOnlyReplies < MAX_REASONING_ONLY_REPLIES) {
    state.reasoningOnlyReplies += 1
    return { kind: "retry", temporaryMessages: [assistant(reply)] }
  }
  if (context.afterTools && !state.answerRequested) {
    state.answerRequested = true
    return {
      kind: "retry",
      temporaryMessages: [{ role: "assistant", content: "(empty)" }, synthetic(ANSWER_NOW)],
    }
  }
  state.emptyReplies += 1
  if (state.emptyReplies <= MAX_EMPTY_REPLIES) return { kind: "retry", temporaryMessages: [] }
  if (state.earlierReplies !== "") return { kind: "keep", partial: true }
  const { model, provider } = context.runtime
  return {
    kind: "give-up",
    code: "empty_response",
    message: `${model} (${provider}) sent several empty replies in a row`,
    advice: "try again, or choose another model (/model NAME, or -m NAME)",
  }
}

function hasText(reply: ModelReply): boolean {
  return reply.content !== null && reply.content.trim() !== ""
}

function assistant(reply: ModelReply): AssistantMessage {
  return {
    role: "assistant",
    content: reply.content,
    ...(reply.reasoning === null ? {} : { reasoning: reply.reasoning }),
    ...reply.carriers,
  }
}

function synthetic(content: string): UserMessage {
  return { role: "user", content, synthetic: "recovery" }
}

const CONTINUE =
  "[Your reply reached the output limit. Continue exactly where it stopped: no repetition, no introduction.]"
const START_NOW = "[Do it now, with your tools; report when it is done.]"
const ANSWER_NOW = "[You have the results of your tools. Answer the user from them now.]"
