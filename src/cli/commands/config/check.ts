import { existsSync } from "node:fs"
import { configVersionOf } from "../../../config/validate.ts"
import { CONFIG_VERSION, SETTINGS } from "../../../config/settings.ts"
import type { Invocation } from "../../command.ts"
import { asSentence } from "../../sentence.ts"
import { loadSettings } from "../../settings-access.ts"

/** `hermes config check`: exit 1 when something is wrong enough to be an error. */
export async function run({ terminal, home, environment }: Invocation): Promise<number> {
  const { config, warnings } = await loadSettings({ home, environment })
  const shown = home.display(config.path)
  if (config.broken !== undefined) {
    const { line, column, message } = config.broken
    terminal.errLine(
      `✗ ${shown} does not parse (line ${line}, column ${column}: ${message}); its settings are ignored until it is repaired.`,
    )
    return 1
  }
  if (!existsSync(config.path)) terminal.line(`${shown} does not exist; all settings have their defaults.`)
  else {
    const version = configVersionOf(config.user())
    terminal.line(`${shown} has version ${version}, this release writes ${CONFIG_VERSION}.`)
    if (version < CONFIG_VERSION) terminal.line("`hermes config migrate` brings it up to date.")
    const missing = Object.keys(SETTINGS).filter((key) => config.origin(key) === "default").length
    terminal.line(`${missing} of ${Object.keys(SETTINGS).length} settings are not in it and have their defaults.`)
  }
  for (const warning of warnings) terminal.errLine(`⚠ ${asSentence(warning)}`)
  for (const problem of config.problems) {
    const place = problem.path === "" ? "" : `${problem.path}: `
    terminal.errLine(`${problem.severity === "error" ? "✗" : "⚠"} ${place}${problem.message} — ${problem.fix}`)
  }
  const errors = config.problems.filter((problem) => problem.severity === "error").length
  if (errors > 0) return 1
  terminal.line(config.problems.length === 0 && warnings.length === 0 ? "No problems." : "No errors.")
  return 0
}
