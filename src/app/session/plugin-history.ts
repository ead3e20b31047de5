import { isDeepStrictEqual } from "node:util"

import type { CompressOutcome } from "../../agent/context/context-engine.ts"
import { isRecord } from "../../base/json.ts"
import type { Message } from "../../protocol/message.ts"

/** A copy of the history for a plugin, which must not be able to change messages in place. */
export interface LentHistory {
  readonly messages: readonly Message[]
  /** The outcome of a compression with the original messages. Throws when it is none. */
  takeBack(outcome: unknown): CompressOutcome
}

export function lendHistory(originals: readonly Message[]): LentHistory {
  const messages = structuredClone([...originals])
  const untouched = structuredClone(messages)
  const indexes = new Map(messages.map((message, index) => [message, index]))
  const takeBackMessage = (message: Message): Message => {
    const index = indexes.get(message)
    const original = index === undefined ? undefined : originals[index]
    if (index !== undefined && original !== undefined && isDeepStrictEqual(message, untouched[index])) return original
    const copy = structuredClone(message)
    // What a plugin wrote must not count as the words of the user.
    return copy.role === "user" ? { ...copy, synthetic: copy.synthetic ?? "summary" } : copy
  }
  return {
    messages,
    takeBack: (outcome) => {
      if (!isOutcome(outcome)) throw new Error("it did not return the outcome of a compression")
      const taken = new Map([...new Set(outcome.messages)].map((message) => [message, takeBackMessage(message)]))
      const back = (message: Message): Message => taken.get(message) ?? takeBackMessage(message)
      return {
        ...outcome,
        messages: outcome.messages.map(back),
        reshaped: new Map([...outcome.reshaped].map(([changed, former]) => [back(changed), back(former)])),
      }
    },
  }
}

function isOutcome(value: unknown): value is CompressOutcome {
  if (!isRecord(value)) return false
  const { messages, reshaped, layersRun, tokensBefore, tokensAfter } = value
  return (
    isListOfMessages(messages) &&
    reshaped instanceof Map &&
    isListOfMessages([...reshaped.keys(), ...reshaped.values()]) &&
    Array.isArray(layersRun) &&
    typeof tokensBefore === "number" &&
    typeof tokensAfter === "number"
  )
}

function isListOfMessages(value: unknown): boolean {
  return Array.isArray(value) && value.every(isMessage)
}

function isMessage(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { role, content, tool_calls: calls, tool_call_id: callId } = value
  const hasContent = typeof content === "string" || Array.isArray(content)
  switch (role) {
    case "user":
      return hasContent
    case "assistant":
      return (hasContent || content === null) && (calls === undefined || Array.isArray(calls))
    case "tool":
      return hasContent && typeof callId === "string"
    default:
      return false
  }
}
