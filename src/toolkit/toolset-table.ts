/** Toolsets that have built-in tools. A tool names its toolset itself, so tools are not listed here. */
const CORE = [
  "checkpoint",
  "clarify",
  "code_execution",
  "delegation",
  "file",
  "learnings",
  "memory",
  "session_search",
  "skills",
  "terminal",
  "todo",
]
const CORE_WITHOUT_QUESTIONS = CORE.filter((name) => name !== "clarify")

/**
 * Known toolsets without tools in this edition. The configuration of an existing home may name them, so they are accepted
 * without a warning.
 */
const WITHOUT_TOOLS = [
  "web",
  "search",
  "browser",
  "vision",
  "video",
  "image_gen",
  "video_gen",
  "tts",
  "cronjob",
  "messaging",
  "moa",
  "homeassistant",
  "kanban",
  "computer_use",
  "x_search",
  "spotify",
  "discord",
  "discord_admin",
  "feishu_doc",
  "feishu_drive",
  "yuanbao",
  "context_engine",
  "safe",
]

/** Sets of tools for one surface each. */
const SURFACE_BUNDLES = [
  "hermes-cli",
  "hermes-cron",
  "hermes-telegram",
  "hermes-discord",
  "hermes-whatsapp",
  "hermes-slack",
  "hermes-signal",
  "hermes-bluebubbles",
  "hermes-homeassistant",
  "hermes-email",
  "hermes-mattermost",
  "hermes-matrix",
  "hermes-dingtalk",
  "hermes-feishu",
  "hermes-weixin",
  "hermes-qqbot",
  "hermes-wecom",
  "hermes-wecom-callback",
  "hermes-yuanbao",
  "hermes-sms",
  "hermes-gateway",
]

/** Every toolset by name, with the toolsets it includes. */
export const TOOLSETS: Readonly<Record<string, readonly string[]>> = {
  ...includesFor([...CORE, ...WITHOUT_TOOLS], []),
  debugging: ["file", "terminal"],
  coding: ["file", "terminal", "todo"],
  ...includesFor(SURFACE_BUNDLES, CORE),
  "hermes-acp": CORE_WITHOUT_QUESTIONS,
  "hermes-api-server": CORE_WITHOUT_QUESTIONS,
  // Anyone may write the payload of a webhook, so nothing here can run commands, write files or send messages.
  "hermes-webhook": ["clarify"],
}

function includesFor(names: readonly string[], includes: readonly string[]): Record<string, readonly string[]> {
  return Object.fromEntries(names.map((name) => [name, includes]))
}
