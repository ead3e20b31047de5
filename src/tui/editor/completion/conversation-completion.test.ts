import { expect, test } from "vitest"

import { assembleApp, runToEnd } from "../../../../test/integration/assembled-app.ts"
import { says } from "../../../../test/support/model-server/turn.ts"
import { conversationCompletion } from "./conversation-completion.ts"

const SKILL = "---\nname: changelog\ndescription: Writes the changelog.\n---\nWrite it.\n"

test("commands, their arguments and references come from the conversation", async () => {
  await using assembled = await assembleApp([says("Done.")], {
    files: { "skills/changelog/SKILL.md": SKILL },
    workFiles: { "src/parser.ts": "", "notes.md": "" },
  })
  const session = await assembled.open()
  await runToEnd(session, "Repair the parser")
  const source = conversationCompletion({
    app: assembled.app,
    session: () => session,
    skins: () => [{ name: "mono", detail: "without colours" }],
    personalities: () => [],
  })
  const labels = async (text: string): Promise<readonly string[]> => {
    const { items } = await source.complete(text, text.length, new AbortController().signal)
    return items.map((item) => item.label ?? item.text)
  }
  expect(await labels("/")).toEqual(expect.arrayContaining(["/help", "/model", "/quit", "/changelog"]))
  expect((await labels("/changel"))[0]).toBe("/changelog")
  expect(await labels("/permissions acc")).toEqual(["accept-edits"])
  const [resumed] = (await source.complete("/resume ", 8, new AbortController().signal)).items
  expect(resumed).toMatchObject({ text: `${session.id} `, detail: session.id })
  expect(await labels("@parser")).toContain("src/parser.ts")
  expect(await labels("@session:")).toEqual([session.id])
  expect((await labels("@skill:chan"))[0]).toBe("changelog")
  expect(await labels("!cat no")).toEqual(["notes.md"])
  expect(await labels("plain text")).toEqual([])
})
