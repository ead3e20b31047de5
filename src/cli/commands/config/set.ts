import { setSetting } from "../../../admin/settings/edit-settings.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { mayLoosenProtection } from "./confirm-lost-protection.ts"

/** `hermes config set KEY VALUE` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home } = invocation
  const [path = "", value = ""] = positionals
  const isScript = flags.has("json") || flags.has("yes")
  if (!isScript && !(await mayLoosenProtection(invocation, [[path, value]]))) return 1
  const edited = valueOrCliError(await setSetting(homeContext(invocation), path, value))
  for (const warning of edited.warnings) terminal.errLine(asSentence(warning))
  if (flags.has("json")) {
    printJson(terminal, {
      file: home.file(edited.file),
      set: edited.paths,
      warnings: edited.warnings,
      mirrored: edited.mirrored,
      secrets: edited.secretVariables,
    })
    return 0
  }
  terminal.line(`Set ${edited.paths.join(", ")} in ${home.display(home.file(edited.file))}.`)
  if (edited.secretVariables.length > 0) {
    const names = edited.secretVariables.join(", ")
    terminal.line(`The secret is stored in ${home.display(home.file(".env"))} as ${names}; config.yaml refers to it.`)
  }
  if (edited.mirrored.length > 0) {
    terminal.line(
      `Also set ${edited.mirrored.join(", ")} in ${home.display(home.file(".env"))}, where the Python edition reads it.`,
    )
  }
  return 0
}
