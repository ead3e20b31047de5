import { readFileSync } from "node:fs"
import { expect, test } from "vitest"

import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { startModelServer } from "../../../test/support/model-server/server.ts"
import { recordingTerminal } from "../../../test/support/cli-home.ts"
import { press, type } from "../../../test/support/modal-driver.ts"
import type { PickChoice } from "../../commands/choice-list.ts"
import { createListModal } from "../../tui/modals/list-modal.ts"
import type { Invocation } from "../command.ts"
import { offerModelSetup } from "./offer-model-setup.ts"

/** Answers the first question in the list of the full interface. */
async function answer(text: string, keys: readonly string[]) {
  const pick: PickChoice = async (list) => {
    const modal = createListModal(list)
    const loaded = Promise.withResolvers<void>()
    modal.changed = () => loaded.resolve()
    await loaded.promise
    type(modal, text)
    return press(modal, keys)?.decision
  }
  const invocation = { terminal: recordingTerminal(["unused"]), signal: new AbortController().signal }
  return await offerModelSetup(invocation as unknown as Invocation, pick)
}

test.each([
  ["", ["enter"], { firstMessage: "" }],
  ["provider", ["enter"], { firstMessage: "provider" }],
  ["key", ["enter"], { firstMessage: "key" }],
  ["is it an AI", ["enter"], { firstMessage: "is it an AI" }],
  ["Use the demo", ["enter"], { firstMessage: "" }],
  ["quit", ["enter"], "left"],
  ["", ["escape"], "left"],
  ["a message", ["ctrl+c"], "left"],
] as const)("first question: %j, then %j", async (text, keys, outcome) => {
  expect(await answer(text, keys)).toEqual(outcome)
})

test("the address of a model server, as the first answer, connects its model", async () => {
  await using server = await startModelServer([], { models: ["alpha-1", "beta-2"] })
  const connect = async (answers: readonly string[], picks?: readonly unknown[]) => {
    using context = createTestHomeContext({})
    const notes: string[] = []
    const remaining = [...(picks ?? [])]
    const pick: PickChoice = async (list) => {
      const { choices, note } = await list.load(new AbortController().signal)
      if (note !== undefined) notes.push(note)
      const wanted = remaining.shift()
      const value =
        typeof wanted === "number" ? choices[wanted]?.value : list.freeEntry?.(typeof wanted === "string" ? wanted : "")
      return value === undefined ? undefined : { value, mode: undefined }
    }
    const signal = new AbortController().signal
    const terminal = recordingTerminal(answers)
    const invocation = { ...context, terminal, signal } as unknown as Invocation
    const outcome = await offerModelSetup(invocation, picks === undefined ? undefined : pick)
    return { outcome, notes, settings: readFileSync(context.home.file("config.yaml"), "utf8") }
  }
  const expected = new RegExp(`provider: custom\\n {2}default: beta-2\\n {2}base_url: ${server.url}/v1\\n`, "u")
  expect(await connect([server.url, "2"])).toMatchObject({
    outcome: "connected",
    settings: expect.stringMatching(expected) as string,
  })
  expect(await connect(["unused"], ["http://127.0.0.1:1", server.url, 1])).toEqual({
    outcome: "connected",
    notes: ["Nothing listens at http://127.0.0.1:1. Start the server, or correct the host and port."],
    settings: expect.stringMatching(expected) as string,
  })
})
