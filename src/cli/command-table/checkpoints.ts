import type { Command, Positional } from "../command.ts"
import { force, integer, json, text, toggle, yes } from "./flag.ts"

const snapshot: Positional = { name: "HASH", summary: "snapshot, as `checkpoints list` shows it", required: true }
const file: Positional = { name: "FILE", summary: "only this path of the project", required: false }
const dir = text("dir", "project directory (default: the current directory)", { value: "DIR", complete: "directory" })

export const CHECKPOINTS_COMMAND: Command = {
  name: "checkpoints",
  summary: "list, restore and prune the snapshots of /rollback",
  group: "sessions",
  flags: [json],
  load: () => import("../commands/checkpoints/status.ts"),
  subcommands: [
    {
      name: "status",
      summary: "show the number and size of snapshots",
      group: "sessions",
      flags: [json],
      load: () => import("../commands/checkpoints/status.ts"),
    },
    {
      name: "list",
      aliases: ["ls"],
      summary: "list the snapshots of a project, newest first",
      group: "sessions",
      flags: [dir, integer("limit", "maximum number of snapshots (20)", { value: "N", min: 1 }), json],
      load: () => import("../commands/checkpoints/list.ts"),
    },
    {
      name: "diff",
      summary: "show the changes since a snapshot",
      group: "sessions",
      positionals: [snapshot, file],
      flags: [dir],
      load: () => import("../commands/checkpoints/diff.ts"),
    },
    {
      name: "restore",
      summary: "restore a project or one file from a snapshot",
      details:
        "A snapshot of the current state is taken first, so that a restore can be undone. Build output, .git and .env are never changed.",
      group: "sessions",
      positionals: [snapshot, file],
      flags: [dir, yes],
      load: () => import("../commands/checkpoints/restore.ts"),
    },
    {
      name: "prune",
      summary: "remove old snapshots",
      group: "sessions",
      flags: [
        integer("retention-days", "days to keep snapshots (7)", { value: "N", min: 0 }),
        integer("max-size-mb", "maximum total size in MB (500)", { value: "N", min: 0 }),
        toggle("keep-orphans", "keep snapshots of directories that no longer exist"),
      ],
      load: () => import("../commands/checkpoints/prune.ts"),
    },
    {
      name: "clear",
      summary: "remove all snapshots",
      group: "sessions",
      flags: [yes, force],
      load: () => import("../commands/checkpoints/clear.ts"),
    },
    {
      name: "clear-legacy",
      summary: "remove snapshots of an older layout",
      group: "sessions",
      flags: [yes, force],
      load: () => import("../commands/checkpoints/clear-legacy.ts"),
    },
  ],
}
