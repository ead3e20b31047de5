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
  for (;;) {
    const step = await stream.next()
    if (step.done === true) return step.value
    const event = step.value
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        yield event
        break
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

/** A history that every wire accepts. Messages that need no repair keep their identity, and with it their encoded bytes. */
function sendable(messages: readonly Message[]): readonly Message[] {
  return repairSequence(withEveryCallSettled(mendBrokenCalls(messages))).messages
}
