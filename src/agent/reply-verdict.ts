import type { ModelReply, ModelRuntime } from "../llm/model.ts"
import type { AssistantMessage, Message, UserMessage } from "../protocol/message.ts"
import { readArguments } from "../toolkit/read-arguments.ts"
import { hasOpenScratchpad, isAcknowledgement } from "./reply-signs.ts"

/**
 * What is to be done with a reply. `again`: it is not kept; the request is repeated, with `scaffold` behind the history and a
 * larger cap on the output where that was the trouble. Scaffolding is never stored and falls away with the next kept reply.
 */
export type Verdict =
  | { readonly kind: "keep"; readonly partial?: true }
  | { readonly kind: "again"; readonly scaffold: readonly Message[]; readonly outputCap?: number }
  /** The text that came with a bookkeeping call was the answer. */
  | { readonly kind: "earlier-text"; readonly text: string }
  /** No kept reply came of this model; perhaps another one does better. */
  | {
      readonly kind: "give-up"
      readonly code: GiveUpCode
      readonly message: string
      /** What the person can do, where no other model takes over. */
      readonly advice?: string
    }

export type GiveUpCode = "content_policy_blocked" | "output_limit" | "cut_calls" | "open_scratchpad" | "empty_response"

/** What a turn has put up with so far. */
export interface Patience {
  /** Text of replies that were cut by the output limit and are being continued. */
  continued: string
  continuations: number
  limitedCalls: number
  invalidArguments: number
  openScratchpads: number
  incomplete: number
  /** What the model said in replies that it wants to go on with; sent until one is kept. */
  interim: readonly AssistantMessage[]
  acknowledgements: number
  thoughtsOnly: number
  empty: number
  /** The model was asked once to answer from its tool results. */
  askedForAnswer: boolean
  /** Text that came together with bookkeeping calls only. */
  earlierText: string | undefined
}

export function createPatience(): Patience {
  return {
    continued: "",
    continuations: 0,
    limitedCalls: 0,
    invalidArguments: 0,
    openScratchpads: 0,
    incomplete: 0,
    interim: [],
    acknowledgements: 0,
    thoughtsOnly: 0,
    empty: 0,
    askedForAnswer: false,
    earlierText: undefined,
  }
}

export interface ReplyContext {
  /** Who has replied. */
  readonly runtime: Pick<ModelRuntime, "wire" | "model" | "provider">
  /** The request ended with tool results. */
  readonly afterTools: boolean
  /** A tool has run in this turn. */
  readonly toolsUsed: boolean
  /** The cap on the output that the settings ask for. */
  readonly requestedCap: number | undefined
}

const MAX_CONTINUATIONS = 3
const MAX_LIMITED_CALLS = 3
const MAX_INVALID_ARGUMENTS = 2
const MAX_OPEN_SCRATCHPADS = 2
const MAX_INCOMPLETE = 3
const MAX_ACKNOWLEDGEMENTS = 2
const MAX_THOUGHTS_ONLY = 2
const MAX_EMPTY = 3

const DEFAULT_CAP = 4096
const LARGEST_CAP = 32_768

/** Judges a reply by how it ended; counts in `patience` what it was patient with. */
export function judgeReply(reply: ModelReply, patience: Patience, context: ReplyContext): Verdict {
  const verdict = judged(reply, patience, context)
  return verdict.kind === "again" ? { ...verdict, scaffold: [...patience.interim, ...verdict.scaffold] } : verdict
}

function judged(reply: ModelReply, patience: Patience, context: ReplyContext): Verdict {
  if (reply.finishReason === "content_filter") return blocked(reply)
  if (reply.ending === "cut-call") return CUT_CALL
  if (reply.ending === "cut-text") return { kind: "keep", partial: true }
  if (reply.finishReason === "length") return limited(reply, patience, context)
  if (reply.finishReason === "incomplete" && patience.incomplete < MAX_INCOMPLETE - 1)
    return unfinished(reply, patience)
  if (hasOpenScratchpad(reply.content ?? "")) return openScratchpad(patience)
  if (reply.toolCalls.length > 0) return judgeCalls(reply, patience, context)
  return hasText(reply) ? judgeText(reply, patience, context) : judgeNothing(reply, patience, context)
}

function blocked(reply: ModelReply): Verdict {
  const said = reply.content === null || reply.content === "" ? "" : `: ${reply.content}`
  return {
    kind: "give-up",
    code: "content_policy_blocked",
    message: `content_policy_blocked: the provider refused to answer${said}`,
  }
}

/** Whoever asked the model has tried it again already. */
const CUT_CALL: Verdict = {
  kind: "give-up",
  code: "cut_calls",
  message: "the connection was lost in the middle of a tool call, several times in a row; nothing of it was run",
}

