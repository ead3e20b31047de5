import { isRecord } from "../../base/json.ts"
import { expandVariables } from "./document-tree.ts"
import type { Environment } from "../environment.ts"

/**
 * Restores `${VAR}` where the value to write still equals what the template in the file expands to, so that a secret from a
 * variable is never written to the file. List items are matched by their `name` if they have one, otherwise by index.
 */
export function restoreTemplates(value: unknown, written: unknown, environment: Environment): unknown {
  if (typeof value === "string") {
    return typeof written === "string" && expandVariables(written, (name) => environment.get(name)) === value
      ? written
      : value
  }
  if (Array.isArray(value)) {
    if (!Array.isArray(written)) return value
    const byName = namedItems(written)
    return value.map((item: unknown, index) => {
      const partner: unknown = byName === undefined ? written[index] : byName.get(nameOf(item) ?? "")
      return restoreTemplates(item, partner, environment)
    })
  }
  if (!isRecord(value) || !isRecord(written)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const partner = Object.hasOwn(written, key) ? written[key] : undefined
      return [key, restoreTemplates(inner, partner, environment)]
    }),
  )
}

function namedItems(items: readonly unknown[]): Map<string, unknown> | undefined {
  const named = new Map<string, unknown>()
  for (const item of items) {
    const name = nameOf(item)
    if (name === undefined || named.has(name)) return undefined
    named.set(name, item)
  }
  return named
}

function nameOf(item: unknown): string | undefined {
  return isRecord(item) && typeof item["name"] === "string" ? item["name"] : undefined
}
