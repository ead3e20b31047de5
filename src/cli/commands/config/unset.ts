import { unsetSetting } from "../../../admin/settings/edit-settings.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { mayLoosenProtection } from "./confirm-lost-protection.ts"

/** `hermes config unset KEY` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home } = invocation
  const [path = ""] = positionals
  const isScript = flags.has("json") || flags.has("yes")
  if (!isScript && !(await mayLoosenProtection(invocation, [[path, undefined]]))) return 1
  const edited = valueOrCliError(await unsetSetting(homeContext(invocation), path))
  for (const warning of edited.warnings) terminal.errLine(asSentence(warning))
  if (flags.has("json")) {
    printJson(terminal, {
      file: home.file(edited.file),
      removed: edited.paths,
      warnings: edited.warnings,
      mirrored: edited.mirrored,
    })
    return 0
  }
  terminal.line(`Removed ${path} from ${home.display(home.file(edited.file))}.`)
  if (edited.mirrored.length > 0) {
    terminal.line(`Also removed ${edited.mirrored.join(", ")} from ${home.display(home.file(".env"))}.`)
  }
  return 0
}
