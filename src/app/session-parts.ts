import type { Clock } from "../base/clock.ts"
import type { Logger } from "../base/logger.ts"
import type { Result } from "../base/result.ts"
import type { Compression, CompressionParts } from "../agent/context/compression.ts"
import type { Conversation } from "../agent/conversation.ts"
import type { Spending } from "../agent/spending.ts"
import type { Turn } from "../agent/turn.ts"
import type { Checkpoints } from "../exec/checkpoints/checkpoints.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { ModelClient, Sampling } from "../llm/model.ts"
import type { RunStart, UsageEvent } from "../protocol/events.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { TodoItem } from "../toolkit/ports/todo.ts"
import type { SessionCompanions } from "./session-companions.ts"
import type { SessionLog } from "./session-log.ts"

/** What `openSession` has put together. */
export interface SessionParts {
  readonly clock: Clock
  readonly model: ModelClient
  readonly conversation: Conversation
  readonly tools: readonly ToolDefinition[]
  /** What must survive of this session. */
  readonly log: SessionLog
  readonly compression: Compression
  /** What other processes did to the conversation is taken over before anything is added to it here. */
  readonly catchUp: CompressionParts["catchUp"]
  /** What is worth knowing about it afterwards. */
  readonly diagnostics: Logger
  readonly dispatch: Omit<Turn["dispatch"], "signal" | "interactions">
  readonly maxIterations: number
  readonly budgetPressure: boolean
  readonly footers: { readonly failedWrites: boolean; readonly explainEnd: boolean }
  readonly spending: Spending
  readonly sampling: Sampling
  readonly redact: Turn["redact"]
  readonly maskStream: Turn["maskStream"]
  readonly facts: SessionFacts
  /** For the person, said with the first turn. */
  readonly openingWarnings: readonly string[]
  /** For the model, with the first message. */
  readonly openingNote: string | undefined
  readonly todo: () => readonly TodoItem[]
  readonly background: BackgroundNotices
  readonly checkpoints: () => Promise<Checkpoints | undefined>
  /** How many messages are to be kept, when a checkpoint of the conversation was restored in the turn that has ended. */
  readonly takeRewind: () => number | undefined
  /** Memory, titles, reviews: what goes on beside the turns. */
  readonly companions: SessionCompanions
  /** What side calls have used since the last time. */
  readonly takeSideUsage: () => readonly UsageEvent[]
  readonly openModel: (chosen: ChosenModel) => Promise<Result<ModelClient>>
  readonly release: () => Promise<void>
}

/** What a run begins with, and more that surfaces show. */
export interface SessionFacts extends Omit<RunStart, "type"> {
  readonly messages: number
  /** Why nothing is kept, when the store could not be opened. */
  readonly unsaved?: string
}

export interface BackgroundNotices {
  take(): string | undefined
  /** Resolves when there is one to take, or when the signal aborts. */
  waitForOne(signal: AbortSignal): Promise<void>
}
