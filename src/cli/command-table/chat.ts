import type { Command } from "../command.ts"
import { choice, integer, text, toggle } from "./flag.ts"
import { RUN_FLAGS } from "./global-flags.ts"

export const CHAT_COMMANDS: readonly Command[] = [
  {
    name: "chat",
    summary: "chat with the agent (the default command)",
    positionals: [{ name: "PROMPT", summary: "the first message of the conversation", required: false, rest: true }],
    details:
      "Starts a conversation in the terminal, with the given prompt as its first message. With --query, answers one prompt and exits. Piped text is appended to the prompt, or is the prompt if none is given.",
    group: "chat",
    flags: [
      text("query", "answer one prompt and exit; - reads it from standard input", { short: "q", value: "TEXT" }),
      text("image", "attach an image file", { value: "PATH", repeatable: true, complete: "file" }),
      toggle("checkpoints", "take snapshots of changed files for /rollback, even if the settings disable it"),
      integer("max-turns", "stop after this many rounds of tool calls; the answer may take two more model calls", {
        value: "N",
        min: 1,
      }),
      text("source", "tag of the new session; `tool` hides it from lists", { value: "TAG" }),
      choice("output-format", "output format", { of: ["text", "json", "stream-json"] }),
      choice("input-format", "input format", { of: ["text", "stream-json"], later: true }),
      toggle("no-deltas", "omit message.delta lines from stream-json"),
      text("system-prompt-append", "append to the system prompt for this run", { value: "TEXT" }),
      text("cwd", "working directory", { value: "DIR", complete: "directory" }),
      toggle("no-stdin", "do not read standard input"),
      ...RUN_FLAGS,
    ],
    load: () => import("../commands/chat.ts"),
  },
]
