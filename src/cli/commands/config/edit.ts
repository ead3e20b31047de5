import { editConfigFile, findEditor } from "../../../admin/settings/edit-config-file.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { run as check } from "./check.ts"

/** `hermes config edit`: opens the user's editor, then runs the same checks as `config check`. */
export async function run(invocation: Invocation): Promise<number> {
  const { home, environment, terminal } = invocation
  if (!terminal.stdinIsTty) {
    const path = home.file("config.yaml")
    throw new CliError(`an editor needs a terminal; change ${path} with \`hermes config set KEY VALUE\` instead`, {
      exitCode: 1,
    })
  }
  const editor = findEditor(environment)
  if (editor === undefined) {
    throw new CliError("no editor was found; set the variable EDITOR to your editor's command", { exitCode: 1 })
  }
  const code = await editConfigFile(homeContext(invocation), editor)
  if (code !== 0) throw new CliError(`the editor \`${editor}\` exited with code ${code}`, { exitCode: 1 })
  return await check(invocation)
}
