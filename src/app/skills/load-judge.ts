import type { JudgeSnippets } from "../../knowledge/skills/guard/command-risk.ts"

/** Loads what judges the commands of skills, and with it the shell parser. */
export async function loadJudge(): Promise<JudgeSnippets> {
  const { judgeSnippets } = await import("./judge-snippets.ts")
  return judgeSnippets
}
