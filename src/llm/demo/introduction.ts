/** Begins the first reply of every session, so that users do not mistake the demo for a real model. */
export const DISCLAIMER =
  "This is the built-in demo model, not an AI: it follows a few fixed rules so that you can try Hermes without a key."

export const HOW_TO_CONNECT =
  "To connect a real model, type /model: it lists the providers and asks for a key. From a shell, " +
  "`hermes model` or the variable OPENROUTER_API_KEY does the same; `model.base_url` points at a local server."

export const EXAMPLES = [
  "- list files",
  "- read README.md",
  "- search this folder for TODO",
  "- write a note saying buy milk, then read it back",
  "- replace milk with bread in hermes-demo-note.txt",
  "- run `uname -a`",
  "- delete hermes-demo-note.txt (Hermes asks you first, unless the sandbox and /rollback make it safe)",
  "- remember that I prefer short answers",
  "- tour (all of it in one go)",
].join("\n")

export const GREETING = `Hello! The tools I call are real, my answers are prepared. Try one of these:\n\n${EXAMPLES}\n\n${HOW_TO_CONNECT}`

export const HELP = `I understand only a few requests, but the tools behind them are real: files, commands, permissions and memory work as with any model. Try:\n\n${EXAMPLES}\n\n${HOW_TO_CONNECT}`

export const NOT_UNDERSTOOD = `I do not understand that: I am a demo without intelligence and know only a few requests. Try:\n\n${EXAMPLES}\n\n${HOW_TO_CONNECT}`
