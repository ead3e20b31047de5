import { createProfileWithDefaultSoul } from "../../../admin/profiles/create-profile.ts"
import { asSentence } from "../../../base/sentence.ts"
import { CliError, type Invocation } from "../../command.ts"
import { commandNames } from "../../command-line/command-lookup.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes profile create NAME` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, tree } = invocation
  const [name = ""] = positionals
  const cloneFrom = flags.text("clone-from")
  const description = flags.text("description")
  if (flags.has("clone") && flags.has("clone-all")) {
    throw new CliError("`--clone` and `--clone-all` contradict each other; give one of them.", { exitCode: 2 })
  }
  const created = valueOrCliError(
    await createProfileWithDefaultSoul(homeContext(invocation), {
      name,
      clone: flags.has("clone-all") ? "everything" : flags.has("clone") ? "settings" : "nothing",
      ...(cloneFrom !== undefined && { cloneFrom }),
      alias: !flags.has("no-alias"),
      skills: !flags.has("no-skills"),
      ...(description !== undefined && { description }),
      commands: commandNames(tree),
    }),
  )
  terminal.line(`Created the profile ${created.home.profile} in ${home.display(created.home.path)}.`)
  if (created.wrapper !== undefined) terminal.line(`The command ${home.display(created.wrapper)} starts it.`)
  for (const hint of created.hints) terminal.errLine(asSentence(hint))
  terminal.line(`Use it with: hermes -p ${created.home.profile}`)
  return 0
}
