import type { Logger } from "../base/logger.ts"
import type { StreamMask } from "../base/redact-stream.ts"
import type { ModelClient, Sampling } from "../llm/model.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { Compression } from "./context/compression.ts"
import type { Conversation } from "./conversation.ts"
import type { DispatchSession } from "./dispatch/dispatch-session.ts"
import type { Interactions } from "./interactions.ts"
import { IterationBudget } from "./iteration-budget.ts"
import type { Spending } from "./spending.ts"
import type { Steering } from "./steering.ts"

/** One turn: everything the loop needs. The user's message is stored already. */
export interface Turn extends TurnParts, TurnRun {
  readonly budget: IterationBudget
}

/** What all turns of a session share. The background review and sub-agents use a changed copy. */
export interface TurnParts {
  readonly conversation: Conversation
  /** The declared tools. */
  readonly tools: readonly ToolDefinition[]
  readonly dispatch: DispatchSession
  readonly compression: Compression
  readonly spending: Spending
  readonly sampling: Sampling
  readonly maxIterations: number
  /** The budget of the turn that waits for this session, if it is shared. */
  readonly parentBudget?: IterationBudget
  /** Append the used share of the iteration budget to tool results. */
  readonly budgetPressure: boolean
  readonly redact: (text: string, options?: { readonly codeFile?: boolean }) => string
  /** Creates a redactor for one streamed text. */
  readonly maskStream: () => StreamMask
  /** A secret of this home, which the fences around tool results are derived from. */
  readonly fenceKey: () => string
  /** For faults inside Hermes that the turn survives. */
  readonly log: Pick<Logger, "error">
}

/** What belongs to one run. */
export interface TurnRun {
  readonly runId: string
  readonly model: ModelClient
  readonly interactions: Interactions
  readonly steering: Steering
  readonly signal: AbortSignal
}

/** The one builder of turns: the loop's, the background review's, a sub-agent's. */
export function buildTurn(parts: TurnParts, run: TurnRun): Turn {
  return { ...parts, ...run, budget: new IterationBudget(parts.maxIterations, parts.parentBudget) }
}
