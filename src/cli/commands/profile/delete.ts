import { deleteIdleProfile } from "../../../admin/profiles/change-profile.ts"
import { showProfile } from "../../../config/profiles/profiles.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes profile delete NAME`: asks the user to type the name, because all data of the profile is deleted. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, environment } = invocation
  const [name = ""] = positionals
  const profile = valueOrCliError(await showProfile({ home, environment }, name))
  if (!flags.has("yes") && profile.name !== "default") {
    const answer = await terminal.ask(
      `This deletes ${home.display(profile.path)} with all sessions and keys. Type ${profile.name} to confirm: `,
    )
    if (answer === undefined) {
      throw new CliError("Nothing was deleted, because the name was not confirmed. Use -y to delete without asking.", {
        exitCode: 1,
      })
    }
    if (answer.trim() !== profile.name) {
      terminal.line("Nothing was deleted.")
      return 0
    }
  }
  const deleted = valueOrCliError(await deleteIdleProfile(homeContext(invocation), name))
  terminal.line(`Deleted the profile ${deleted}.`)
  return 0
}
