import { createDisplayControl } from "../../commands/display-control.ts"
import { abortPlan, approvePlan, PLAN_LATER } from "../../commands/plan.ts"
import { createConfirmModal } from "../modals/confirm-modal.ts"
import { createListModal } from "../modals/list-modal.ts"
import { createPlanModal } from "../modals/plan-modal.ts"
import { skinNames } from "../theme/load-skin.ts"
import { openFullTurn } from "./full-turn.ts"
import { createTurnQuestions } from "./turn-questions.ts"

/** What a conversation needs and the first frame does not. It is loaded after that frame was drawn. */
export const CONVERSATION_PARTS = {
  abortPlan,
  approvePlan,
  createConfirmModal,
  createDisplayControl,
  createListModal,
  createPlanModal,
  createTurnQuestions,
  openFullTurn,
  PLAN_LATER,
  skinNames,
}

export type ConversationParts = typeof CONVERSATION_PARTS
