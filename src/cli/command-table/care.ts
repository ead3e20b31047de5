import type { Command } from "../command.ts"
import { integer, json, text, toggle, yes } from "./flag.ts"

export const CARE_COMMANDS: readonly Command[] = [
  {
    name: "status",
    summary: "show what is set up and what runs",
    group: "care",
    flags: [
      toggle("all", "everything, with nothing private in it"),
      toggle("deep", "also ask the provider whether it answers"),
      json,
    ],
    load: () => import("../commands/status.ts"),
  },
  {
    name: "doctor",
    summary: "look for problems and mend them",
    group: "care",
    flags: [
      toggle("fix", "mend what can be mended safely"),
      text("ack", "do not show this security advisory again", { value: "ID" }),
      json,
    ],
    load: () => import("../commands/doctor.ts"),
  },
  {
    name: "dump",
    summary: "print the setup as text for a bug report",
    group: "care",
    flags: [toggle("show-keys", "show the first and last characters of keys")],
    load: () => import("../commands/dump.ts"),
  },
  {
    name: "logs",
    summary: "read and follow the log files",
    group: "care",
    positionals: [
      { name: "LOG", summary: "agent (the default), errors, gateway, gui, or list", required: false, complete: "log" },
    ],
    flags: [
      integer("lines", "number of lines (50)", { short: "n", value: "N", min: 0 }),
      toggle("follow", "keep printing new lines", { short: "f" }),
      text("level", "this level and above", { value: "LEVEL" }),
      text("session", "only lines whose session id contains this", { value: "TEXT" }),
      text("since", "only the last while: 45s, 30m, 2h, 1d", { value: "AGE" }),
      text("component", "gateway, agent, tools, cli, cron or gui", { value: "NAME" }),
    ],
    load: () => import("../commands/logs.ts"),
  },
  {
    name: "prompt-size",
    summary: "show what the prompt is made of and how large it is",
    group: "care",
    flags: [text("platform", "for this surface (cli)", { value: "NAME" }), json],
    load: () => import("../commands/prompt-size.ts"),
  },
  {
    name: "backup",
    summary: "pack everything into one file",
    group: "care",
    flags: [
      text("output", "file or directory to write to", { short: "o", value: "FILE", complete: "file" }),
      toggle("quick", "only the essential files, kept inside the home", { short: "q" }),
      text("label", "name of the quick snapshot", { short: "l", value: "TEXT" }),
    ],
    load: () => import("../commands/backup.ts"),
  },
  {
    name: "import",
    summary: "restore a backup",
    group: "care",
    positionals: [{ name: "ZIP", summary: "file written by `hermes backup`", required: true, complete: "file" }],
    flags: [toggle("force", "do not ask", { short: "f" })],
    load: () => import("../commands/import.ts"),
  },
  {
    name: "completion",
    summary: "print a completion script for your shell",
    details:
      'bash: eval "$(hermes completion bash)" in ~/.bashrc. zsh: eval "$(hermes completion zsh)" in ~/.zshrc after compinit. fish: hermes completion fish > ~/.config/fish/completions/hermes.fish',
    group: "care",
    positionals: [{ name: "SHELL", summary: "your shell", required: false, choices: ["bash", "zsh", "fish"] }],
    flags: [text("candidates", "print the words that fit at one place", { value: "KIND", hidden: true })],
    load: () => import("../commands/completion.ts"),
  },
  {
    name: "version",
    summary: "show version and paths",
    group: "care",
    load: () => import("../commands/version.ts"),
  },
  {
    name: "debug",
    summary: "collect a report for support",
    group: "care",
    subcommands: [
      {
        name: "share",
        summary: "upload a report",
        group: "care",
        flags: [
          integer("lines", "log lines of each file (200)", { value: "N", min: 0 }),
          integer("expire", "days until it is gone (7)", { value: "DAYS", min: 1 }),
          toggle("local", "print it and upload nothing"),
          toggle("no-redact", "leave secrets in"),
        ],
      },
      {
        name: "delete",
        summary: "delete an uploaded report",
        group: "care",
        positionals: [{ name: "URL", summary: "its address", required: true, rest: true }],
      },
    ],
  },
  {
    name: "update",
    summary: "install a newer version",
    group: "care",
    flags: [
      toggle("check", "only say whether there is one"),
      toggle("backup", "back up first", { conflictsWith: ["no-backup"] }),
      toggle("no-backup", "do not back up"),
      yes,
      text("branch", "branch of a source checkout", { value: "NAME" }),
    ],
  },
  {
    name: "uninstall",
    summary: "remove Hermes from this machine",
    group: "care",
    flags: [toggle("full", "also everything it stored"), yes],
  },
  {
    name: "security",
    summary: "security checks",
    group: "care",
    subcommands: [{ name: "audit", summary: "look for known weaknesses", group: "care" }],
  },
  { name: "secrets", summary: "keep keys in an outside vault", group: "care" },
  { name: "migrate", summary: "take over from another agent", group: "care" },
  {
    name: "claw",
    summary: "take over from OpenClaw",
    group: "care",
    subcommands: [{ name: "migrate", summary: "copy its settings and memory", group: "care" }],
  },
]
