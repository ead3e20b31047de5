import { existsSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { makeDirectories } from "../../base/make-directories.ts"
import { homeAt } from "../../config/home.ts"
import { isProfileName } from "../../config/profiles/profile-name.ts"
import { writeWrapper } from "../../config/profiles/profile-wrapper.ts"
import { restoreBackup } from "../backup/restore.ts"
import { CliError, type Invocation } from "../command.ts"
import { confirmed } from "../confirmation.ts"
import { refuseWhileGatewayRuns } from "../gateway-process.ts"
import { asSentence } from "../sentence.ts"
import { counted } from "../text-layout.ts"

const LISTED = 10

/** `hermes import ZIP` */
export async function run({
  flags,
  positionals,
  terminal,
  home,
  environment,
  signal,
  tree,
}: Invocation): Promise<number> {
  const [given = ""] = positionals
  const archive = resolve(given)
  const { root } = home
  if (statSync(archive, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new CliError(`There is no file ${archive}.`, { exitCode: 1 })
  }
  await refuseWhileGatewayRuns(home)
  await refuseWhileGatewayRuns(homeAt(root, environment))
  const installed = ["config.yaml", ".env", "state.db"].some((name) => existsSync(join(root, name)))
  if (installed) {
    const question = `${home.display(root)} is in use; replace what the backup holds?`
    if (!(await confirmed(question, { terminal, assumed: flags.has("force"), flag: "-f" }))) {
      terminal.line("Nothing was changed.")
      return 0
    }
  }
  makeDirectories(root)
  const restored = await restoreBackup(archive, { root, signal })
  if (!restored.ok) throw new CliError(restored.error, { exitCode: 1 })
  const { files, refused, profiles } = restored.value
  terminal.line(`Restored ${counted(files, "file")} to ${home.display(root)}.`)
  for (const line of refused.slice(0, LISTED)) terminal.errLine(`Not restored: ${line}`)
  if (refused.length > LISTED) terminal.errLine(`Not restored: ${refused.length - LISTED} more.`)
  const commands = tree.commands.flatMap((command) => [command.name, ...(command.aliases ?? [])])
  for (const name of profiles.filter((profile) => isProfileName(profile))) {
    const { path, hints } = writeWrapper(name, { home, environment, commands })
    if (path !== undefined) terminal.line(`The command ${home.display(path)} starts the profile ${name}.`)
    for (const hint of hints) terminal.errLine(asSentence(hint))
  }
  return 0
}
