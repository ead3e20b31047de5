import { isRecord, parseJson } from "../base/json.ts"
import { hasPath, type Tree } from "./document/document-tree.ts"
import type { ConfigProblem } from "./config-problem.ts"
import type { Environment } from "./environment.ts"
import { readBoolean, type Setting } from "./setting.ts"
import { settingsWithVariable } from "./settings.ts"

/** A value that overrides the file. */
export interface Override {
  readonly path: string
  readonly value: unknown
  /** Where it came from, for messages. */
  readonly source: string
}

/** The settings from environment variables: some override the file, some apply only where it has no value. */
export function environmentOverrides(environment: Environment, user: Tree): readonly Override[] {
  const known = settingsWithVariable().flatMap(([path, setting]): Override[] => {
    const source = setting.environment
    const text = source === undefined ? "" : (environment.get(source.name) ?? "")
    if (source === undefined || text.trim() === "") return []
    if (source.strength === "fills" && !isBlank(path, user)) return []
    if (source.strength === "section" && isRecord(user[path.split(".")[0] ?? path])) return []
    return [{ path, value: structured(setting, text), source: source.name }]
  })
  return [...known, ...auxiliaryOverrides(environment)]
}

/** Switches that restrict the agent. With a value that is neither true nor false, the user may rely on one that is off. */
const RESTRICTING_SWITCHES = ["HERMES_SAFE_MODE", "HERMES_IGNORE_USER_CONFIG", "HERMES_IGNORE_RULES"]

export function invalidSwitches(environment: Environment): readonly ConfigProblem[] {
  return RESTRICTING_SWITCHES.flatMap((name): ConfigProblem[] => {
    const value = environment.get(name)?.trim() ?? ""
    if (value === "" || readBoolean(value) !== undefined) return []
    return [
      { severity: "error", path: "", message: `the value of ${name} is invalid`, fix: "use 1 or 0", blocksStart: true },
    ]
  })
}

function isBlank(path: string, user: Tree): boolean {
  return !hasPath(user, path)
}

function structured(setting: Setting, text: string): unknown {
  return setting.type === "list" || setting.type === "mapping" ? (parseJson(text) ?? text) : text
}

/** `AUXILIARY_<TASK>_MODEL` and so on, for built-in tasks and those of plugins. */
function auxiliaryOverrides(environment: Environment): Override[] {
  return environment.names().flatMap((name): Override[] => {
    const [, task, field] = /^AUXILIARY_([A-Z0-9_]+?)_(PROVIDER|MODEL|BASE_URL|API_KEY)$/.exec(name) ?? []
    const value = environment.get(name)?.trim() ?? ""
    if (task === undefined || field === undefined || value === "") return []
    return [{ path: `auxiliary.${task.toLowerCase()}.${field.toLowerCase()}`, value, source: name }]
  })
}
