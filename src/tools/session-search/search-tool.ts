/** Calls and results of this tool repeat the query, so they are not searched. */
export const SEARCH_TOOL = "session_search"

export function isSearchCall(toolName: string): boolean {
  return toolName === SEARCH_TOOL
}
