import { examineHooks } from "../../../admin/hooks/hooks.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes hooks doctor` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const problems = await examineHooks(homeContext(invocation), { cwd: process.cwd(), signal })
  if (flags.has("json")) printJson(terminal, { problems })
  else for (const problem of problems) terminal.line(asSentence(problem))
  if (problems.length === 0 && !flags.has("json")) terminal.line("No problems found.")
  return problems.length === 0 ? 0 : 1
}
