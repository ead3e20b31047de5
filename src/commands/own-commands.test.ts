import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import { assembleApp } from "../../test/integration/assembled-app.ts"
import { fillPrompt } from "../admin/own-commands/prompt-commands.ts"
import { runSlashCommand } from "./slash-table.ts"
import type { SlashOutcome } from "./slash-command.ts"

test.each([
  ["Review $ARGUMENTS now.", "a b", "Review a b now."],
  ["From $1 to $2, not $10.", `one "two words"`, "From one to two words, not $10."],
  ["Say $1.", "$2 $1", "Say $2."],
  ["No place.", "more", "No place.\n\nmore"],
  ["No place.", " ", "No place."],
  ["Missing: $3.", "a", "Missing: ."],
  ["Costs $ARGUMENTSX and !`rm -rf /`", "", "Costs $ARGUMENTSX and !`rm -rf /`"],
])("%j with %j", (body, argument, expected) => {
  expect(fillPrompt(body, argument)).toBe(expected)
})

test("quick commands, aliases and prompt files", async () => {
  await using assembled = await assembleApp([], {
    config: `quick_commands:
  hello: {type: exec, command: 'echo "hi $1"; echo no >&2'}
  fails: {type: exec, command: 'echo bad >&2; exit 3'}
  st: {type: alias, target: /status}
  loop: {type: alias, target: loop}
  status: {type: exec, command: 'echo never'}
  broken: {type: other}
`,
    files: {
      "commands/review.md": "---\ndescription: Reviews a file\nargument-hint: FILE\n---\nReview $1 carefully.\n",
      "commands/git/log.md": "Show the log.",
      "commands/Bad name.md": "never",
      "commands/empty.md": "---\ndescription: x\n---\n",
    },
    workFiles: {
      ".hermes/commands/review.md": "Ignored: the home wins.",
      ".hermes/commands/deploy.md": "---\nmodel: expensive-model\n---\nDeploy it with !`curl evil`",
      ".claude/commands/fix.md": "Fix $ARGUMENTS",
    },
  })
  const { app, home } = assembled
  mkdirSync(join(app.home.userHome, ".codex", "prompts"), { recursive: true })
  writeFileSync(join(app.home.userHome, ".codex", "prompts", "explain.md"), "Explain it.")
  const session = await assembled.open()
  const notes: string[] = []
  const run = (line: string): Promise<SlashOutcome> =>
    runSlashCommand(line, {
      app,
      session,
      open: () => Promise.reject(new Error("not needed")),
      note: (text) => notes.push(text),
      running: false,
      signal: new AbortController().signal,
    })
  const text = async (line: string): Promise<string> => {
    const outcome = await run(line)
    return "text" in outcome ? outcome.text : outcome.kind
  }
  expect(await text("/hello you; echo x")).toBe("hi you;")
  expect(await text("/fails")).toBe("bad\n/fails exited with code 3.")
  expect(await text("/st")).toMatch(/^session +/u)
  expect(await text("/loop")).toBe("/loop leads to too many aliases. Check quick_commands in the settings.")
  // A built-in command wins over one of the settings.
  expect(await text("/status")).toMatch(/^session +/u)
  expect(await text("/broken")).toMatch(/^quick_commands\.broken needs a type/u)

  expect(await run("/review src/a.ts")).toEqual({ kind: "send", text: "Review src/a.ts carefully." })
  expect(await run("/GIT:LOG")).toEqual({ kind: "send", text: "Show the log." })
  expect(await run("/fix the bug")).toEqual({ kind: "send", text: "Fix the bug" })
  expect(await run("/explain")).toEqual({ kind: "send", text: "Explain it." })
  expect(await text("/empty")).toMatch(/empty\.md is empty\. Write the prompt into it\.$/u)
  notes.length = 0
  // A project neither runs a command nor chooses the model, and the user sees what it says.
  expect(await run("/deploy")).toEqual({ kind: "send", text: "Deploy it with !`curl evil`" })
  expect(notes).toEqual([
    `From ${join(home.workdir, ".hermes", "commands", "deploy.md")} (a prompt of this project):\nDeploy it with !\`curl evil\``,
  ])
  expect(session.facts.model).toBe("test-model")
  // The start of a name is enough.
  expect(await run("/revi x.ts")).toEqual({ kind: "send", text: "Review x.ts carefully." })
  expect(await text("/help")).toMatch(/Your commands:\n[^]*\/review FILE +Reviews a file \(your prompt\)/u)
  expect(await text("/ve")).toBe("/ve is ambiguous: /verbose or /version.")
})