/** The server wants to be asked again and to see what it has said so far; a reply that only repeats it says nothing new. */
function unfinished(reply: ModelReply, patience: Patience): Verdict {
  patience.incomplete += 1
  const said = assistant(reply)
  const last = patience.interim.at(-1)
  const repeats = last !== undefined && last.content === said.content && last.reasoning === said.reasoning
  if (!repeats) patience.interim = [...patience.interim, said]
  return { kind: "again", scaffold: [] }
}

/** The reply is as long as it may be: text is continued, calls are asked for again with more room. */
function limited(reply: ModelReply, patience: Patience, context: ReplyContext): Verdict {
  if (reply.toolCalls.length > 0) return limitedCalls(patience, context)
  if (!hasText(reply)) {
    if (reply.reasoning === null) return judgeNothing(reply, patience, context)
    return {
      kind: "give-up",
      code: "output_limit",
      message:
        "the model used its whole output limit for thinking and said nothing; raise model.max_tokens or lower agent.reasoning_effort",
    }
  }
  if (patience.continuations >= MAX_CONTINUATIONS) return { kind: "keep", partial: true }
  patience.continuations += 1
  patience.continued += reply.content ?? ""
  return {
    kind: "again",
    scaffold: [{ ...assistant(reply), content: patience.continued }, synthetic(CONTINUE)],
    outputCap: largerCap(patience.continuations, context),
  }
}

/** Arguments that end in the middle are never run. */
function limitedCalls(patience: Patience, context: ReplyContext): Verdict {
  patience.limitedCalls += 1
  if (patience.limitedCalls <= MAX_LIMITED_CALLS) {
    return { kind: "again", scaffold: [], outputCap: largerCap(patience.limitedCalls, context) }
  }
  return {
    kind: "give-up",
    code: "output_limit",
    message: "the model's tool calls are longer than its output limit; nothing of them was run. Raise model.max_tokens",
  }
}

function largerCap(attempt: number, { requestedCap }: ReplyContext): number {
  return Math.min((requestedCap ?? DEFAULT_CAP) * (attempt + 1), Math.max(LARGEST_CAP, requestedCap ?? 0))
}

function openScratchpad(patience: Patience): Verdict {
  patience.openScratchpads += 1
  if (patience.openScratchpads <= MAX_OPEN_SCRATCHPADS) return { kind: "again", scaffold: [] }
  return {
    kind: "give-up",
    code: "open_scratchpad",
    message: "the model's replies broke off in the middle of its thoughts",
  }
}

function judgeCalls(reply: ModelReply, patience: Patience, context: ReplyContext): Verdict {
  const kinds = reply.toolCalls.map((call) => readArguments(call.function.arguments).kind)
  if (kinds.includes("truncated")) return limitedCalls(patience, context)
  if (kinds.includes("invalid") && patience.invalidArguments < MAX_INVALID_ARGUMENTS) {
    patience.invalidArguments += 1
    return { kind: "again", scaffold: [] }
  }
  // From the third time on the call itself is answered with an error, so that the model sees what is wrong.
  return { kind: "keep" }
}

function judgeText(reply: ModelReply, patience: Patience, context: ReplyContext): Verdict {
  const text = reply.content ?? ""
  const announces =
    context.runtime.wire === "codex_responses" && isAcknowledgement(text, { toolsUsed: context.toolsUsed })
  if (announces && patience.acknowledgements < MAX_ACKNOWLEDGEMENTS) {
    patience.acknowledgements += 1
    return { kind: "again", scaffold: [assistant(reply), synthetic(GO_ON)] }
  }
  return { kind: "keep" }
}

function judgeNothing(reply: ModelReply, patience: Patience, context: ReplyContext): Verdict {
  if (patience.continued !== "") return { kind: "keep", partial: true }
  if (patience.earlierText !== undefined) return { kind: "earlier-text", text: patience.earlierText }
  if (reply.reasoning !== null && reply.reasoning !== "" && patience.thoughtsOnly < MAX_THOUGHTS_ONLY) {
    patience.thoughtsOnly += 1
    return { kind: "again", scaffold: [assistant(reply)] }
  }
  if (context.afterTools && !patience.askedForAnswer) {
    patience.askedForAnswer = true
    return { kind: "again", scaffold: [{ role: "assistant", content: "(empty)" }, synthetic(ANSWER_NOW)] }
  }
  patience.empty += 1
  if (patience.empty <= MAX_EMPTY) return { kind: "again", scaffold: [] }
  const { model, provider } = context.runtime
  return {
    kind: "give-up",
    code: "empty_response",
    message: `${model} (${provider}) sent several empty replies in a row`,
    advice: "ask again, or choose another model (/model NAME, or -m NAME)",
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
const GO_ON = "[Do it now, with your tools; report when it is done.]"
const ANSWER_NOW = "[You have the results of your tools. Answer the person from them now.]"
