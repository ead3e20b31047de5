import type { ActivitySummary } from "../../agent/activity.ts"
import type { Permissions } from "../../agent/permissions.ts"
import type { AgentEvent, Answer, RunStart } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { UserInput } from "../../protocol/message.ts"

/** The session of a sub-agent, as the session that started it uses it. */
export interface OpenedChild {
  readonly id: SessionId
  readonly facts: Omit<RunStart, "type">
  run(
    input: UserInput,
    options: { readonly signal: AbortSignal; readonly delegated: boolean },
  ): AsyncGenerator<AgentEvent, void, void>
  /** Returns false for an empty note. */
  steer(text: string): boolean
  activity(): ActivitySummary
  close(reason: string): Promise<void>
}

/** The session of a background task, as the tasks of the app use it. */
export interface OpenedTask {
  readonly id: SessionId
  run(input: UserInput, options: { readonly signal: AbortSignal }): AsyncGenerator<AgentEvent, void, void>
  answer(requestId: string, answer: Answer): boolean
  steer(text: string): boolean
  readonly permissions: Pick<Permissions, "addRule">
  close(reason: string): Promise<void>
}
