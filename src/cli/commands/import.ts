import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { FOREIGN_AGENTS } from "../../admin/import-home/foreign-home.ts"
import { checkRestore, restoreBackup } from "../../admin/backup/restore-backup.ts"
import { counted } from "../../base/counted.ts"
import { nearest } from "../../base/nearest-name.ts"
import { asSentence } from "../../base/sentence.ts"
import { CliError, type Invocation } from "../command.ts"
import { commandNames } from "../command-line/command-lookup.ts"
import { valueOrCliError } from "../command-result.ts"
import { confirmed } from "../terminal/confirmation.ts"
import { homeContext } from "../home-context.ts"
import { runHomeImport } from "./import-home.ts"

const MAX_LISTED = 10

/** `hermes import ZIP`, or `hermes import AGENT` for the home of another agent. */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, flags } = invocation
  const agent = FOREIGN_AGENTS.find((name) => name === positionals[0])
  if (agent !== undefined) return await runHomeImport(agent, invocation)
  const given = positionals[0] ?? ""
  const missing = existsSync(resolve(given)) ? undefined : `there is no file ${resolve(given)}`
  const misplaced = ["from", "only", "dry-run", "include-secrets", "json"].find((name) => flags.has(name))
  const similar = missing === undefined ? undefined : similarAgent(given)
  if (similar !== undefined)
    throw new CliError(`There is no agent ${given}, and ${missing}; did you mean ${similar}?`, {
      exitCode: misplaced === undefined ? 1 : 2,
    })
  if (misplaced !== undefined) {
    const names = FOREIGN_AGENTS.join(", ")
    const alsoMissing = missing === undefined ? "" : `; ${missing}`
    throw new CliError(`--${misplaced} is for the home of another agent (${names}), not for a backup${alsoMissing}`, {
      exitCode: 2,
    })
  }
  return await restore(invocation)
}

/** The agent whose name is longer, as in `claude`, or was misspelt. */
function similarAgent(given: string): string | undefined {
  const name = given.toLowerCase()
  if (!/^[a-z-]{3,}$/u.test(name)) return undefined
  return FOREIGN_AGENTS.find((agent) => agent.startsWith(name)) ?? nearest(name, FOREIGN_AGENTS)
}

async function restore(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, signal, tree } = invocation
  const context = homeContext(invocation)
  const archive = resolve(positionals[0] ?? "")
  const { replacesData } = valueOrCliError(await checkRestore(context, archive))
  if (replacesData) {
    const question = `${home.display(home.root)} is in use; replace its files with those of the backup?`
    if (!(await confirmed(question, { terminal, assumed: flags.has("yes") || flags.has("force") }))) {
      terminal.line("Nothing was changed.")
      return 0
    }
  }
  const restored = valueOrCliError(await restoreBackup(context, archive, { commands: commandNames(tree), signal }))
  const { files, refused, wrappers } = restored
  terminal.line(`Restored ${counted(files, "file")} to ${home.display(home.root)}.`)
  for (const line of refused.slice(0, MAX_LISTED)) terminal.errLine(`Not restored: ${line}`)
  if (refused.length > MAX_LISTED) terminal.errLine(`Not restored: ${refused.length - MAX_LISTED} more.`)
  for (const { profile, path, hints } of wrappers) {
    if (path !== undefined) terminal.line(`The command ${home.display(path)} starts the profile ${profile}.`)
    for (const hint of hints) terminal.errLine(asSentence(hint))
  }
  return 0
}
