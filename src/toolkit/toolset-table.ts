/** A named group of tools. */
export interface Toolset {
  readonly description: string
  readonly tools: readonly string[]
  readonly includes: readonly string[]
}

const HOME_ASSISTANT_TOOLS = ["ha_list_entities", "ha_get_state", "ha_list_services", "ha_call_service"] as const

const BROWSER_TOOLS = [
  "browser_navigate",
  "browser_snapshot",
  "browser_click",
  "browser_type",
  "browser_scroll",
  "browser_back",
  "browser_press",
  "browser_get_images",
  "browser_vision",
  "browser_console",
  "browser_cdp",
  "browser_dialog",
] as const

const KANBAN_TOOLS = [
  "kanban_show",
  "kanban_list",
  "kanban_complete",
  "kanban_block",
  "kanban_heartbeat",
  "kanban_comment",
  "kanban_create",
  "kanban_link",
  "kanban_unblock",
] as const

/** What a person at a terminal gets; the platform bundles start from it. */
export const CORE_TOOLS: readonly string[] = [
  "web_search",
  "web_extract",
  "terminal",
  "process",
  "read_terminal",
  "read_file",
  "write_file",
  "patch",
  "search_files",
  "vision_analyze",
  "image_generate",
  "skills_list",
  "skill_view",
  "skill_manage",
  ...BROWSER_TOOLS,
  "text_to_speech",
  "todo",
  "memory",
  "session_search",
  "clarify",
  "execute_code",
  "delegate_task",
  "cronjob",
  "send_message",
  ...HOME_ASSISTANT_TOOLS,
  ...KANBAN_TOOLS,
  "computer_use",
  "learnings",
  "checkpoint",
]

/** Toolsets that stay off until a platform's settings turn them on. */
export const OFF_BY_DEFAULT: readonly string[] = [
  "moa",
  "homeassistant",
  "x_search",
  "video",
  "video_gen",
  "spotify",
  "discord_admin",
  "computer_use",
]

/** An integration whose tools are not listed here names its toolset in the tools themselves. */
const LEAVES: Record<string, Toolset> = {
  web: leaf("Search the web and read pages", ["web_search", "web_extract"]),
  search: leaf("Search the web", ["web_search"]),
  terminal: leaf("Run commands and look after their processes", ["terminal", "process", "read_terminal"]),
  file: leaf("Read, write, edit and search files", ["read_file", "write_file", "patch", "search_files"]),
  browser: leaf("Drive a web browser", [...BROWSER_TOOLS, "web_search"]),
  vision: leaf("Look at images", ["vision_analyze"]),
  video: leaf("Look at videos", ["video_analyze"]),
  image_gen: leaf("Make images", ["image_generate"]),
  video_gen: leaf("Make videos", ["video_generate"]),
  tts: leaf("Turn text into speech", ["text_to_speech"]),
  skills: leaf("Find, read and write skills", ["skills_list", "skill_view", "skill_manage"]),
  todo: leaf("Keep a task list for the session", ["todo"]),
  memory: leaf("Remember facts between sessions", ["memory"]),
  session_search: leaf("Search earlier sessions", ["session_search"]),
  clarify: leaf("Ask the person a question", ["clarify"]),
  learnings: leaf("Record and find what earlier failures taught", ["learnings"]),
  checkpoint: leaf("Save and restore the state of the files", ["checkpoint"]),
  code_execution: leaf("Run scripts that call tools", ["execute_code"]),
  delegation: leaf("Hand work to sub-agents", ["delegate_task"]),
  cronjob: leaf("Schedule work", ["cronjob"]),
  messaging: leaf("Send messages to chats", ["send_message"]),
  moa: leaf("Ask several models and merge their answers", ["mixture_of_agents"]),
  homeassistant: leaf("Read and control a smart home", HOME_ASSISTANT_TOOLS),
  kanban: leaf("Work with cards on the board", KANBAN_TOOLS),
  computer_use: leaf("See and control the desktop", ["computer_use"]),
  x_search: leaf("Search posts on X", ["x_search"]),
  spotify: leaf("Control music playback", []),
  discord: leaf("Read and take part in Discord servers", ["discord"]),
  discord_admin: leaf("Moderate Discord servers", ["discord_admin"]),
  feishu_doc: leaf("Read Feishu documents", []),
  feishu_drive: leaf("Work with the Feishu drive", []),
  yuanbao: leaf("Yuanbao chats and stickers", []),
  context_engine: leaf("Tools of the active context engine", []),
}

const COMPOSITES: Record<string, Toolset> = {
  debugging: { description: "Find and fix faults", tools: ["terminal", "process"], includes: ["web", "file"] },
  safe: {
    description: "Nothing that runs commands or writes files",
    tools: [],
    includes: ["web", "vision", "image_gen"],
  },
  coding: {
    description: "Work on a code base",
    tools: [],
    includes: ["file", "terminal", "todo", "code_execution", "delegation", "web"],
  },
}

const MESSAGING_BUNDLES: Record<string, Toolset> = {
  "hermes-telegram": bundle("Telegram"),
  "hermes-discord": bundle("Discord", ["discord", "discord_admin"]),
  "hermes-whatsapp": bundle("WhatsApp"),
  "hermes-slack": bundle("Slack"),
  "hermes-signal": bundle("Signal"),
  "hermes-bluebubbles": bundle("iMessage through BlueBubbles"),
  "hermes-homeassistant": bundle("Home Assistant"),
  "hermes-email": bundle("email"),
  "hermes-mattermost": bundle("Mattermost"),
  "hermes-matrix": bundle("Matrix"),
  "hermes-dingtalk": bundle("DingTalk"),
  "hermes-feishu": bundle("Feishu", ["feishu_doc", "feishu_drive"]),
  "hermes-weixin": bundle("Weixin"),
  "hermes-qqbot": bundle("QQ"),
  "hermes-wecom": bundle("WeCom"),
  "hermes-wecom-callback": bundle("WeCom callbacks"),
  "hermes-yuanbao": bundle("Yuanbao", ["yuanbao"]),
  "hermes-sms": bundle("SMS"),
}

const BUNDLES: Record<string, Toolset> = {
  "hermes-cli": bundle("the terminal"),
  "hermes-cron": bundle("scheduled jobs"),
  ...MESSAGING_BUNDLES,
  "hermes-acp": bundleWithout("editors", [
    "clarify",
    "cronjob",
    "image_generate",
    "send_message",
    "text_to_speech",
    ...HOME_ASSISTANT_TOOLS,
  ]),
  "hermes-api-server": bundleWithout("the API server", ["clarify", "send_message", "text_to_speech"]),
  // Strangers write the payloads of webhooks, so nothing here can run, write or send.
  "hermes-webhook": leaf("Tools for webhooks", ["web_search", "web_extract", "vision_analyze", "clarify"]),
  "hermes-gateway": {
    description: "Tools of every messaging platform",
    tools: [],
    includes: [...Object.keys(MESSAGING_BUNDLES), "hermes-webhook"],
  },
}

export const STATIC_TOOLSETS: Readonly<Record<string, Toolset>> = { ...LEAVES, ...COMPOSITES, ...BUNDLES }

function leaf(description: string, tools: readonly string[]): Toolset {
  return { description, tools, includes: [] }
}

function bundle(surface: string, includes: readonly string[] = []): Toolset {
  return { description: `Tools for ${surface}`, tools: CORE_TOOLS, includes }
}

function bundleWithout(surface: string, left: readonly string[]): Toolset {
  return { description: `Tools for ${surface}`, tools: CORE_TOOLS.filter((tool) => !left.includes(tool)), includes: [] }
}
