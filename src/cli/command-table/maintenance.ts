import type { Command } from "../command.ts"
import { force, integer, json, text, toggle, yes } from "./flag.ts"

export const MAINTENANCE_COMMANDS: readonly Command[] = [
  {
    name: "status",
    summary: "show the configuration and what is running",
    group: "maintenance",
    flags: [
      toggle("all", "show everything, with private data masked"),
      toggle("deep", "also test the connection to the provider"),
      json,
    ],
    load: () => import("../commands/status.ts"),
  },
  {
    name: "doctor",
    summary: "check for problems and fix them",
    group: "maintenance",
    flags: [
      toggle("fix", "fix what can be fixed safely"),
      toggle("full", "check all of the session database, which takes a minute per gigabyte"),
      text("ack", "do not show this security advisory again", { value: "ID" }),
      json,
    ],
    load: () => import("../commands/doctor.ts"),
  },
  {
    name: "dump",
    summary: "print the configuration for a bug report",
    group: "maintenance",
    flags: [toggle("show-keys", "show the first and last characters of keys")],
    load: () => import("../commands/dump.ts"),
  },
  {
    name: "logs",
    summary: "show or follow the log files",
    group: "maintenance",
    positionals: [
      { name: "LOG", summary: "agent (the default), errors, gateway, gui, or list", required: false, complete: "log" },
    ],
    flags: [
      integer("lines", "number of lines (50)", { short: "n", value: "N", min: 0 }),
      toggle("follow", "print new lines as they are written", { short: "f" }),
      text("level", "minimum level", { value: "LEVEL" }),
      text("session", "only lines whose session id contains this text", { value: "TEXT" }),
      text("since", "only lines newer than this: 45s, 30m, 2h, 1d", { value: "AGE" }),
      text("component", "gateway, agent, tools, cli, cron or gui", { value: "NAME" }),
      json,
    ],
    load: () => import("../commands/logs.ts"),
  },
  {
    name: "prompt-size",
    summary: "show the parts of the prompt and their sizes",
    group: "maintenance",
    flags: [text("platform", "surface whose prompt to show (cli)", { value: "NAME" }), json],
    load: () => import("../commands/prompt-size.ts"),
  },
  {
    name: "backup",
    summary: "back everything up to one file",
    group: "maintenance",
    flags: [
      text("output", "file or directory to write to", { short: "o", value: "FILE", complete: "file" }),
      toggle("quick", "save only the essential files, inside the home", { short: "q", conflictsWith: ["output"] }),
      text("label", "name of the quick snapshot", { short: "l", value: "TEXT" }),
    ],
    load: () => import("../commands/backup.ts"),
  },
  {
    name: "import",
    summary: "restore a backup, or import the home of another agent",
    details:
      "Agents: openclaw, claude-code, codex. Imports conversations, memories, rules, skills, prompt commands and MCP servers. Nothing outside the home of Hermes is written, and a second import adds only what is new.",
    group: "maintenance",
    positionals: [
      {
        name: "SOURCE",
        summary: "file written by `hermes backup`, or openclaw, claude-code, codex",
        required: true,
        complete: "file",
      },
    ],
    flags: [
      text("from", "home of the other agent", { value: "DIR", complete: "directory" }),
      text("only", "what to import: sessions, memories, rules, skills, commands, mcp, settings", { value: "LIST" }),
      toggle("dry-run", "show what would be imported and write nothing"),
      toggle("include-secrets", "also copy keys that Hermes uses to .env, after a question"),
      json,
      yes,
      force,
    ],
    load: () => import("../commands/import.ts"),
  },
  {
    name: "completion",
    summary: "print a completion script for your shell",
    details:
      'bash: eval "$(hermes completion bash)" in ~/.bashrc. zsh: eval "$(hermes completion zsh)" in ~/.zshrc after compinit. fish: hermes completion fish > ~/.config/fish/completions/hermes.fish',
    group: "maintenance",
    positionals: [{ name: "SHELL", summary: "your shell", required: false, choices: ["bash", "zsh", "fish"] }],
    flags: [text("candidates", "print the suggestions of this kind", { value: "KIND", hidden: true })],
    load: () => import("../commands/completion.ts"),
  },
  {
    name: "version",
    summary: "show the version and paths",
    group: "maintenance",
    flags: [json],
    load: () => import("../commands/version.ts"),
  },
  {
    name: "debug",
    summary: "collect a report for support",
    group: "maintenance",
    subcommands: [
      {
        name: "share",
        summary: "upload a report",
        group: "maintenance",
        flags: [
          integer("lines", "lines of each log file (200)", { value: "N", min: 0 }),
          integer("expire", "days until it expires (7)", { value: "DAYS", min: 1 }),
          toggle("local", "print the report instead of uploading it"),
          toggle("no-redact", "do not mask secrets"),
        ],
        load: () => import("../commands/debug/share.ts"),
      },
      {
        name: "delete",
        summary: "delete an uploaded report",
        group: "maintenance",
        positionals: [{ name: "URL", summary: "address of the report", required: true, rest: true }],
      },
    ],
  },
  {
    name: "update",
    summary: "install a newer version",
    group: "maintenance",
    flags: [
      toggle("check", "only check for a newer version"),
      toggle("backup", "create a backup first", { conflictsWith: ["no-backup"] }),
      toggle("no-backup", "do not create a backup"),
      yes,
      text("branch", "branch of a source checkout", { value: "NAME" }),
    ],
    load: () => import("../commands/update.ts"),
  },
  {
    name: "uninstall",
    summary: "remove Hermes from this machine",
    group: "maintenance",
    flags: [toggle("full", "also remove all data"), yes],
    load: () => import("../commands/uninstall.ts"),
  },
  {
    name: "security",
    summary: "run security checks",
    group: "maintenance",
    subcommands: [{ name: "audit", summary: "check for known vulnerabilities", group: "maintenance" }],
  },
  { name: "secrets", summary: "keep keys in an external vault", group: "maintenance" },
  { name: "migrate", summary: "import settings from another agent", group: "maintenance" },
  {
    name: "claw",
    summary: "import settings from OpenClaw",
    group: "maintenance",
    subcommands: [
      {
        name: "migrate",
        summary: "import its settings and memory",
        group: "maintenance",
        replacedBy: "hermes import openclaw",
      },
    ],
  },
]
