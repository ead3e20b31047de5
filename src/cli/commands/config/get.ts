import { maskSecret, secretVariable } from "../../../config/secrets.ts"
import { nearest } from "../../../base/nearest.ts"
import { settingKeys } from "../../../config/settings.ts"
import { CliError, type Invocation } from "../../command.ts"
import { loadSettings } from "../../settings-access.ts"

/** `hermes config get KEY`: the value in force, for scripts. A key of a provider is shown masked. */
export async function run({ positionals, terminal, home, environment: inherited }: Invocation): Promise<number> {
  const [path = ""] = positionals
  const { config, environment } = await loadSettings({ home, environment: inherited })
  const value = config.lookup(path)
  const variable = secretVariable(path)
  const secret = variable === undefined ? undefined : environment.get(variable)
  if (value !== undefined) terminal.line(typeof value === "string" ? value : JSON.stringify(value))
  else if (secret !== undefined && secret !== "") terminal.line(maskSecret(secret))
  else {
    const suggestion = nearest(path, settingKeys())
    throw new CliError(
      `\`${path}\` is not set.${suggestion === undefined || suggestion === path ? "" : ` Did you mean \`${suggestion}\`?`}`,
      { exitCode: 1 },
    )
  }
  return 0
}
