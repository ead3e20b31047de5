import { CHECKPOINTS_COMMAND } from "./checkpoints.ts"
import { SESSION_BRANCH_COMMAND } from "./session-branch.ts"
import type { Command, Positional } from "../command.ts"
import { choice, integer, json, text, toggle, yes } from "./flag.ts"

const session: Positional = { name: "ID", summary: "id, start of an id, or title", required: true, complete: "session" }
const source = text("source", "only sessions from this source", { value: "NAME" })

const sessionCommands: readonly Command[] = [
  {
    name: "list",
    aliases: ["ls"],
    summary: "list sessions, newest first",
    group: "sessions",
    flags: [
      source,
      integer("limit", "maximum number (20)", { value: "N", min: 1 }),
      toggle("all", "include child, delegated and archived sessions"),
      json,
    ],
    load: () => import("../commands/sessions/list.ts"),
  },
  {
    name: "browse",
    summary: "pick a session from a list and continue it",
    group: "sessions",
    flags: [source, integer("limit", "maximum number (500)", { value: "N", min: 1 })],
    load: () => import("../commands/sessions/browse.ts"),
  },
  {
    name: "search",
    summary: "search the text of all sessions",
    group: "sessions",
    positionals: [{ name: "QUERY", summary: "words to search for", required: true, rest: true }],
    flags: [
      source,
      choice("role", "only messages with this role", { of: ["user", "assistant", "tool"], repeatable: true }),
      choice("sort", "order of the results (default: best match first)", { of: ["newest", "oldest"] }),
      integer("limit", "maximum number (20)", { value: "N", min: 1 }),
      json,
    ],
    load: () => import("../commands/sessions/search.ts"),
  },
  {
    name: "show",
    summary: "show a session and its messages",
    group: "sessions",
    positionals: [{ ...session, rest: true }],
    flags: [json],
    load: () => import("../commands/sessions/show.ts"),
  },
  {
    name: "export",
    summary: "export sessions to a JSONL file, one per line, or one session as Markdown or HTML",
    group: "sessions",
    positionals: [{ name: "OUT", summary: "output file; - for standard output", required: true, complete: "file" }],
    flags: [
      source,
      text("session-id", "only this session", { value: "ID", complete: "session" }),
      choice(
        "format",
        "all stored fields, training data in the ShareGPT format, or a document to read; default: by the extension of OUT, else jsonl",
        { of: ["jsonl", "trajectory", "markdown", "html"] },
      ),
      toggle("include-undone", "also messages that /undo removed, with active 0 (only jsonl)"),
    ],
    load: () => import("../commands/sessions/export.ts"),
  },
  {
    name: "import",
    summary: "import sessions from an exported file",
    group: "sessions",
    positionals: [{ name: "FILE", summary: "file written by `sessions export`", required: true, complete: "file" }],
  },
  {
    name: "rename",
    summary: "change the title of a session",
    group: "sessions",
    positionals: [session, { name: "TITLE", summary: "the new title", required: true, rest: true }],
    load: () => import("../commands/sessions/rename.ts"),
  },
  {
    name: "delete",
    aliases: ["rm"],
    summary: "delete a session permanently",
    group: "sessions",
    positionals: [{ ...session, rest: true }],
    flags: [yes, toggle("force", "also if another process has the session open")],
    load: () => import("../commands/sessions/delete.ts"),
  },
  {
    name: "prune",
    summary: "delete old sessions that have ended",
    group: "sessions",
    flags: [integer("older-than", "minimum age in days (90)", { value: "DAYS", min: 0 }), source, yes],
    load: () => import("../commands/sessions/prune.ts"),
  },
  {
    name: "archive",
    summary: "hide a session from lists",
    group: "sessions",
    positionals: [{ ...session, rest: true }],
    load: () => import("../commands/sessions/archive.ts"),
  },
  {
    name: "unarchive",
    summary: "show an archived session again",
    group: "sessions",
    positionals: [{ ...session, rest: true }],
    load: () => import("../commands/sessions/archive.ts"),
  },
  SESSION_BRANCH_COMMAND,
  {
    name: "tree",
    summary: "show compressions, branches and delegates as a tree",
    group: "sessions",
    positionals: [{ ...session, required: false, rest: true }],
    flags: [json],
    load: () => import("../commands/sessions/tree.ts"),
  },
  {
    name: "stats",
    summary: "show the number of sessions and messages and the size of the database",
    group: "sessions",
    flags: [json],
    load: () => import("../commands/sessions/stats.ts"),
  },
  {
    name: "optimize",
    summary: "compact the database and its search index",
    group: "sessions",
    load: () => import("../commands/sessions/optimize.ts"),
  },
  {
    name: "repair",
    summary: "check the database and repair it",
    group: "sessions",
    flags: [
      toggle("check-only", "only report problems; exit 1 if there are any"),
      toggle("no-backup", "do not keep a copy of the damaged file"),
      json,
    ],
    load: () => import("../commands/sessions/repair.ts"),
  },
]

export const SESSION_COMMANDS: readonly Command[] = [
  {
    name: "sessions",
    summary: "list, search, export and clean up past conversations",
    group: "sessions",
    subcommands: sessionCommands,
  },
  {
    name: "insights",
    summary: "show how you use the agent and what it costs",
    group: "sessions",
    flags: [
      integer("days", "number of days (30)", { value: "N", min: 1 }),
      text("source", "only sessions from this source", { value: "NAME" }),
      json,
    ],
    load: () => import("../commands/insights.ts"),
  },
  CHECKPOINTS_COMMAND,
]
