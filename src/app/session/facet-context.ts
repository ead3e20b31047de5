import type { Result } from "../../base/result.ts"
import type { SessionFacet } from "../../agent/facet.ts"
import type { Facets } from "../../agent/facets.ts"
import type { IterationBudget } from "../../agent/iteration-budget.ts"
import type { TurnParts } from "../../agent/turn.ts"
import type { Checkpoints } from "../../exec/checkpoints/checkpoints.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { ModelClient } from "../../llm/model.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { ToolEntry, ToolPorts } from "../../toolkit/tool.ts"
import type { McpControl } from "./mcp-control.ts"
import type { PlanMode } from "./plan-mode.ts"
import type { BackgroundTask } from "../services/background-tasks.ts"
import type { Services } from "../services/services.ts"
import type { AuxiliaryModel } from "./auxiliary-model.ts"
import type { OpenSessionOptions } from "./session-options.ts"
import type { SessionJournal } from "./session-journal.ts"
import type { UserNotes } from "./user-notes.ts"
import type { SkillCommands } from "./skill-commands.ts"
import type { SessionSpending } from "./session-spending.ts"

/** Creates one facet for one session; undefined where the settings or the workspace rule it out. */
export type FacetFactory = (context: FacetContext) => AppFacet | undefined | Promise<AppFacet | undefined>

export interface AppFacet extends SessionFacet {
  /** Called when the session is open: `FacetContext.session()` may be used from here on. Not called for a prompt preview. */
  opened?(): void
  /** Sentences for the user, shown before or with the first run. */
  openingWarnings?(): readonly string[]
  /** The opening warnings were shown. A session that ends before that leaves what is worth repeating to the next one. */
  openingWarningsShown?(): void
  /** Observes the requests of the session. */
  wrapModel?(model: ModelClient): ModelClient
  /** Abilities for surfaces. */
  abilities?(): Partial<SessionAbilities>
}

/** What surfaces can do with a session besides running it. */
export interface SessionAbilities {
  checkpoints(): Promise<Checkpoints>
  readonly plan: PlanMode
  readonly skills: SkillCommands
  readonly mcp: McpControl
  readonly startTask: StartTask
  readonly userNotes: UserNotes
}

/** Starts a task in a session of its own, which works while this one goes on. The error is a sentence. */
export type StartTask = (prompt: string) => Promise<Result<BackgroundTask>>

/** What a facet is built from. */
export interface FacetContext {
  /** The id of the session when the conversation began. It stays the same through compressions. */
  readonly taskId: SessionId
  readonly options: Pick<OpenSessionOptions, "origin" | "model" | "cwd"> & Partial<OpenSessionOptions>
  readonly services: Services
  readonly workspace: Workspace
  readonly auxiliary: AuxiliaryModel
  /** True when no session will be opened and only the prompt is shown. */
  readonly isPreview: boolean
  /** All facets of the session. Throws while they are being created. */
  readonly facets: () => Facets
  /** The ports of all facets. Throws while they are being created. */
  readonly ports: () => ToolPorts
  /** Throws until the session is open. */
  readonly session: () => OpenSessionParts
}

/** The open session as facets see it. */
export interface OpenSessionParts extends TurnParts {
  readonly spending: SessionSpending
  readonly journal: SessionJournal
  /** The iterations of the running turn. */
  readonly turnBudget: { current: IterationBudget | undefined }
  /** The model that answers now. */
  readonly chosenModel: () => ChosenModel
  /** Declared and deferred tools. */
  readonly allTools: readonly ToolDefinition[]
  /** Replaces the tools of a toolset that are not declared, when its source lists others. */
  replaceTools(toolset: string, entries: readonly ToolEntry[]): void
}
