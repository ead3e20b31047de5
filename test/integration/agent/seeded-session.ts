import { systemClock } from "../../../src/base/clock.ts"
import { promptMark } from "../../../src/app/session/stored-prompt.ts"
import { newSessionId } from "../../../src/state/session-id.ts"
import type { SessionId } from "../../../src/protocol/identifiers.ts"
import type { Message } from "../../../src/protocol/message.ts"
import type { AssembledApp } from "../assembled-app.ts"

const PROMPT = "You are a test."

/** Stores a session with these messages, to be resumed. */
export async function seedSession(assembled: AssembledApp, messages: readonly Message[]): Promise<SessionId> {
  const store = await assembled.app.store()
  const id = newSessionId(systemClock, "terminal")
  const startedAt = systemClock.now() / 1000 - 3600
  const stamped = messages.map((message, index) =>
    message.role === "system" ? message : { ...message, timestamp: startedAt + index },
  )
  const session = { id, source: "cli", startedAt, systemPrompt: PROMPT, modelConfig: promptMark(PROMPT) }
  await store.startSession(session, stamped, "Seeded")
  return id
}
