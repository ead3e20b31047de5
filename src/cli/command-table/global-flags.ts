import type { Flag } from "../command.ts"
import { text, toggle } from "./flag.ts"

/** Accepted before and after every command. */
export const COMMON_FLAGS: readonly Flag[] = [
  toggle("help", "show the help of the command", { short: "h" }),
  text("profile", "use this profile", { short: "p", value: "NAME", complete: "profile" }),
  toggle("ignore-user-config", "ignore config.yaml and use the defaults"),
  toggle("ignore-rules", "ignore project context files and rules"),
  toggle(
    "safe-mode",
    "use only defaults: no config.yaml, SOUL.md, rules, memory, learnings, plugins, hooks or MCP servers",
  ),
  toggle("no-color", "disable colours"),
  toggle("verbose", "print debug messages to stderr", { short: "v" }),
]

/** Accepted before any command, where they apply to the chat that starts, and after `chat`. */
export const RUN_FLAGS: readonly Flag[] = [
  text("oneshot", "answer one prompt and print only the answer, for scripts", {
    short: "z",
    value: "PROMPT",
    conflictsWith: ["query", "tui"],
  }),
  text("model", "use this model for this run", { short: "m", value: "MODEL" }),
  text("provider", "use this provider for this run", { value: "NAME", complete: "provider" }),
  text("toolsets", "enable only these toolsets, comma-separated; all or * enables every toolset", {
    short: "t",
    value: "LIST",
    complete: "toolset",
  }),
  text("resume", "continue the session with this id or title", {
    short: "r",
    value: "SESSION",
    complete: "session",
    conflictsWith: ["continue"],
    joinsWords: true,
  }),
  {
    name: "continue",
    short: "c",
    summary: "continue the most recent session of this directory, or the named one",
    value: { kind: "optional-text", placeholder: "NAME", complete: "session" },
    joinsWords: true,
  },
  toggle("all", "with --continue: the most recent session of any directory", { conflictsWith: ["resume"] }),
  text("skills", "load these skills first, comma-separated", {
    short: "s",
    value: "LIST",
    repeatable: true,
    complete: "skill",
  }),
  toggle("worktree", "work in a new git worktree", { short: "w" }),
  text("permission-profile", "plan, default, accept-edits, auto, full-auto or one of your own", { value: "NAME" }),
  toggle("plan", "same as --permission-profile plan", { conflictsWith: ["yolo", "permission-profile"] }),
  toggle("yolo", "same as --permission-profile full-auto", { conflictsWith: ["permission-profile"] }),
  text("allow", "allow matching calls in this session", { value: "PATTERN", repeatable: true }),
  text("deny", "deny matching calls in this session; overrides every allow", { value: "PATTERN", repeatable: true }),
  toggle("accept-hooks", "run shell hooks that have not been approved yet"),
  toggle("save-trajectories", "save each run as training data, even if the settings disable it"),
  toggle("pass-session-id", "tell the model the session id"),
  toggle("tui", "use the full interface, whatever the settings say", { conflictsWith: ["cli", "plain"] }),
  toggle("cli", "use line mode: no redrawing, for screen readers and simple terminals"),
  toggle("plain", "same as --cli"),
  toggle("quiet", "print only the answer", { short: "Q" }),
]

/** Accepted only before a command. */
export const ROOT_FLAGS: readonly Flag[] = [toggle("version", "show the version", { short: "V" })]
