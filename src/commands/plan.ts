import type { Session } from "../app/session/session.ts"
import { visibleText } from "../base/visible-text.ts"
import { reply } from "./slash-command.ts"
import type { SlashCommand, SlashOutcome } from "./slash-command.ts"

/** `/plan`: enters plan mode, or answers a plan that is ready. */
export const planCommand: SlashCommand = {
  name: "plan",
  category: "permissions",
  argument: "[TASK | approve | ask | revise TEXT | abort]",
  help: "plan first: only read until you approve; then approve, ask (approve, but ask before each change), revise or abort",
  idleOnly: true,
  run: async (argument, { session }) => {
    const [, word = "", text = ""] = /^(\S*)\s*([^]*)$/u.exec(argument.trim()) ?? []
    if (word === "approve" && text === "") return await approvePlan(session, "approve")
    if (word === "ask" && text === "") return await approvePlan(session, "ask")
    if (word === "abort" && text === "") return await abortPlan(session)
    if (word === "revise" && text === "") return reply("Say what should change: /plan revise TEXT.")
    session.setPermissionProfile("plan")
    if (word === "revise") return { kind: "send", text, typed: true }
    if (argument.trim() !== "") return { kind: "send", text: argument.trim(), typed: true }
    const plan = await session.plan.show()
    return reply(
      plan === undefined
        ? "Plan mode is on: nothing is changed until you approve a plan. What should be planned?"
        : showPlan(plan),
    )
  },
}

/** The plan as the user is asked about it. */
export function showPlan({ path, text }: { readonly path: string; readonly text: string }): string {
  return `${visibleText(text.trimEnd()).text}\n\nPlan: ${path}\n/plan approve carries it out, /plan ask does so but asks before each change, /plan revise TEXT changes it, /plan abort drops it.`
}

/** A plan that changed since it was shown is shown again instead of approved. */
export async function approvePlan(session: Pick<Session, "plan">, how: "approve" | "ask"): Promise<SlashOutcome> {
  const approved = await session.plan.approve(how)
  if (approved.ok) return { kind: "send", text: approved.value }
  if (approved.error === "none") return reply("There is no plan to approve. /plan TASK makes one.")
  const plan = await session.plan.show()
  return reply(
    plan === undefined
      ? "The plan file is gone. /plan TASK makes a new one."
      : `The plan has changed since you saw it:\n\n${showPlan(plan)}`,
  )
}

export async function abortPlan(session: Pick<Session, "plan">): Promise<SlashOutcome> {
  const kept = (await session.plan.show()) === undefined ? "" : " The plan stays on disk."
  return reply(
    `Plan mode is off, nothing was carried out.${kept} The permission profile is ${await session.plan.abort()}.`,
  )
}

/** The user has not decided about a plan. */
export const PLAN_LATER = reply(
  "Plan mode stays on. /plan approve, ask, revise TEXT and abort decide later; any message continues the planning.",
)
