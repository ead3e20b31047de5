import type { Command } from "../command.ts"
import { choice, integer, text, toggle } from "./flag.ts"
import { RUN_FLAGS } from "./global-flags.ts"

export const TALK_COMMANDS: readonly Command[] = [
  {
    name: "chat",
    summary: "talk with the agent (what plain `hermes` does)",
    details:
      "Without a prompt it opens a conversation in the terminal. With --query it answers one prompt and ends. Text that is piped in is added to the prompt, or is the prompt when none is given.",
    group: "talk",
    flags: [
      text("query", "answer one prompt, then end; - reads it from standard input", { short: "q", value: "TEXT" }),
      text("image", "attach an image file", { value: "PATH", repeatable: true, complete: "file" }),
      toggle("checkpoints", "keep snapshots of changed files for /rollback, whatever the settings say"),
      integer("max-turns", "stop after this many model calls", { value: "N", min: 1 }),
      text("source", "tag of the new session; `tool` keeps it out of lists", { value: "TAG" }),
      choice("output-format", "form of the output", { of: ["text", "json", "stream-json"] }),
      choice("input-format", "form of the input", { of: ["text", "stream-json"], later: true }),
      toggle("no-deltas", "leave message.delta lines out of stream-json"),
      text("system-prompt-append", "add to the system prompt, for this run only", { value: "TEXT" }),
      text("cwd", "work in this directory", { value: "DIR", complete: "directory" }),
      toggle("no-stdin", "do not read standard input"),
      ...RUN_FLAGS,
    ],
    load: () => import("../commands/chat.ts"),
  },
]
