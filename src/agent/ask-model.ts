import { createFenceScrubber } from "../knowledge/memory/fence.ts"
import type { ModelOutcome } from "../llm/model.ts"
import type { AgentEventBody } from "../protocol/events.ts"
import type { Message } from "../protocol/message.ts"
import { mendBrokenCalls } from "../toolkit/call-history-repair.ts"
import { repairSequence, withEveryCallSettled } from "./history.ts"
import type { Turn } from "./turn.ts"

export interface Ask {
  /** Sent behind the history, never stored. */
  readonly scaffold: readonly Message[]
  readonly outputCap: number | undefined
  /** `none`: no tool may be called. They stay declared: the request keeps its prefix, and some servers want those that the history names. */
  readonly toolChoice?: "none"
}

/** One request, told as it happens. */
export async function* askModel(turn: Turn, ask: Ask): AsyncGenerator<AgentEventBody, ModelOutcome, void> {
  const { conversation } = turn
  const stream = turn.model.stream(
    {
      model: turn.model.runtime.model,
      system: conversation.system,
      messages: sendable([...conversation.history, ...ask.scaffold]),
      tools: turn.tools,
      ...(ask.toolChoice === undefined ? {} : { toolChoice: ask.toolChoice }),
      ...turn.sampling,
      ...(ask.outputCap === undefined ? {} : { maxOutputTokens: ask.outputCap }),
    },
    { signal: turn.signal },
  )
  const scrubber = createFenceScrubber()
  const answer = turn.maskStream()
  const thoughts = turn.maskStream()
  for (;;) {
    const step = await stream.next()
    if (step.done === true) {
      const thought = thoughts.flush()
      if (thought !== "") yield { type: "reasoning-delta", text: thought }
      const rest = answer.feed(scrubber.flush()) + answer.flush()
      if (rest !== "") yield { type: "text-delta", text: rest }
      return withoutEchoes(step.value)
    }
    const event = step.value
    switch (event.type) {
      case "text-delta": {
        const thought = thoughts.flush()
        if (thought !== "") yield { type: "reasoning-delta", text: thought }
        const text = answer.feed(scrubber.feed(event.text))
        if (text !== "") yield { type: "text-delta", text }
        break
      }
      case "reasoning-delta": {
        const text = thoughts.feed(event.text)
        if (text !== "") yield { type: "reasoning-delta", text }
        break
      }
      case "tool-generating":
        yield { type: "status", kind: "tool-generating", text: "", tool: event.tool }
        break
      case "notice":
        yield { type: "status", kind: "notice", key: "provider", text: turn.redact(event.text) }
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
}

/** Some models repeat the block in which memory was given to them; it is no part of the answer. */
function withoutEchoes(outcome: ModelOutcome): ModelOutcome {
  if (outcome.kind !== "reply" || outcome.reply.content?.includes("<") !== true) return outcome
  const scrubber = createFenceScrubber()
  const content = scrubber.feed(outcome.reply.content) + scrubber.flush()
  return content === outcome.reply.content ? outcome : { ...outcome, reply: { ...outcome.reply, content } }
}

/** A history that every wire accepts. Messages that need no repair keep their identity, and with it their encoded bytes. */
function sendable(messages: readonly Message[]): readonly Message[] {
  return repairSequence(withEveryCallSettled(mendBrokenCalls(messages))).messages
}
