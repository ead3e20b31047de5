import { group, integer, list, mapping, MAX_SECONDS, optionalInteger, text, type Setting } from "../setting.ts"

/** The fields of every auxiliary task; tasks of plugins have the same fields with the default timeout. */
export const AUXILIARY_FIELDS = {
  provider: text("auto", "Provider; auto uses that of the main model, none disables the task."),
  model: text("", "Model; empty uses the provider's default."),
  base_url: text("", "URL of the endpoint when it is not the provider's default."),
  api_key: text("", "API key for the endpoint; better stored in .env and referenced here as ${VAR}."),
  api_mode: text("", "API format; empty derives it from provider and URL."),
  timeout: integer(30, "Timeout of one call in seconds.", { min: 1, max: MAX_SECONDS }),
  extra_body: mapping("Fields added to the request."),
  max_tokens: optionalInteger("Maximum length of a reply in tokens.", { min: 1 }),
  context_length: optionalInteger("Context window in tokens.", { min: 1 }),
  fallback_chain: list("Providers and models to try when the first one fails."),
}

/** Auxiliary tasks, which may use a cheaper model than the conversation. */
export const AUXILIARY_SETTINGS = {
  "auxiliary.vision": task(120, "Describing images.", {
    download_timeout: integer(30, "Timeout for downloading an image in seconds.", { min: 1, max: MAX_SECONDS }),
  }),
  "auxiliary.web_extract": task(360, "Summarising web pages.", {}, { reserved: true }),
  "auxiliary.compression": task(120, "Summarising old turns."),
  "auxiliary.skills_hub": task(30, "Checking skills before they are installed.", {}, { reserved: true }),
  "auxiliary.approval": task(30, "Judging risky commands in the auto permission profile."),
  "auxiliary.mcp": task(30, "Answering sampling requests of MCP servers."),
  "auxiliary.session_search": task(30, "Reserved: searching sessions uses no model.", {}, { reserved: true }),
  "auxiliary.title_generation": task(30, "Naming sessions."),
  "auxiliary.triage_specifier": task(120, "Turning rough kanban notes into tasks.", {}, { reserved: true }),
  "auxiliary.kanban_decomposer": task(180, "Splitting kanban tasks.", {}, { reserved: true }),
  "auxiliary.profile_describer": task(60, "Describing a profile.", {}, { reserved: true }),
  "auxiliary.curator": task(600, "Maintaining the skill library.", {}, { reserved: true }),
  "auxiliary.memory_flush": task(60, "Saving facts to memory before a compression."),
  "auxiliary.evaluation_judge": task(120, "Judging evaluation answers.", {}, { reserved: true }),
  "auxiliary.tts_audio_tags": task(30, "Marking up text for speech.", {}, { reserved: true }),
  "auxiliary.monitor": task(60, "Watching a running job.", {}, { reserved: true }),
} as const

function task(
  timeout: number,
  help: string,
  more: Readonly<Record<string, Setting>> = {},
  extra: { readonly reserved?: true } = {},
): Setting<Readonly<Record<string, unknown>>> {
  const own = integer(timeout, "Timeout of one call in seconds.", { min: 1, max: MAX_SECONDS })
  return group({ ...AUXILIARY_FIELDS, timeout: own, ...more }, help, extra)
}
