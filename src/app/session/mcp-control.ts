import type { Result } from "../../base/result.ts"

/** The MCP servers of a session, for surfaces. */
export interface McpControl {
  /** The prompts of the servers as slash commands. */
  prompts(): readonly McpPromptCommand[]
  /** Fills in a prompt: returns the text to send. Undefined when no prompt has this command. */
  fillPrompt(command: string, argument: string, signal: AbortSignal): Promise<Result<string> | undefined>
}

export interface McpPromptCommand {
  /** Without the slash. */
  readonly command: string
  readonly description: string
  readonly argument: string
}
