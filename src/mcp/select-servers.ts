import { toolsetOf } from "./tool-names.ts"

/**
 * Whether a session may use a server. Without a choice of toolsets it may use all of them; a choice has to name the server, every tool, or
 * the set of a whole surface. `agent.disabled_toolsets` always wins.
 */
export function isSelected(
  server: string,
  { enabled, disabled }: { readonly enabled: readonly string[] | undefined; readonly disabled: readonly string[] },
): boolean {
  const names = [server, toolsetOf(server), "mcp"]
  if (disabled.some((name) => names.includes(name))) return false
  if (enabled === undefined) return true
  return enabled.some((name) => names.includes(name) || name === "all" || name === "*" || isSurface(name))
}

/** Anyone may write the payload of a webhook. */
function isSurface(name: string): boolean {
  return name.startsWith("hermes-") && name !== "hermes-webhook"
}
