import { changeToolsets } from "../../../admin/tools/toolset-settings.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { refuseOtherPlatform } from "./platform.ts"

/** `hermes tools enable NAME…` and `hermes tools disable NAME…`: for new sessions. Exit 1 when a name is unknown. */
export async function run(invocation: Invocation): Promise<number> {
  const { path, positionals, terminal } = invocation
  refuseOtherPlatform(invocation)
  const action = path.at(-1) === "enable" ? "enable" : "disable"
  const changes = await changeToolsets(homeContext(invocation), positionals, action)
  for (const { name, outcome } of changes) {
    if (!outcome.ok) terminal.errLine(asSentence(outcome.error))
    else if (outcome.value === "changed") terminal.line(`${name} is ${action}d in new sessions.`)
    else terminal.line(`${name} is ${action}d already.`)
  }
  return changes.every(({ outcome }) => outcome.ok) ? 0 : 1
}
