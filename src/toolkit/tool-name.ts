const TOOL_NAME = /^[A-Za-z0-9_]{1,64}$/u

/** What every provider accepts as the name of a tool. */
export function isToolName(name: string): boolean {
  return TOOL_NAME.test(name)
}
