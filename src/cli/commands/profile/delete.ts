import { deleteProfile, showProfile } from "../../../config/profiles/profiles.ts"
import { CliError, type Invocation } from "../../command.ts"
import { refuseWhileGatewayRuns } from "../../gateway-process.ts"
import { granted } from "../../settings-access.ts"

/** `hermes profile delete NAME`: asks for the name, because everything in the profile goes. */
export async function run({ flags, positionals, terminal, home, environment }: Invocation): Promise<number> {
  const [name = ""] = positionals
  const context = { home, environment }
  const profile = granted(await showProfile(context, name))
  if (!flags.has("yes") && profile.name !== "default") {
    const answer = await terminal.ask(
      `This deletes ${home.display(profile.path)} with all sessions and keys. Type ${profile.name} to go on: `,
    )
    if (answer === undefined) {
      throw new CliError("Nothing was deleted, because nobody confirmed it. Use -y to go ahead without asking.", {
        exitCode: 1,
      })
    }
    if (answer.trim() !== profile.name) {
      terminal.line("Nothing was deleted.")
      return 0
    }
  }
  const deleted = granted(await deleteProfile(context, name, { stopServices: refuseWhileGatewayRuns }))
  terminal.line(`Deleted the profile ${deleted}.`)
  return 0
}
