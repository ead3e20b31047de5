import {
  choice,
  decimal,
  flag,
  integer,
  mapping,
  MAX_SECONDS,
  mixed,
  readBoolean,
  readTexts,
  text,
  texts,
} from "../setting.ts"

const EFFORTS = ["", "none", "minimal", "low", "medium", "high", "xhigh"] as const

/** How the agent works: budgets, prompt, delegation, context, memory, tool results. */
export const AGENT_SETTINGS = {
  toolsets: texts(["hermes-cli"], "Toolsets that are enabled."),
  platform_toolsets: mapping("Toolsets per surface, instead of `toolsets`.", { reserved: true }),
  custom_toolsets: mapping("Custom toolsets: name to tools and included toolsets.", { reserved: true }),
  "agent.max_turns": integer(
    90,
    "Rounds of tool calls that one request may use. The answer at this limit may take two more model calls.",
    {
      min: 1,
      environment: { name: "HERMES_MAX_ITERATIONS", strength: "fills" },
    },
  ),
  "agent.api_max_retries": integer(3, "Attempts per model call.", { min: 1 }),
  "agent.reasoning_effort": choice(EFFORTS, "", "Reasoning effort; empty uses the model's default.", {
    whenFalse: "none",
  }),
  "agent.service_tier": text("", "Service tier to request from the provider.", { reserved: true }),
  "agent.tool_use_enforcement": mixed<boolean | "auto" | readonly string[]>(
    "auto",
    "Remind the model to act through tools: auto, true, false, or parts of model names.",
    (value) => (value === "auto" ? "auto" : (readBoolean(value) ?? readTexts(value))),
  ),
  "agent.task_completion_guidance": flag(true, "Tell the model to finish the task before it stops."),
  "agent.environment_probe": flag(true, "Tell the model what is installed on this machine.", { reserved: true }),
  "agent.environment_hint": text("", "A line about the environment for the system prompt.", {
    environment: { name: "HERMES_ENVIRONMENT_HINT", strength: "wins" },
  }),
  "agent.coding_context": choice(
    ["auto", "focus", "on", "off"],
    "auto",
    "Whether the prompt describes the repository.",
    { reserved: true },
  ),
  "agent.image_input_mode": choice(
    ["auto", "native", "text"],
    "auto",
    "Send images to the model, or a text description of them.",
    { reserved: true },
  ),
  "agent.disabled_toolsets": texts([], "Toolsets that are always disabled."),
  "agent.prompt_style": choice(
    ["full", "lean"],
    "full",
    "Length of the system prompt; lean declares few tools and lets the model search for the others.",
  ),
  "agent.system_prompt": text("", "Text added to the system prompt of new sessions."),
  "agent.personalities": mapping("Named personalities; merged with `personalities`."),
  "agent.save_trajectories": flag(false, "Save each run as training data, in the ShareGPT format."),
  "agent.trajectory_directory": text(
    "",
    "Directory for `trajectory_samples.jsonl` and `failed_trajectories.jsonl`; empty means `trajectories` in the home.",
  ),
  "agent.verbose": flag(false, "Show more of what the agent does.", { reserved: true }),
  "agent.budget_pressure": choice(["off", "legacy"], "off", "Warn the model as the turn budget shrinks."),
  "agent.enforce_min_context": flag(
    false,
    "Stop when Ollama runs a model with a context of fewer than 64000 tokens, instead of warning once.",
  ),
  "agent.runtime_introspection": mixed<boolean | "auto">(
    "auto",
    "Describe the state of the repository and of background processes in the prompt of a new session; auto means no.",
    (value) => (value === "auto" ? "auto" : readBoolean(value)),
  ),
  "agent.gateway_timeout": integer(
    1800,
    "Seconds without activity after which a gateway run ends; 0 disables the limit.",
    { min: 0, reserved: true },
  ),
  "agent.gateway_timeout_warning": integer(900, "Seconds without activity before the chat gets a warning.", {
    min: 0,
    reserved: true,
  }),
  "agent.gateway_notify_interval": integer(180, "Seconds between progress messages in a chat.", {
    min: 0,
    reserved: true,
  }),
  "agent.gateway_auto_continue_freshness": integer(
    3600,
    "Seconds after which an interrupted run is no longer continued automatically.",
    { min: 0, reserved: true },
  ),
  "agent.restart_drain_timeout": integer(180, "Seconds a restart waits for running turns.", { min: 0, reserved: true }),
  "agent.clarify_timeout": integer(600, "Seconds a question in a chat waits for its answer.", {
    min: 0,
    reserved: true,
  }),
  "clarify.timeout": integer(0, "Seconds a question in the terminal waits for its answer; 0 has no limit.", {
    min: 0,
    max: MAX_SECONDS,
  }),
  "clarify.max_choices": integer(4, "Maximum number of choices in a question.", { min: 2, max: 6 }),
  personalities: mapping("Named personalities: text, or description, system_prompt, tone and style."),
  "delegation.model": text("", "Model of sub-agents; empty inherits."),
  "delegation.provider": text("", "Provider of sub-agents; empty inherits."),
  "delegation.base_url": text("", "Endpoint of sub-agents; empty inherits."),
  "delegation.api_key": text("", "API key of sub-agents; empty inherits."),
  "delegation.api_mode": text("", "API format of sub-agents; empty inherits."),
  "delegation.inherit_mcp_toolsets": flag(true, "Sub-agents get the parent's MCP tools."),
  "delegation.max_iterations": integer(50, "Maximum model calls per sub-agent.", { min: 1 }),
  "delegation.child_timeout_seconds": integer(0, "Seconds a sub-agent may run, at least 30; 0 has no limit.", {
    min: 0,
    max: MAX_SECONDS,
  }),
  "delegation.reasoning_effort": choice(EFFORTS, "", "Reasoning effort of sub-agents; empty inherits.", {
    whenFalse: "none",
  }),
  "delegation.max_concurrent_children": integer(3, "Maximum number of sub-agents that run at the same time.", {
    min: 1,
  }),
  "delegation.max_async_children": integer(3, "Maximum number of background sub-agents that run at the same time.", {
    min: 1,
  }),
  "delegation.max_spawn_depth": integer(1, "Maximum nesting depth of sub-agents.", { min: 1, max: 3 }),
  "delegation.orchestrator_enabled": flag(true, "Sub-agents may get the orchestrator role."),
  "delegation.subagent_auto_approve": flag(false, "Approve what the detector asks about in sub-agents."),
  "delegation.share_parent_budget": flag(
    false,
    "Iterations of sub-agents also count for the turn that waits for them (agent.max_turns).",
  ),
  "compression.enabled": flag(true, "Compress long conversations automatically."),
  "compression.threshold": decimal(0.5, "Share of the context window at which compression starts.", {
    min: 0.05,
    max: 0.95,
  }),
  "compression.target_ratio": decimal(
    0.2,
    "Share of the threshold that is kept unchanged at the end of the conversation.",
    {
      min: 0.1,
      max: 0.8,
    },
  ),
  "compression.protect_first_n": integer(3, "First messages that are never summarised.", { min: 0 }),
  "compression.protect_last_n": integer(20, "Last messages that are never summarised.", { min: 0 }),
  "compression.hygiene_threshold": decimal(
    0.85,
    "Share of the context window at which a gateway session is compressed between turns.",
    { min: 0.05, max: 1, reserved: true },
  ),
  "compression.hygiene_hard_message_limit": integer(
    400,
    "Number of messages at which a gateway session is always compressed.",
    { min: 4, reserved: true },
  ),
  "compression.abort_on_summary_failure": flag(false, "Stop instead of dropping old messages when the summary fails."),
  "compression.pipeline_headroom": decimal(0.2, "Share of the threshold that compression frees below it.", {
    min: 0,
    max: 0.5,
  }),
  "compression.hard_truncate_max_loss": decimal(
    0.5,
    "Maximum share of the middle of a conversation that may be dropped as a last resort.",
    {
      min: 0,
      max: 1,
    },
  ),
  "compression.codex_gpt55_autoraise": flag(true, "Raise the threshold for models that are known to handle it."),
  "compression.strategy": choice(["pipeline", "summarize"], "pipeline", "Compress step by step, or summarise at once."),
  "compression.budget_reduce_limit": integer(8192, "Tokens of a tool result that the first compression step keeps.", {
    min: 1,
  }),
  "compression.snip_stale_after": integer(
    50,
    "Number of later rounds after which a round may be replaced by a note before others are.",
    { min: 1 },
  ),
  "compression.plan_compression_priority": choice(
    ["high", "normal"],
    "high",
    "How strongly plans are protected from compression.",
  ),
  "context.engine": text("compressor", "Context engine: compressor, or one that an enabled plugin provides."),
  "memory.memory_enabled": flag(true, "Keep and show MEMORY.md."),
  "memory.user_profile_enabled": flag(true, "Keep and show USER.md."),
  "memory.memory_char_limit": integer(2200, "Characters MEMORY.md may hold.", { min: 0 }),
  "memory.user_char_limit": integer(1375, "Characters USER.md may hold.", { min: 0 }),
  "memory.provider": text("", "External memory provider; empty uses the files only."),
  "memory.write_approval": flag(false, "Ask before the agent writes to memory.", { strict: true }),
  "memory.nudge_interval": integer(
    10,
    "Number of your messages between two automatic memory reviews; 0 disables them.",
    { min: 0 },
  ),
  "memory.flush_before_compress": choice(
    ["auto", "local", "llm", "off"],
    "auto",
    "Save important facts to memory before a compression: auto and llm let a model do it before messages are removed, local and off save nothing.",
    { whenFalse: "off" },
  ),
  "memory.flush_min_turns": integer(
    6,
    "Number of your messages since the last save before a compression saves to memory.",
    { min: 0 },
  ),
  "memory.semantic.enabled": flag(
    false,
    "Search past sessions by embeddings too. Their texts are sent to the provider of the embeddings.",
  ),
  "memory.semantic.provider": text(
    "auto",
    "Provider of the embeddings: auto (OpenAI, Gemini, then a local server), ollama, or the name of any provider with an OpenAI-style endpoint.",
  ),
  "memory.semantic.model": text("", "Embedding model; empty uses the provider's default."),
  "memory.semantic.dims": integer(0, "Dimensions of the embeddings; 0 uses the model's default.", { min: 0 }),
  "learnings.auto_capture": flag(true, "Record errors and how they were solved."),
  "learnings.auto_inject": flag(true, "Show matching learnings to the model."),
  "prompt_budget.total_tokens": integer(
    0,
    "Maximum tokens of rules, memory and learnings in the system prompt; 0 means 15 % of the context window, at least 4,000.",
    { min: 0 },
  ),
  "prompt_budget.layers": mapping("Maximum tokens per layer of the system prompt."),
  "prompt_budget.summarize": flag(false, "Summarise a layer that is too long instead of cutting it.", {
    reserved: true,
  }),
  "todo.nudge_after": integer(10, "Tool calls without an update of the task list before a reminder; 0 disables it.", {
    min: 0,
  }),
  "plan.strict_hash": flag(false, "Refuse a plan file that changed after it was approved.", { reserved: true }),
  "watcher.enabled": flag(false, "Report to the model when files change outside Hermes."),
  "watcher.include": texts([], "Patterns of files whose changes are reported although the model has not read them."),
  "watcher.report_all": flag(false, "Report changes of all files, not only of those that the model has read."),
  "goals.max_turns": integer(20, "Turns a standing goal may use.", { min: 1, reserved: true }),
  "tool_loop_guardrails.warnings_enabled": flag(true, "Warn a model that repeats the same calls."),
  "tool_loop_guardrails.hard_stop_enabled": flag(
    false,
    "Stop a model that repeats the same calls. Without a user, the third identical failing call always ends the turn.",
  ),
  "tool_loop_guardrails.warn_after.exact_failure": integer(2, "Identical failing calls before a warning.", { min: 1 }),
  "tool_loop_guardrails.warn_after.same_tool_failure": integer(3, "Failures of one tool before a warning.", { min: 1 }),
  "tool_loop_guardrails.warn_after.idempotent_no_progress": integer(2, "Identical reads before a warning.", { min: 1 }),
  "tool_loop_guardrails.hard_stop_after.exact_failure": integer(5, "Identical failing calls before the stop.", {
    min: 1,
  }),
  "tool_loop_guardrails.hard_stop_after.same_tool_failure": integer(8, "Failures of one tool before the stop.", {
    min: 1,
  }),
  "tool_loop_guardrails.hard_stop_after.idempotent_no_progress": integer(5, "Identical reads before the stop.", {
    min: 1,
  }),
  "tool_results.default_chars": integer(100_000, "Maximum characters of one tool result that the model sees.", {
    min: 1,
  }),
  "tool_results.turn_chars": integer(200_000, "Maximum characters of all tool results of one reply.", { min: 1 }),
  "tool_results.preview_chars": integer(1500, "Characters shown of a result that was saved to a file.", { min: 0 }),
  "tool_results.overrides": mapping("Maximum characters per tool, by tool name."),
  "tool_output.max_bytes": integer(50_000, "Maximum bytes of command output that the model sees.", { min: 1 }),
  "tool_output.max_lines": integer(2000, "Maximum lines of a file per read.", { min: 1 }),
  "tool_output.max_line_length": integer(2000, "Maximum characters of one line.", { min: 1 }),
  file_read_max_chars: integer(100_000, "Maximum characters that one read of a file returns.", { min: 1 }),
  context_file_max_chars: integer(20_000, "Maximum characters of a rules file such as AGENTS.md.", { min: 1 }),
  "tools.tool_search.enabled": mixed<boolean | "auto">(
    "auto",
    "Let the model search for tools instead of declaring all of them; auto does so when there are many.",
    (value) => (value === "auto" ? "auto" : readBoolean(value)),
  ),
  "tools.tool_search.threshold_pct": decimal(
    10,
    "Percentage of the context window from which on auto uses the search.",
    {
      min: 0,
      max: 100,
    },
  ),
  "tools.tool_search.search_default_limit": integer(5, "Number of tools that a search returns by default.", {
    min: 1,
    max: 50,
  }),
  "tools.tool_search.max_search_limit": integer(20, "Maximum number of tools that a search returns.", {
    min: 1,
    max: 50,
  }),
  "code_execution.mode": choice(
    ["project", "strict"],
    "project",
    "Scripts run in the working directory with its modules, or in an empty directory without them.",
  ),
  "code_execution.timeout": integer(300, "Maximum run time of a script in seconds.", { min: 1, max: MAX_SECONDS }),
  "code_execution.max_tool_calls": integer(50, "Maximum tool calls per script.", { min: 0 }),
  "code_execution.max_stdout_bytes": integer(50_000, "Maximum bytes of output that a script returns.", { min: 1 }),
  "code_execution.max_stderr_bytes": integer(10_000, "Maximum bytes of error output that a script returns.", {
    min: 1,
  }),
  "code_execution.memory_mb": integer(512, "Maximum memory of a JavaScript script in megabytes.", { min: 16 }),
  "code_execution.location": choice(
    ["host", "backend"],
    "host",
    "Where scripts run when terminal.backend is not local: on this machine or in the backend.",
  ),
  timezone: text("", "Time zone of scripts, such as Europe/Berlin; empty uses the system's."),
} as const
