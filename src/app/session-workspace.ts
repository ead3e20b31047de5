import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import { toolHome } from "../config/tool-home.ts"
import { commandEnvironment } from "../exec/command-environment.ts"
import { createLocalWorkspace } from "../exec/local-workspace.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { ToolLimits } from "../toolkit/tool.ts"

interface WorkspaceSources {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
}

/** Where the session's commands run; they see a filtered environment and the home they belong to. */
export function openWorkspace(
  cwd: string,
  { config, environment, home }: WorkspaceSources,
  sessionId?: SessionId,
): Workspace {
  const account = toolHome({ home, environment, mode: config.get("terminal.home_mode") })
  return createLocalWorkspace({
    cwd,
    userHome: home.userHome,
    environment: commandEnvironment(environment.toObject(), {
      passthrough: config.get("terminal.env_passthrough"),
      set: {
        HERMES_HOME: home.path,
        ...account,
        ...(sessionId === undefined ? {} : { HERMES_SESSION_ID: sessionId }),
      },
    }),
  })
}

/** What the settings allow a tool to return. */
export function limitsOf(config: Config): ToolLimits {
  return {
    readMaxChars: config.get("file_read_max_chars"),
    maxLines: config.get("tool_output.max_lines"),
    maxLineLength: config.get("tool_output.max_line_length"),
    outputMaxChars: config.get("tool_output.max_bytes"),
    commandTimeoutSeconds: config.get("terminal.timeout"),
  }
}
