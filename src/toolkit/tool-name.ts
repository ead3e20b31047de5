const TOOL_NAME = /^[A-Za-z0-9_]{1,64}$/u

/** Whether every provider accepts this tool name. */
export function isToolName(name: string): boolean {
  return TOOL_NAME.test(name)
}
