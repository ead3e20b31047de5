import { systemClock } from "../../../src/base/clock.ts"
import { newSessionId } from "../../../src/state/session-id.ts"
import type { SessionId } from "../../../src/protocol/identifiers.ts"
import type { Message } from "../../../src/protocol/message.ts"
import type { AssembledApp } from "../assembled-app.ts"

/** Stores a session with these messages, to be resumed. */
export async function seedSession(assembled: AssembledApp, messages: readonly Message[]): Promise<SessionId> {
  const store = await assembled.app.store()
  const id = newSessionId(systemClock, "terminal")
  const startedAt = systemClock.now() / 1000 - 3600
  const stamped = messages.map((message, index) =>
    message.role === "system" ? message : { ...message, timestamp: startedAt + index },
  )
  await store.startSession({ id, source: "cli", startedAt, systemPrompt: "You are a test." }, stamped, "Seeded")
  return id
}
