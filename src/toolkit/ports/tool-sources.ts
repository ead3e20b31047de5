/** Sources of tools that are still connecting when a session starts, for example MCP servers. */
export interface ToolSourcesPort {
  /** Waits a moment for them. Returns a sentence about each source that is not available, for the model. */
  arrived(signal: AbortSignal): Promise<readonly string[]>
}
