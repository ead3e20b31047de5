import { describeProfile } from "../../../config/profiles/profile-description.ts"
import { showProfile } from "../../../config/profiles/profiles.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes profile describe [NAME] [--text T]`: without `--text` it prints the current description. */
export async function run({ flags, positionals, terminal, home, environment }: Invocation): Promise<number> {
  const profile = valueOrCliError(await showProfile({ home, environment }, positionals[0] ?? home.profile))
  const text = flags.text("text")
  if (text === undefined) {
    terminal.line(profile.description === "" ? `${profile.name} has no description.` : oneLine(profile.description))
    return 0
  }
  valueOrCliError(
    await describeProfile(profile.path, { description: text, auto: false }, { overwrite: flags.has("overwrite") }),
  )
  terminal.line(`Saved the description of ${profile.name}.`)
  return 0
}
