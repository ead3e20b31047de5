import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { storeSecret } from "../../config/dotenv.ts"
import { isSecretHeader, isSecretKey } from "../../config/secrets.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"

/** Secrets of a server and the same values with references to variables of `.env` in their place. */
export interface SeparatedSecrets {
  readonly values: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
}

/** Separates secrets from environment variables or headers of a server. A reference such as `${TOKEN}` is not a secret. */
export function separateSecrets(
  server: string,
  given: Readonly<Record<string, string>>,
  kind: "env" | "headers",
): SeparatedSecrets {
  const values: Record<string, string> = {}
  const secrets: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    const isSecret = kind === "env" ? isSecretKey(name) : isSecretHeader(name)
    if (!isSecret || value === "" || value.includes("${")) {
      values[name] = value
      continue
    }
    const variable = variableFor(server, name)
    // The scheme stays readable: `Bearer ${VARIABLE}`.
    const [, scheme = "", secret = value] = /^(Bearer\s+|Basic\s+)?(.*)$/isu.exec(value) ?? []
    values[name] = `${scheme}\${${variable}}`
    secrets[variable] = secret
  }
  return { values, secrets }
}

/** The variable of `.env` for a secret of a server. */
export function variableFor(server: string, name: string): string {
  return `MCP_${server}_${name}`.toUpperCase().replaceAll(/[^A-Z0-9]+/gu, "_")
}

export async function storeSecrets(
  { home, environment }: HomeContext,
  secrets: Readonly<Record<string, string>>,
): Promise<Result<undefined, AdminFailure>> {
  for (const [name, value] of Object.entries(secrets)) {
    const stored = await storeSecret({ home, environment, name, value })
    if (!stored.ok) return stored
  }
  return ok(undefined)
}
