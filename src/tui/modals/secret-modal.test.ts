import { expect, test } from "vitest"

import { drawn, press, type } from "../../../test/support/modal-driver.ts"
import type { ClarifyRequest } from "../../protocol/events.ts"
import { createSecretModal } from "./secret-modal.ts"

const REQUEST: ClarifyRequest = {
  type: "clarify-request",
  requestId: "1",
  kind: "sudo",
  asker: "hermes",
  question: "apt needs your password",
  choices: [],
  allowFreetext: true,
  expiresAt: null,
}

test("what is typed is never shown", () => {
  const modal = createSecretModal(REQUEST, { openedAt: 0 })
  type(modal, "pä 👩‍👩‍👧")
  expect(drawn(modal, { columns: 60 })).toEqual([
    "── Password for sudo ───────────────────────────────────────",
    "  apt needs your password",
    "> ••••",
    "Input is hidden · Enter sends it · Esc sends nothing",
  ])
  expect(press(modal, ["left", "left", "backspace", "enter"])?.decision).toEqual({
    kind: "answered",
    text: "p 👩‍👩‍👧",
  })
})

test("spaces and other characters of a password are kept, only the end of a pasted line is not", () => {
  const modal = createSecretModal(REQUEST, { openedAt: 0 })
  modal.key({ type: "paste", text: "  a\tb \n" }, 10_000)
  expect(press(modal, ["enter"])?.decision).toEqual({ kind: "answered", text: "  a\tb " })
})

test.each(["escape", "ctrl+c"])("%s sends nothing", (chord) => {
  const modal = createSecretModal({ ...REQUEST, kind: "secret" }, { openedAt: 0 })
  expect(press(modal, ["x", chord])?.decision).toEqual({ kind: "cancelled", text: "" })
})

test("keys for the message that the user was typing are not part of it", () => {
  const modal = createSecretModal(REQUEST, { openedAt: 1000 })
  expect(press(modal, ["a", "enter"], 1200, 200)).toBeUndefined()
  // It may be a part of the password, so it goes nowhere.
  expect(modal.key({ type: "key", chord: "p", text: "p" }, 1500)).toBeUndefined()
  expect(drawn(modal, { now: 1600 }).at(-1)).toBe("Your typing was ignored. You can answer in 2 s.")
  expect(press(modal, ["b", "enter"], 4000)?.decision).toEqual({ kind: "answered", text: "b" })
})

test.each([40, 120])("any size fits at %s columns", (columns) => {
  for (const rows of [1, 2, 3, 10]) {
    const modal = createSecretModal({ ...REQUEST, question: "why \u001B[2J ".repeat(60) }, { openedAt: 0 })
    type(modal, "x".repeat(300))
    drawn(modal, { columns, rows })
  }
})
