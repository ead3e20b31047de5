import type { Config } from "./load-config.ts"
import { settingEntries } from "./settings.ts"

/** The terminal settings as `TERMINAL_*` variables, for child processes that read them. */
export function terminalVariables(config: Config): Record<string, string> {
  const variables = settingEntries().flatMap(([key, setting]): [string, string][] => {
    const name = setting.environment?.strength === "section" ? setting.environment.name : undefined
    const value = config.lookup(key)
    if (name === undefined || value === undefined || value === null || value === "") return []
    return [[name, typeof value === "string" ? value : JSON.stringify(value)]]
  })
  return Object.fromEntries(variables)
}
