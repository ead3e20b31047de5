import { renameIdleProfile } from "../../../admin/profiles/change-profile.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { commandNames } from "../../command-line/command-lookup.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes profile rename NAME NEW` */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, terminal, tree } = invocation
  const [from = "", to = ""] = positionals
  const renamed = valueOrCliError(
    await renameIdleProfile(homeContext(invocation), { from, to }, { commands: commandNames(tree) }),
  )
  terminal.line(`Renamed ${from} to ${renamed.home.profile}.`)
  for (const hint of renamed.hints) terminal.errLine(asSentence(hint))
  return 0
}
