/** Sent with the first message after plan mode was entered. */
export function enteringPlanNote(file: string): string {
  return [
    "[Plan mode is on. Read and analyse only: nothing may be changed, run or sent until the user has approved a plan.",
    "Tools that would do so return PLAN_MODE_ACTIVE; do not look for a way around it. Commands that only read (ls, cat, rg, git log …) work.",
    `When you know enough, write the plan to ${file}, the one file you may write, with the headings Goal, Findings, Steps (numbered, each with`,
    "the files it touches), Risks and Verification. Then stop and present it.]",
  ].join("\n")
}

/** Sent with the first message after plan mode was left without an approval. */
export function leavingPlanNote(profile: string): string {
  return `[Plan mode is off. The permission profile is now ${profile}.]`
}

/** The user message that starts the work. It contains the plan, so that a compression cannot lose a word of it. */
export function approvalMessage({ text, profile }: { readonly text: string; readonly profile: string }): {
  readonly content: string
  readonly injected: string
} {
  return {
    content: PLAN_APPROVED,
    injected: `[Plan mode is off. The permission profile is now ${profile}. This is the plan as the user approved it:]\n\n${text}`,
  }
}

export const PLAN_APPROVED = "The plan is approved. Carry it out."
