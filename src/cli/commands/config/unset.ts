import { unsetPath } from "../../../config/edit.ts"
import type { Invocation } from "../../command.ts"
import { asSentence } from "../../sentence.ts"
import { granted, loadSettings } from "../../settings-access.ts"

/** `hermes config unset KEY` */
export async function run({ positionals, terminal, home, environment: inherited }: Invocation): Promise<number> {
  const [path = ""] = positionals
  const { environment } = await loadSettings({ home, environment: inherited })
  const edited = granted(await unsetPath({ home, environment }, path))
  for (const warning of edited.warnings) terminal.errLine(asSentence(warning))
  terminal.line(`Removed ${path} from ${home.display(home.file(edited.file))}.`)
  return 0
}
