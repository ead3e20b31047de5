import { expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import { chunkBytes, reply } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor, streamLines } from "./hermes-process.ts"

const OF_HOME = "walrus-teapot-31-dotenv"
const ISSUED = "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6Gg7Hh8"
const ANSWER = `Your keys: ${OF_HOME} and\nOPENAI_API_KEY=${ISSUED}\nKeep them, please.`
const MASKED = "Your keys: walrus...tenv and\nOPENAI_API_KEY=***\nKeep them, please."

/** Splits text into small pieces, as models stream it. */
function pieces(text: string): readonly string[] {
  return text.match(/[^]{1,4}/gu) ?? []
}

const SAYS_SECRETS = reply(
  { text: pieces(ANSWER), reasoning: pieces(`The key is ${ISSUED}.`) },
  chunkBytes(200, { delayMs: 5 }),
)
const FILES = { ".env": `EXA_API_KEY=${OF_HOME}\n` }

test("masks secrets in stream-json output and in the store", async () => {
  await using model = await startModelServer([SAYS_SECRETS])
  await using home = await temporaryHome({ config: settingsFor(model), files: FILES })
  const { stdout } = await hermes(home, ["-q", "which keys?", "--output-format", "stream-json"], {
    stdin: "inherit-null",
  })
  const lines = streamLines(stdout)
  const texts = (type: string) => lines.filter((line) => line.type === type).map((line) => String(line["text"]))
  expect(texts("message.delta").join("")).toBe(MASKED)
  expect(texts("message.complete")).toEqual([MASKED])
  expect(texts("reasoning.delta").join("")).toBe("The key is sk-pro...7Hh8.")
  expect(texts("message.delta").length).toBeGreaterThan(3)
  expect(stdout).not.toContain(ISSUED.slice(6))
})

test("masks encoded secrets while they stream", async () => {
  const base64 = Buffer.from(`user:${OF_HOME}`).toString("base64")
  const hex = Buffer.from(OF_HOME).toString("hex")
  const text = `Basic ${base64} and ${hex}, that is all.`
  await using model = await startModelServer([reply({ text: pieces(text) }, chunkBytes(200, { delayMs: 5 }))])
  await using home = await temporaryHome({ config: settingsFor(model), files: FILES })
  const { stdout } = await hermes(home, ["-q", "which keys?", "--output-format", "stream-json"], {
    stdin: "inherit-null",
  })
  const shown = streamLines(stdout)
    .filter(({ type }) => type === "message.delta")
    .map((line) => String(line["text"]))
    .join("")
  expect(shown).toMatch(/^Basic \S{1,12}\*\*\*\S{0,4} and \S{0,3}\*\*\*, that is all\.$/u)
  expect(stdout.includes(base64.slice(12, -4)) || stdout.includes(hex.slice(6))).toBe(false)
})

test("masks secrets on the terminal", async () => {
  await using model = await startModelServer([SAYS_SECRETS])
  await using home = await temporaryHome({ config: settingsFor(model), files: FILES })
  await using terminal = await openTerminal({
    command: hermesCommand(),
    args: ["-q", "which keys?"],
    env: home.env,
    cwd: home.workdir,
  })
  await terminal.exit
  expect(terminal.output).toContain("OPENAI_API_KEY=***")
  expect(terminal.output).not.toContain("Cc3Dd4")
  expect(terminal.output).not.toContain("teapot")
})
