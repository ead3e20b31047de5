import { examineHooks } from "../../../admin/hooks/hooks.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes hooks doctor` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, signal } = invocation
  const problems = await examineHooks(homeContext(invocation), { cwd: process.cwd(), signal })
  for (const problem of problems) terminal.line(asSentence(problem))
  if (problems.length === 0) terminal.line("No problems found.")
  return problems.length === 0 ? 0 : 1
}
