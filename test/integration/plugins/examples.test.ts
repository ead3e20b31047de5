import { cpSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"

const EXAMPLES = join(import.meta.dirname, "../../../examples/plugins")

test("the example plugin counts words and refuses a push", async () => {
  await using setup = await assembleApp(
    [callsTool("count_words", { text: "one two three" }), callsTool("terminal", { command: "git push" }), says("done")],
    { config: "plugins:\n  enabled: [word-count]\n" },
  )
  cpSync(join(EXAMPLES, "word-count"), join(setup.home.path, "plugins/word-count"), { recursive: true })
  await using app = await setup.restart()
  const run = await runToEnd(await app.open(), "count")
  const results = JSON.stringify(run.end.result.messages.filter(({ role }) => role === "tool"))
  expect(results).toContain(String.raw`\"words\":3`)
  expect(results).toContain("push it yourself")
  expect(await app.app.pluginCommands()[0]?.handler("")).toBe("3 words were counted.")
})

test("the example memory provider recalls in the next session what was said in the first", async () => {
  await using setup = await assembleApp([says("noted"), says("Bergen")], { config: "memory:\n  provider: notebook\n" })
  cpSync(join(EXAMPLES, "notebook"), join(setup.home.path, "plugins/notebook"), { recursive: true })
  await using app = await setup.restart()
  const first = await app.open()
  await runToEnd(first, "My sister lives in Bergen.")
  await first.close("user_exit")
  await runToEnd(await app.open(), "Where does my sister live?")
  expect(JSON.stringify(app.model.requests[1])).toContain("My sister lives in Bergen. -> noted")
})
