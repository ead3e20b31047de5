import { createFenceScrubber } from "../knowledge/memory/fence.ts"
import type { ModelOutcome } from "../llm/model.ts"
import type { AgentEventBody } from "../protocol/events.ts"
import type { Message } from "../protocol/message.ts"
import { repairCallHistory } from "../toolkit/call-history-repair.ts"
import { fenceResults } from "./fence-results.ts"
import { repairHistory } from "./history-repair.ts"
import { countRequest } from "./long-run.ts"
import type { PartialReply } from "./partial-reply.ts"
import type { Steps } from "./steps.ts"
import type { Turn } from "./turn.ts"

export interface ReplyRequest {
  /** Sent after the history, never stored. */
  readonly temporaryMessages: readonly Message[]
  readonly maxOutputTokens: number | undefined
  /** `none` forbids tool calls. The tools stay declared: the cached prefix stays valid, and some servers require tools that the history names. */
  readonly toolChoice?: "none"
  readonly partial: PartialReply
}

/** Sends one request and emits the reply as it streams. */
export async function* streamReply(turn: Turn, request: ReplyRequest): Steps<ModelOutcome> {
  const { partial } = request
  partial.beginReply()
  const ended = countRequest()
  const { conversation } = turn
  const stream = turn.model.stream(
    {
      model: turn.model.runtime.model,
      system: conversation.system,
      messages: fenceResults(sendable(conversation.history, request.temporaryMessages), {
        conversationId: conversation.id,
        key: turn.fenceKey,
      }),
      tools: turn.tools,
      ...(request.toolChoice === undefined ? {} : { toolChoice: request.toolChoice }),
      ...turn.sampling,
      ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
    },
    { signal: turn.signal },
  )
  const scrubber = createFenceScrubber()
  const textMask = turn.maskStream()
  const reasoningMask = turn.maskStream()
  const reasoningEvent = (text: string): AgentEventBody => {
    partial.addReasoning(text)
    return { type: "reasoning-delta", text }
  }
  const textEvent = (text: string): AgentEventBody => {
    partial.addText(text)
    return { type: "text-delta", text }
  }
  try {
    for (;;) {
      const step = await stream.next()
      if (step.done === true) {
        const pending = reasoningMask.flush()
        if (pending !== "") yield reasoningEvent(pending)
        const rest = textMask.feed(scrubber.flush()) + textMask.flush()
        if (rest !== "") yield textEvent(rest)
        return withoutMemoryEcho(step.value)
      }
      const event = step.value
      switch (event.type) {
        case "text-delta": {
          const pending = reasoningMask.flush()
          if (pending !== "") yield reasoningEvent(pending)
          const delta = textMask.feed(scrubber.feed(event.text))
          if (delta !== "") yield textEvent(delta)
          break
        }
        case "reasoning-delta": {
          const delta = reasoningMask.feed(event.text)
          if (delta !== "") yield reasoningEvent(delta)
          break
        }
        case "tool-generating":
          yield { type: "status", kind: "tool-generating", text: "", tool: event.tool }
          break
        case "notice":
          yield { type: "status", kind: "notice", text: turn.redact(event.text) }
          break
        case "switch":
          yield { type: "status", kind: event.kind, text: turn.redact(event.text) }
          break
        case "retry": {
          const { attempt, delayMs, reason, text } = event
          yield { type: "status", kind: "retry", text: turn.redact(text), attempt, delayMs, reason }
          break
        }
      }
    }
  } finally {
    ended()
  }
}

/** Some models repeat the fenced memory block of the request; it is not part of the answer. */
function withoutMemoryEcho(outcome: ModelOutcome): ModelOutcome {
  if (outcome.kind !== "reply" || outcome.reply.content?.includes("<") !== true) return outcome
  const scrubber = createFenceScrubber()
  const content = scrubber.feed(outcome.reply.content) + scrubber.flush()
  return content === outcome.reply.content ? outcome : { ...outcome, reply: { ...outcome.reply, content } }
}

/**
 * A history that every wire accepts. Messages that need no repair stay the same objects, so their cached encoding stays valid.
 * Temporary messages may contain several parts of one reply in a row, between which nothing is missing.
 */
function sendable(history: readonly Message[], [first, ...others]: readonly Message[]): readonly Message[] {
  // A copy, because the history grows while the request is under way.
  const repaired = repairHistory(repairCallHistory(first === undefined ? [...history] : [...history, first]))
  return others.length === 0 ? repaired : [...repaired, ...others]
}
