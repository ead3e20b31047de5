import { useProfile } from "../../../config/profiles/profiles.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"

/** `hermes profile use NAME` */
export function run({ positionals, terminal, home, environment }: Invocation): Promise<number> {
  const [name = ""] = positionals
  const chosen = valueOrCliError(useProfile({ home, environment }, name))
  terminal.line(`\`hermes\` now starts the profile ${chosen.profile} (${home.display(chosen.path)}).`)
  return Promise.resolve(0)
}
