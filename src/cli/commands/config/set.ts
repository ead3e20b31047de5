import { setFromText } from "../../../config/edit.ts"
import { ensureHome } from "../../../config/home.ts"
import type { Invocation } from "../../command.ts"
import { asSentence } from "../../sentence.ts"
import { granted, loadSettings } from "../../settings-access.ts"

/** `hermes config set KEY VALUE` */
export async function run({ positionals, terminal, home, environment: inherited }: Invocation): Promise<number> {
  const [path = "", value = ""] = positionals
  ensureHome(home, inherited)
  const { environment } = await loadSettings({ home, environment: inherited })
  const edited = granted(await setFromText({ home, environment }, path, value))
  for (const warning of edited.warnings) terminal.errLine(asSentence(warning))
  terminal.line(`Set ${path} in ${home.display(home.file(edited.file))}.`)
  return 0
}
