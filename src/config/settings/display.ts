import { DEFAULT_EDITOR_KEYS } from "../editor-keys.ts"
import { choice, flag, integer, mapping, mixed, readBoolean, text, texts } from "../setting.ts"

const SECTION_MODES = ["inherit", "hidden", "collapsed", "expanded"] as const

/** What the user sees. */
export const DISPLAY_SETTINGS = {
  "display.interface": choice(
    ["auto", "tui", "cli"],
    "auto",
    "Full interface (tui) or line mode (cli); auto chooses by the terminal.",
  ),
  "display.streaming": flag(true, "Show replies while they arrive."),
  "display.show_reasoning": flag(false, "Show the model's reasoning."),
  "display.tool_progress": choice(
    ["off", "new", "all", "verbose"],
    "all",
    "Which tool calls are shown: new omits repeated calls of one tool; verbose is the same as all.",
    {
      whenTrue: "all",
    },
  ),
  "display.tool_preview_length": integer(0, "Maximum characters of a tool call's preview; 0 has no limit.", {
    min: 0,
    reserved: true,
  }),
  "display.busy_input_mode": choice(
    ["interrupt", "queue", "steer"],
    "interrupt",
    "What a message does that you send while the agent works.",
  ),
  "display.personality": text("", "Personality of new sessions; /personality lists them."),
  "display.skin": text(
    "default",
    "Colours and symbols of the full UI: a built-in skin, or skins/<name>.yaml of the home.",
  ),
  "display.language": text("en", "Language of the interface.", { reserved: true }),
  "display.compact": flag(false, "Open conversations with one line instead of the banner."),
  "display.timestamps": flag(false, "Show times.", { reserved: true }),
  "display.notifications": choice(
    ["off", "bell", "osc9", "osc777", "auto"],
    "auto",
    "How the full UI notifies you when a long turn ends or a question waits; auto chooses by the terminal.",
  ),
  "display.bell_on_complete": flag(false, "Ring the terminal bell when a turn ends."),
  "display.show_cost": flag(false, "Show what a conversation costs in the status bar."),
  "display.final_response_markdown": mixed<"render" | "strip" | "raw" | "auto">(
    "auto",
    "Render, strip or keep Markdown; auto renders in the full-screen interface and strips in line mode.",
    (value) => (value === "render" || value === "strip" || value === "raw" || value === "auto" ? value : undefined),
    { reserved: true },
  ),
  "display.inline_diffs": flag(true, "Show diffs of changed files in the full interface."),
  "display.persist_prompts": flag(true, "Keep your prompts on the screen.", { reserved: true }),
  "display.persistent_output": flag(true, "Keep the output on the screen after Hermes exits.", { reserved: true }),
  "display.persistent_output_max_lines": integer(200, "Number of lines kept on the screen.", {
    min: 0,
    reserved: true,
  }),
  "display.file_mutation_verifier": flag(true, "Report when a reply claims file changes that did not happen."),
  "display.turn_completion_explainer": flag(true, "Report why a turn ended early."),
  "display.resume_display": choice(["full", "minimal"], "full", "How much of a resumed session is shown.", {
    reserved: true,
  }),
  "display.resume_exchanges": integer(10, "Number of exchanges shown of a resumed session.", { min: 0 }),
  "display.resume_max_user_chars": integer(300, "Characters shown of each of your messages in a resumed session.", {
    min: 0,
    reserved: true,
  }),
  "display.resume_max_assistant_chars": integer(200, "Characters shown of each reply in a resumed session.", {
    min: 0,
    reserved: true,
  }),
  "display.resume_max_assistant_lines": integer(3, "Lines shown of each reply in a resumed session.", {
    min: 0,
    reserved: true,
  }),
  "display.resume_skip_tool_only": flag(true, "Omit turns that only ran tools.", { reserved: true }),
  "display.user_message_preview.first_lines": integer(2, "First lines shown of a long message.", {
    min: 0,
    reserved: true,
  }),
  "display.user_message_preview.last_lines": integer(2, "Last lines shown of a long message.", {
    min: 0,
    reserved: true,
  }),
  "display.details_mode": choice(
    ["hidden", "collapsed", "expanded"],
    "collapsed",
    "How sections are shown whose own mode is inherit.",
  ),
  "display.sections.thinking": choice(SECTION_MODES, "expanded", "How reasoning is shown.", { reserved: true }),
  "display.sections.tools": choice(SECTION_MODES, "expanded", "How tool calls are shown.", { reserved: true }),
  "display.sections.subagents": choice(
    SECTION_MODES,
    "inherit",
    "How running sub-agents are shown in the full UI: collapsed has a row for each, expanded two.",
  ),
  "display.sections.activity": choice(
    SECTION_MODES,
    "hidden",
    "How running background processes are shown in the full UI: collapsed has one row for all, expanded one for each.",
  ),
  "display.mouse_tracking": choice(["off", "wheel", "buttons", "all"], "all", "Which mouse events are tracked.", {
    whenTrue: "all",
    reserved: true,
  }),
  "display.tui_status_indicator": choice(
    ["kaomoji", "emoji", "unicode", "ascii"],
    "kaomoji",
    "Style of the busy indicator.",
  ),
  "display.status_bar": flag(true, "Show the status bar in the full UI."),
  "display.tui_auto_resume_recent": flag(false, "Resume the last session at start.", { reserved: true }),
  "display.tui_agents_nudge": flag(true, "Point out the list of running agents.", { reserved: true }),
  "display.editor_mode": choice(["emacs", "vim"], "emacs", "Keys of the input editor in the full-screen interface."),
  "display.keys": mapping(
    `Keys of the input editor, by action: one key or a list, such as \`undo: ctrl+z\`; an empty list removes them. Actions: ${Object.keys(DEFAULT_EDITOR_KEYS).join(", ")}.`,
  ),
  "display.copy_shortcut": choice(["auto", "ctrl_c", "ctrl_shift_c", "disabled"], "auto", "Key for copying.", {
    reserved: true,
  }),
  "display.memory_notifications": choice(
    ["off", "on", "verbose"],
    "on",
    "Say in the conversation when Hermes has changed its memory between turns; `verbose` with the entries.",
  ),
  "display.interim_assistant_messages": flag(true, "Also send the text between tool calls to chats.", {
    reserved: true,
  }),
  "display.busy_ack_enabled": flag(true, "Send a notice to a chat when its message has to wait.", { reserved: true }),
  "display.busy_ack_detail": mixed<boolean | null>(
    null,
    "Include in that notice what the agent is doing; unset uses the platform's default.",
    (value) => (value === null ? null : readBoolean(value)),
    { reserved: true },
  ),
  "display.tool_progress_command": flag(false, "Chats may change how much progress they see.", { reserved: true }),
  "display.tool_progress_grouping": choice(
    ["accumulate", "separate"],
    "accumulate",
    "One growing message for tool progress, or one message per step.",
    { reserved: true },
  ),
  "display.ephemeral_system_ttl": integer(0, "Seconds after which notices in a chat are removed; 0 keeps them.", {
    min: 0,
    reserved: true,
  }),
  "display.platforms": mapping("Display settings per platform.", { reserved: true }),
  "display.runtime_footer.enabled": flag(false, "Append a line with model and context usage to replies in chats.", {
    reserved: true,
  }),
  "display.runtime_footer.fields": texts(["model", "context_pct", "cwd"], "Fields of that line.", { reserved: true }),
  "display.background_process_notifications": choice(
    ["all", "result", "error", "off"],
    "all",
    "Which notices about background processes a chat gets.",
    { whenTrue: "all", reserved: true },
  ),
  "display.cleanup_progress": flag(false, "Remove progress messages when the turn ends.", { reserved: true }),
  paste_collapse_threshold: integer(5, "Number of newlines from which a paste is saved in a file; 0 never does.", {
    min: 0,
  }),
  paste_collapse_threshold_fallback: integer(5, "The same for terminals without bracketed paste; 0 never does.", {
    min: 0,
  }),
  paste_collapse_char_threshold: integer(
    2000,
    "Number of characters from which a paste is saved in a file; 0 never does.",
    { min: 0 },
  ),
} as const
