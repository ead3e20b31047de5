import type { Access } from "../../protocol/tool.ts"

/** What a selector can tell apart about a call. */
export interface SelectedCall {
  readonly tool: string
  readonly toolset: string
  /** The MCP server that offers the tool. */
  readonly server?: string
  /** The plugin whose code runs. */
  readonly plugin?: string
  readonly access: Access | "unknown"
  /** Reads from the network without changing anything there. */
  readonly isWebRead: boolean
  /** Where a command of the call starts. */
  readonly directory?: string
}

type Selects = (call: SelectedCall) => boolean

/** The classes of the pattern grammar. A class with the name of a tool selects that tool. */
export const CLASSES: Readonly<Record<string, Selects>> = {
  file: inToolsets("file"),
  "file:read": (call) => call.toolset === "file" && call.access === "read",
  "file:write": (call) => call.toolset === "file" && call.access === "write",
  code: inToolsets("code_execution"),
  browser: inToolsets("browser"),
  web: inToolsets("web", "search", "x_search"),
  delegate: inToolsets("delegation"),
  skills: inToolsets("skills"),
  message: (call) => call.access === "message" || call.toolset === "messaging",
  cron: inToolsets("cronjob"),
  media: inToolsets("vision", "video", "image_gen", "video_gen", "tts"),
  kanban: inToolsets("kanban"),
  mcp: (call) => call.server !== undefined,
  plugin: (call) => call.plugin !== undefined,
  net: (call) => isNetwork(call) || call.isWebRead,
  network: isNetwork,
  read: hasAccess("read"),
  write: hasAccess("write"),
  exec: hasAccess("exec"),
  agent: hasAccess("agent"),
}

/** Toolsets whose reads fetch from the network. */
export const WEB_TOOLSETS: ReadonlySet<string> = new Set(["web", "search", "x_search", "browser", "vision", "video"])

function hasAccess(access: Access): Selects {
  return (call) => call.access === access
}

function inToolsets(...names: readonly string[]): Selects {
  return (call) => names.includes(call.toolset)
}

function isNetwork({ access }: SelectedCall): boolean {
  return access === "network" || access === "message"
}

/**
 * The tools that a pattern may name, including those of later releases, which the rules of an existing home may mention. A name that
 * is not here is a typing error: a rule that never matches would restrict nothing.
 */
export const TOOL_NAMES: ReadonlySet<string> = new Set(
  (
    "read_file search_files write_file patch terminal process execute_code read_terminal computer_use skills_list skill_view " +
    "skill_manage session_search memory learnings checkpoint todo clarify delegate_task cronjob send_message web_search web_extract " +
    "vision_analyze browser_navigate browser_scroll browser_back browser_vision browser_snapshot browser_get_images browser_console " +
    "browser_click browser_type browser_press browser_dialog browser_cdp x_search ha_get_state ha_list_entities ha_list_services " +
    "ha_call_service image_generate video_generate text_to_speech mixture_of_agents kanban_show kanban_list kanban_comment " +
    "kanban_heartbeat kanban_link kanban_block kanban_create kanban_complete kanban_unblock tool_search tool_describe tool_call " +
    "conversations_list conversation_get messages_read attachments_fetch events_poll events_wait"
  ).split(" "),
)
