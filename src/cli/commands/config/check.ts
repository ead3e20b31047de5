import { existsSync } from "node:fs"
import { isOutdated } from "../../../config/migration/migrate.ts"
import { configVersionOf } from "../../../config/validate.ts"
import { CONFIG_VERSION, settingKeys } from "../../../config/settings.ts"
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
    const stated = version === 0 ? "states no version" : `has version ${version}`
    terminal.line(`${shown} ${stated}, this release writes ${CONFIG_VERSION}.`)
    const outdated = isOutdated(config.user(), { home, environment })
    if (outdated) terminal.line("`hermes config migrate` brings it up to date.")
    else if (version === 0) terminal.line("Nothing in it is outdated.")
    const missing = settingKeys().filter((key) => config.origin(key) === "default").length
    terminal.line(`${missing} of ${settingKeys().length} settings are not in it and have their defaults.`)
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
