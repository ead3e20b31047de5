import type { CompressionParts } from "../../agent/context/compression.ts"
import type { Facets } from "../../agent/facets.ts"
import type { Result } from "../../base/result.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { ModelClient } from "../../llm/model.ts"
import type { Answer, RunStart, UsageEvent } from "../../protocol/events.ts"
import type { TodoItem } from "../../toolkit/ports/todo.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import type { ExpansionContext } from "../input/expand-message.ts"
import type { OpenSessionParts, SessionAbilities } from "./facet-context.ts"

/** The parts that `openSession` assembles. */
export interface SessionParts extends OpenSessionParts {
  readonly clock: Clock
  readonly log: Logger
  readonly model: ModelClient
  readonly facets: Facets
  readonly abilities: Partial<SessionAbilities>
  readonly catchUp: CompressionParts["catchUp"]
  readonly footers: { readonly failedWrites: boolean; readonly explainEnd: boolean }
  readonly facts: SessionFacts
  /** For the user, emitted with the first run. */
  readonly openingWarnings: readonly string[]
  readonly openingWarningsShown: () => void
  /** For the model, sent with the first message. */
  readonly openingNote: string | undefined
  readonly todo: () => readonly TodoItem[]
  readonly background: BackgroundNotices
  /** The usage of auxiliary calls since the last call of this function. */
  readonly takeAuxiliaryUsage: () => readonly UsageEvent[]
  /** Sentences for the user since the last call of this function: repaired databases, plugins that were disabled. */
  readonly takeNotices: () => readonly string[]
  /** Answers a question of a background task. Returns false when there is no such question. */
  readonly answerTask: (requestId: string, answer: Answer) => boolean
  /** What references in messages of the user need of the app. */
  readonly expansion: Pick<ExpansionContext, "home" | "store" | "environment">
  readonly openModel: (chosen: ChosenModel) => Promise<Result<ModelClient>>
  readonly release: () => Promise<void>
}

/** What a run starts with, and more that surfaces show. */
export interface SessionFacts extends Omit<RunStart, "type"> {
  readonly messages: number
  /** The last reply of a resumed conversation was interrupted. */
  readonly endsInterrupted: boolean
  /** A resumed conversation was in this directory before. */
  readonly movedFrom?: string
  /** The name of the personality that the model has been given. */
  readonly personality?: string
  /** Why there is no model to answer: a clause that names the fix. */
  readonly modelProblem?: string
  /** Why the conversation is not saved, if the store could not be opened. */
  readonly unsaved?: string
}

/** Notices about background processes of the session. Each is the input of a separate run. */
export interface BackgroundNotices {
  take(): string | undefined
  /** Resolves when there is one to take, or when the signal aborts. */
  waitForOne(signal: AbortSignal): Promise<void>
}
