import { DEFAULT_IDENTITY } from "../../../agent/prompt/build-prompt.ts"
import { createProfile } from "../../../config/profiles/profile-create.ts"
import type { Home } from "../../../config/home.ts"
import { CliError, type Invocation } from "../../command.ts"
import { asSentence } from "../../sentence.ts"
import { granted } from "../../settings-access.ts"

/** `hermes profile create NAME` */
export async function run({ flags, positionals, terminal, home, environment, tree }: Invocation): Promise<number> {
  const [name = ""] = positionals
  const cloneFrom = flags.text("clone-from")
  const description = flags.text("description")
  if (flags.has("clone") && flags.has("clone-all")) {
    throw new CliError("`--clone` and `--clone-all` contradict each other; give one of them.", { exitCode: 2 })
  }
  const created = granted(
    await createProfile(
      { home, environment },
      {
        name,
        clone: flags.has("clone-all") ? "everything" : flags.has("clone") ? "settings" : "nothing",
        ...(cloneFrom !== undefined && { cloneFrom }),
        alias: !flags.has("no-alias"),
        skills: !flags.has("no-skills"),
        ...(description !== undefined && { description }),
        soul: `${DEFAULT_IDENTITY}\n`,
        commands: tree.commands.flatMap((command) => [command.name, ...(command.aliases ?? [])]),
        seedSkills: leaveSkillsEmpty,
      },
    ),
  )
  terminal.line(`Created the profile ${created.home.profile} in ${home.display(created.home.path)}.`)
  if (created.wrapper !== undefined) terminal.line(`The command ${home.display(created.wrapper)} starts it.`)
  for (const hint of created.hints) terminal.errLine(asSentence(hint))
  terminal.line(`Use it with: hermes -p ${created.home.profile}`)
  return 0
}

/** This release has no bundled skills to put in. */
function leaveSkillsEmpty(_home: Home): Promise<void> {
  return Promise.resolve()
}
