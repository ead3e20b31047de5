import type { StreamMask } from "../base/redact-stream.ts"
import type { ModelClient, Sampling } from "../llm/model.ts"
import type { AgentEventBody } from "../protocol/events.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { Compression } from "./context/compression.ts"
import type { Conversation } from "./conversation.ts"
import type { BatchOptions } from "./dispatch/batch.ts"
import type { IterationBudget } from "./iteration-budget.ts"
import type { Journal } from "./journal.ts"
import type { Spending } from "./spending.ts"
import type { Steering } from "./steering.ts"

/** A part of a turn: what happens in it, and what comes of it. */
export type Steps<Value> = AsyncGenerator<AgentEventBody, Value, void>

/** One turn: what the person said is stored already; the loop goes round until the model answers with text. */
export interface Turn {
  readonly runId: string
  readonly model: ModelClient
  readonly tools: readonly ToolDefinition[]
  /** The loop appends to it what it has stored. */
  readonly conversation: Conversation
  readonly journal: Journal
  readonly compression: Compression
  readonly dispatch: Omit<BatchOptions, "record">
  readonly budget: IterationBudget
  /** Tells the model in its results how much of the budget is used up. */
  readonly budgetPressure: boolean
  readonly steering: Steering
  readonly spending: Spending
  readonly sampling: Sampling
  readonly signal: AbortSignal
  readonly redact: (text: string, options?: { readonly codeFile?: boolean }) => string
  /** For each text that is told while it arrives. */
  readonly maskStream: () => StreamMask
  /** A fault inside Hermes that the turn survives. */
  readonly report: (fault: unknown) => void
}
