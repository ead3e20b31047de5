import { removeCredential } from "../../../admin/credentials/remove-credential.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes auth remove PROVIDER NUMBER|ID|LABEL` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, signal } = invocation
  const target = { provider: positionals[0] ?? "", credential: positionals[1] ?? "", signal }
  const { provider, label, remainsIn } = valueOrCliError(await removeCredential(homeContext(invocation), target))
  terminal.line(`Removed ${label} from ${provider}.`)
  if (remainsIn !== undefined) {
    terminal.line(`${remainsIn} itself was left alone; Hermes no longer uses it for ${provider}.`)
  }
  return 0
}
