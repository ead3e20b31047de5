import { nearest } from "../base/nearest-name.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { ENVIRONMENT_VARIABLES } from "./environment-variables.ts"
import type { Refusal } from "./managed-home.ts"
import { settingEntries, settingsUnder } from "./settings.ts"

/**
 * Refuses a name that is not a setting and that the user could rely on: permissions that no code reads (a start refuses them), and an
 * environment variable, which has no effect in `config.yaml`.
 */
export function refuseUnsafeName(path: string): Result<undefined, Refusal> {
  const problem = permissionProblem(path) ?? variableProblem(path)
  return problem === undefined ? ok(undefined) : fail({ kind: "invalid", message: problem })
}

function permissionProblem(path: string): string | undefined {
  const [section = ""] = path.split(".")
  if (section !== "permissions" && nearest(section, ["approvals"]) === undefined) return undefined
  const keys = settingsUnder("approvals").map(([key]) => key)
  const rest = path.slice(section.length + 1)
  const similar = nearest(`approvals.${rest}`, keys)
  const known = rest !== "" && similar !== undefined ? `did you mean \`${similar}\`?` : `use one of ${keys.join(", ")}`
  return `\`${path}\` is not a setting, and permissions must not be misread; ${known}`
}

function variableProblem(path: string): string | undefined {
  if (!/^[A-Z][A-Z0-9_]*$/u.test(path)) return undefined
  const setting = settingEntries().find(([, { environment }]) => environment?.name === path)?.[0]
  if (setting !== undefined)
    return `\`${path}\` is an environment variable; set \`${setting}\` instead, or export the variable in your shell`
  return ENVIRONMENT_VARIABLES.some(({ name }) => name === path)
    ? `\`${path}\` is an environment variable and has no effect in config.yaml; export it in your shell, for example \`${path}=… hermes\``
    : undefined
}
