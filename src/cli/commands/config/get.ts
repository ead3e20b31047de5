import { readSetting } from "../../../admin/settings/read-setting.ts"
import { asSentence } from "../../../base/sentence.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes config get KEY`: prints the effective value, for scripts. Secrets are masked. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal } = invocation
  const [path = ""] = positionals
  const setting = await readSetting(homeContext(invocation), path)
  if (!setting.ok) {
    if (setting.error.kind === "broken-file") throw new CliError(asSentence(setting.error.message), { exitCode: 1 })
    const { suggestion } = setting.error
    const hint = suggestion === undefined ? "" : ` Did you mean \`${suggestion}\`?`
    throw new CliError(`\`${path}\` is not set.${hint}`, { exitCode: 1 })
  }
  const { value, problems } = setting.value
  for (const { message, fix } of problems) terminal.errLine(asSentence(`${message}; ${fix}`))
  if (flags.has("json")) printJson(terminal, value)
  else terminal.line(typeof value === "string" ? value : JSON.stringify(value))
  return 0
}
