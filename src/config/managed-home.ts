import { readFileSync } from "node:fs"
import { fail, ok, type Result } from "../base/result.ts"
import { takeCodePoints } from "../base/text.ts"
import type { Environment } from "./environment.ts"
import type { Home } from "./home.ts"

/** Why a change was refused. Nothing has been changed then. */
export interface Refusal {
  /** `invalid`: the request itself is wrong. `failed`: the request is correct, but the home or the machine does not allow it. */
  readonly kind: "invalid" | "failed"
  /** One sentence for the user. */
  readonly message: string
}

/** The package manager that owns this installation's configuration, or undefined when the user does. */
export function managedBy(home: Home, environment: Environment): string | undefined {
  const variable = (environment.get("HERMES_MANAGED") ?? "").trim()
  if (!["", "0", "false", "no", "off"].includes(variable.toLowerCase())) {
    return ["1", "true", "yes", "on"].includes(variable.toLowerCase()) ? UNNAMED : variable
  }
  try {
    const name = readFileSync(home.file(".managed"), "utf8").split("\n")[0]?.trim() ?? ""
    return name === "" ? UNNAMED : takeCodePoints(name, 60)
  } catch {
    // No readable marker: the user owns the configuration.
    return undefined
  }
}

/** Every function that writes configuration calls this first. */
export function refuseWhenManaged(home: Home, environment: Environment): Result<undefined, Refusal> {
  const owner = managedBy(home, environment)
  if (owner === undefined) return ok(undefined)
  return fail({ kind: "failed", message: `this installation is managed by ${owner}; change its configuration there` })
}

const UNNAMED = "a package manager"
