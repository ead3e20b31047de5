import type { ToolFilter } from "./server-settings.ts"

/** Whether the settings of a server offer one of its tools. `include` wins over `exclude`; both may contain `*`. */
export function isOffered(tool: string, { include, exclude }: ToolFilter): boolean {
  if (include !== undefined) return include.some((pattern) => matches(pattern, tool))
  return !exclude.some((pattern) => matches(pattern, tool))
}

function matches(pattern: string, tool: string): boolean {
  if (!pattern.includes("*")) return pattern === tool
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/gu, "\\$&"))
  return new RegExp(`^${parts.join(".*")}$`, "u").test(tool)
}
