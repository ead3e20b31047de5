import { expect, test } from "vitest"

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
