import { showProfile } from "../../../config/profiles/profiles.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../terminal/json-output.ts"
import { valueOrCliError } from "../../command-result.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes profile show [NAME]`; bare `hermes profile` prints the current one. */
export async function run({ path, flags, positionals, terminal, home, environment }: Invocation): Promise<number> {
  const [name] = positionals
  if (path.at(-1) === "profile" || (name === undefined && home.profile === "custom")) {
    terminal.line(`${home.profile} (${home.display()})`)
    return 0
  }
  const profile = valueOrCliError(await showProfile({ home, environment }, name ?? home.profile))
  if (flags.has("json")) {
    printJson(terminal, profile)
    return 0
  }
  terminal.line(`Profile      ${profile.name}${profile.active ? " (active)" : ""}`)
  terminal.line(`Path         ${home.display(profile.path)}`)
  if (profile.description !== "") terminal.line(`Description  ${oneLine(profile.description)}`)
  terminal.line(`Settings     ${profile.hasConfig ? "config.yaml" : "defaults"}`)
  terminal.line(`Keys         ${profile.hasSecrets ? ".env" : "none"}`)
  if (profile.wrapper !== undefined) terminal.line(`Command      ${home.display(profile.wrapper)}`)
  return 0
}
