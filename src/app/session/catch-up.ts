import type { Conversation } from "../../agent/conversation.ts"
import type { Facets } from "../../agent/facets.ts"
import type { Steps } from "../../agent/steps.ts"
import type { StoredState } from "./session-journal.ts"

export interface CatchUpParts {
  readonly conversation: Conversation
  readonly facets: Facets
}

/** Applies changes that another process made to this conversation. */
export async function* adoptStored(stored: StoredState, { conversation, facets }: CatchUpParts): Steps<void> {
  const from = conversation.id
  conversation.adopt(stored)
  facets.historyChanged(conversation.history)
  if (stored.id === from) {
    yield { type: "status", kind: "warning", text: changeText(stored.added) }
    return
  }
  facets.rotated({ from, to: stored.id })
  yield { type: "session-rotated", oldSessionId: from, newSessionId: stored.id, reason: "compression" }
  const text = `another process compressed this conversation; it continues as ${stored.id}`
  yield { type: "status", kind: "warning", text }
}

function changeText(added: number): string {
  if (added <= 0) return "another process removed part of this conversation; it continues here without it"
  return `another process added ${added === 1 ? "1 message" : `${added} messages`} to this conversation; it continues here with all of them`
}
