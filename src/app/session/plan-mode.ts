import type { TurnEnd } from "../../agent/turn-end.ts"
import type { Result } from "../../base/result.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import type { RulePattern } from "../../policy/rules/permission-rules.ts"
import type { PlanReady } from "../../protocol/events.ts"

/** Plan mode of a session: the model reads and plans, the user approves, only then is anything changed. */
export interface PlanMode {
  /** The one file that the model may write in plan mode. */
  readonly path: string
  /** The conversation was resumed before the user had decided about its plan, so it continues in plan mode. */
  readonly isUndecided: boolean
  /** After a run: stores the plan and returns what to offer to the user. Undefined when the run produced no plan. */
  finish(end: TurnEnd): Promise<Omit<PlanReady, "type" | "requestId"> | undefined>
  /** The plan that the user has to decide about, to be shown to the user now. */
  show(): Promise<ShownPlan | undefined>
  /**
   * Approves the plan that was shown last. Returns the message to send: the approval takes effect with it, not before. "changed" when the
   * file is not the one that was shown.
   */
  approve(how: PlanApprovalKind): Promise<Result<string, "none" | "changed">>
  /** The approval that belongs to the message that is about to be stored. */
  takeApproval(message: string): PlanApproval | undefined
  /** Keeps the plan on disk and returns the profile that applied before. */
  abort(): Promise<PermissionProfile>
}

export interface ShownPlan {
  readonly path: string
  readonly text: string
}

/** `ask`: every step that changes something still asks. */
export type PlanApprovalKind = "approve" | "ask"

export interface PlanApproval {
  readonly profile: PermissionProfile
  /** What still asks in this session, whatever the profile says. */
  readonly askAbout: readonly RulePattern[]
  readonly content: string
  readonly injected: string
  /** Call it when the message is stored. */
  applied(): void
}
