import { renameProfile } from "../../../config/profiles/profiles.ts"
import type { Invocation } from "../../command.ts"
import { refuseWhileGatewayRuns } from "../../gateway-process.ts"
import { asSentence } from "../../sentence.ts"
import { granted } from "../../settings-access.ts"

/** `hermes profile rename NAME NEW` */
export async function run({ positionals, terminal, home, environment, tree }: Invocation): Promise<number> {
  const [from = "", to = ""] = positionals
  const renamed = granted(
    await renameProfile(
      { home, environment },
      { from, to },
      {
        stopServices: refuseWhileGatewayRuns,
        commands: tree.commands.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
      },
    ),
  )
  terminal.line(`Renamed ${from} to ${renamed.home.profile}.`)
  for (const hint of renamed.hints) terminal.errLine(asSentence(hint))
  return 0
}
