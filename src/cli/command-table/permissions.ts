import type { Command, Flag } from "../command.ts"
import { choice, integer, json, text, toggle } from "./flag.ts"
import { RUN_FLAGS } from "./global-flags.ts"

const cwd = text("cwd", "directory of the session (default: the current directory)", {
  value: "DIR",
  complete: "directory",
})

/** The flags with which a conversation would be started. */
const PERMISSION_FLAGS = RUN_FLAGS.filter(({ name }) =>
  ["permission-profile", "plan", "yolo", "allow", "deny"].includes(name),
)

export const AUDIT_FLAGS: readonly Flag[] = [
  text("session", "only this session", { value: "ID", complete: "session" }),
  text("tool", "only this tool", { value: "NAME" }),
  choice("decision", "only decisions of this kind", { of: ["allow", "deny", "ask"] }),
  text("since", "only decisions newer than this, for example 24h", { value: "AGE" }),
  json,
  integer("limit", "maximum number (50)", { value: "N", min: 1 }),
]

export const PERMISSIONS_COMMAND: Command = {
  name: "permissions",
  summary: "show permission rules, explain decisions, read the log of decisions",
  group: "settings",
  subcommands: [
    {
      name: "show",
      aliases: ["list", "ls"],
      summary: "show the permission profile and every active rule",
      group: "settings",
      flags: [cwd, json],
      load: () => import("../commands/permissions/show.ts"),
    },
    {
      name: "explain",
      summary: "show what would happen to a command or a tool call, without running it",
      details:
        "One word after -- is a whole command line, several words are one command. With --stdin, each line is a JSON request " +
        '{"command", "cwd"?, "before"?} or {"tool", "args"}, and each answer is a JSON line with decision, hard, rule, layer, reason and understood.',
      group: "settings",
      flags: [
        ...PERMISSION_FLAGS,
        choice("sandbox", "assume that commands run in the sandbox, or without it", { of: ["on", "off"] }),
        cwd,
        text("tool", "explain a call of this tool", { value: "NAME", conflictsWith: ["stdin"] }),
        text("args", "arguments of --tool", { value: "JSON" }),
        toggle("stdin", "read one JSON request a line from standard input"),
        toggle("json", "print one JSON document a line"),
      ],
      positionals: [{ name: "COMMAND", summary: "command line, after --", required: false, rest: true }],
      load: () => import("../commands/permissions/explain.ts"),
    },
    {
      name: "log",
      summary: "show the permission decisions for tool calls",
      group: "settings",
      flags: AUDIT_FLAGS,
      load: () => import("../commands/permissions/log.ts"),
    },
  ],
  load: () => import("../commands/permissions/show.ts"),
  flags: [cwd, json],
}
