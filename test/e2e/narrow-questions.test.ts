import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import type { ReplyTurn } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { NO_SANDBOX, settingsFor } from "./hermes-process.ts"

const WIDTHS = [40, 80, 200]

interface Asked {
  readonly columns: number
  readonly reply: ReplyTurn
  readonly args?: readonly string[]
  /** Matches the question up to the position where the user types. */
  readonly until: RegExp
}

/** The rows of the question as a terminal of this width shows them. Rows that the terminal broke itself are joined. */
async function rowsOf({ columns, reply, args = [], until }: Asked): Promise<readonly string[]> {
  await using model = await startModelServer([reply, says("Done.")])
  await using home = await temporaryHome({
    config: settingsFor(model, `${NO_SANDBOX}approvals:\n  timeout: 600\nclarify:\n  timeout: 600\n`),
  })
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args,
    env: home.env,
    cwd: home.workdir,
    columns,
    rows: 60,
  })
  await terminal.waitFor(/^you> /mu)
  terminal.type("go")
  terminal.press("enter")
  await terminal.waitFor(until)
  return terminal.screen().map((row) => row.trimEnd())
}

/** The words of the text, in order, are all whole on the screen. */
function hasWholeWords(rows: readonly string[], words: readonly string[]): void {
  const shown = rows.flatMap((row) => row.split(/\s+/u))
  expect(words.filter((word) => !shown.includes(word))).toEqual([])
}

test.each(WIDTHS)("an approval question at %d columns breaks at words", async (columns) => {
  const command = "rm -rf build-output-directory another-output-directory third-output-directory"
  const rows = await rowsOf({ columns, reply: callsTool("terminal", { command }), until: /to\s+answer\)/u })
  hasWholeWords(rows, command.split(" "))
  hasWholeWords(rows, "[o]nce, [s]ession, [a]lways, [d]eny? minutes answer)".split(" "))
  hasWholeWords(rows, "without a sandbox approval:".split(" "))
})

test.each(WIDTHS)(
  "a question of the model at %d columns breaks at words, also with wide characters",
  async (columns) => {
    const words = [
      "Which",
      "directory",
      "should",
      "漢字漢字漢字",
      "receive",
      "the",
      "👍👍👍",
      "generated",
      "documentation?",
    ]
    const choices = ["The directory of generated documentation pages", "漢字漢字 directory of the documentation"]
    const rows = await rowsOf({
      columns,
      reply: callsTool("clarify", { question: words.join(" "), choices }),
      until: /to\s+answer\)/u,
    })
    hasWholeWords(rows, words)
    hasWholeWords(rows, choices.join(" ").split(" "))
    hasWholeWords(rows, "The model asks (it reads your answer, so give it no password):".split(" "))
  },
)

test.each(WIDTHS)("the question about a plan at %d columns breaks at words", async (columns) => {
  const plan = "Rename the configuration directory everywhere and update the documentation accordingly."
  const rows = await rowsOf({
    columns,
    args: ["--plan"],
    reply: says(`# Goal\n${plan}`),
    until: /decides\s+later\)/u,
  })
  hasWholeWords(
    rows,
    "[a]pprove and carry it out, approve but ask before [e]ach change, [r]evise, or [x] abort?".split(" "),
  )
})
