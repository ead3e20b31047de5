import type { AgentEventBody } from "../protocol/events.ts"

/** A part of a turn: emits events and returns a value. */
export type Steps<Value> = AsyncGenerator<AgentEventBody, Value, void>
