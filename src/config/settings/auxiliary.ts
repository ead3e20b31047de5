import { group, integer, list, mapping, optionalInteger, text, type Setting } from "../setting.ts"

/** The fields every auxiliary task has; tasks of plugins get the same with the usual time-out. */
export const AUXILIARY_FIELDS = {
  provider: text("auto", "Provider; auto follows the main model, none switches the task off."),
  model: text("", "Model; empty follows the provider."),
  base_url: text("", "Endpoint when it is not the provider's usual one."),
  api_key: text("", "Key for the endpoint; better kept in .env and named here as ${VAR}."),
  api_mode: text("", "Wire format; empty means it is worked out."),
  timeout: integer(30, "Seconds one call may take.", { min: 1 }),
  extra_body: mapping("Fields added to the request."),
  max_tokens: optionalInteger("Longest reply in tokens.", { min: 1 }),
  context_length: optionalInteger("Context window in tokens.", { min: 1 }),
  fallback_chain: list("Providers and models to try when the first one fails."),
}

/** Small side jobs that may run on a cheaper model than the conversation. */
export const AUXILIARY_SETTINGS = {
  "auxiliary.vision": task(120, "Describing images.", {
    download_timeout: integer(30, "Seconds to fetch an image.", { min: 1 }),
  }),
  "auxiliary.web_extract": task(360, "Condensing web pages."),
  "auxiliary.compression": task(120, "Summarising old turns."),
  "auxiliary.skills_hub": task(30, "Judging skills before they are installed."),
  "auxiliary.approval": task(30, "Judging commands in the auto permission profile."),
  "auxiliary.mcp": task(30, "Answering sampling requests of MCP servers."),
  "auxiliary.session_search": task(30, "Reserved: searching sessions needs no model."),
  "auxiliary.title_generation": task(30, "Naming sessions."),
  "auxiliary.triage_specifier": task(120, "Turning rough kanban notes into tasks."),
  "auxiliary.kanban_decomposer": task(180, "Splitting kanban tasks."),
  "auxiliary.profile_describer": task(60, "Describing a profile."),
  "auxiliary.curator": task(600, "Looking after the skill library."),
  "auxiliary.memory_flush": task(60, "Saving memories before a conversation is shortened."),
  "auxiliary.evaluation_judge": task(120, "Judging evaluation answers."),
  "auxiliary.tts_audio_tags": task(30, "Marking up text for speech.", {}, "later"),
  "auxiliary.monitor": task(60, "Watching a running job.", {}, "later"),
} as const

function task(
  timeout: number,
  help: string,
  more: Readonly<Record<string, Setting>> = {},
  tag: "core" | "later" = "core",
): Setting<Readonly<Record<string, unknown>>> {
  const own = integer(timeout, "Seconds one call may take.", { min: 1 })
  return group({ ...AUXILIARY_FIELDS, timeout: own, ...more }, help, { tag })
}
