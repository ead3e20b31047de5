import { expect, test } from "vitest"

import { drawn, press, type } from "../../../test/support/modal-driver.ts"
import type { ClarifyRequest } from "../../protocol/events.ts"
import { CANCELLED_ANSWER } from "../question-text/clarify-text.ts"
import { createClarifyModal } from "./clarify-modal.ts"

const REQUEST: ClarifyRequest = {
  type: "clarify-request",
  requestId: "1",
  kind: "question",
  question: "Which database?",
  choices: ["PostgreSQL", "SQLite"],
  allowFreetext: true,
  expiresAt: 46,
}

const modalFor = (request: Partial<ClarifyRequest> = {}) =>
  createClarifyModal({ ...REQUEST, ...request }, { openedAt: 0 })

test("a question of the model with its choices and the time that is left", () => {
  expect(drawn(modalFor(), { columns: 60 })).toEqual([
    "── The model asks ─────────────────────────────────── 45s ──",
    "  | Which database?",
    "  (it reads your answer, so give it no password)",
    "› 1. PostgreSQL",
    "  2. SQLite",
    "  3. Other (type an answer)",
    "Arrows and Enter, or a number · Esc skips",
    "Ctrl+C stops the turn",
  ])
})

const ANSWER = (text: string) => ({ kind: "answered", text })
const CANCELLED = { kind: "cancelled", text: CANCELLED_ANSWER }

test.each([
  ["a digit chooses", {}, ["2"], ANSWER("SQLite")],
  ["Enter takes the highlighted choice", {}, ["down", "enter"], ANSWER("SQLite")],
  ["arrows go round", {}, ["up", "up", "enter"], ANSWER("SQLite")],
  ["the last entry asks for a text", {}, ["3", "X", "enter"], ANSWER("X")],
  ["letters start a text", {}, ["M", "y", "enter"], ANSWER("My")],
  ["a text may begin with a digit after Other", {}, ["3", "1", "enter"], ANSWER("1")],
  ["Esc returns from the text to the choices", {}, ["M", "escape", "1"], ANSWER("PostgreSQL")],
  ["the text is kept", {}, ["M", "escape", "3", "enter"], ANSWER("M")],
  ["Up returns to the choices", {}, ["M", "up", "enter"], ANSWER("SQLite")],
  ["an empty text is no answer", {}, ["3", "enter", "space", "enter"], undefined],
  ["Esc skips", {}, ["escape"], CANCELLED],
  ["Ctrl+C skips from the text as well", {}, ["M", "ctrl+c"], CANCELLED],
  ["letters do nothing where no text is allowed", { allowFreetext: false }, ["x", "3", "2"], ANSWER("SQLite")],
  ["without choices a text is typed", { choices: [] }, ["1", "enter"], ANSWER("1")],
  ["without choices Esc skips", { choices: [], allowFreetext: false }, ["a", "escape"], CANCELLED],
] as const)("%s", (_name, request, keys, decision) => {
  expect(press(modalFor(request), keys)?.decision).toEqual(decision)
})

test("pasted lines become the answer", () => {
  const modal = modalFor()
  modal.key({ type: "paste", text: "one\r\ntwo\u001B[2J" }, 10_000)
  expect(press(modal, ["enter"])?.decision).toEqual(ANSWER("one\ntwo"))
})

test("a key for the message that the user was typing chooses nothing", () => {
  const modal = createClarifyModal(REQUEST, { openedAt: 1000 })
  expect(press(modal, ["1", "enter", "x"], 1100, 200)).toBeUndefined()
  expect(drawn(modal, { now: 1600 }).at(-1)).toBe("Your typing goes to your message. You can answer in 2 s.")
  const key = { type: "key", chord: "y", text: "y" } as const
  expect(modal.key(key, 1700)).toEqual({ unused: [key] })
})

test("an answer that was typed and not sent is not lost", () => {
  const modal = modalFor()
  press(modal, ["M", "y"])
  expect(modal.unsentText?.()).toBe("My")
  press(modal, ["enter"], 20_000)
  expect(modal.unsentText?.()).toBe("")
})

test("six long choices on a short terminal: one row each, more for the highlighted one", () => {
  const long = "a long choice that explains itself at length and never ends "
  const choices = Array.from({ length: 6 }, (_, index) => `${index + 1} ${long.repeat(3)}`)
  const modal = modalFor({ choices, question: "Q ".repeat(300) })
  press(modal, ["down"])
  expect(drawn(modal, { columns: 40, rows: 14 })).toMatchInlineSnapshot(`
    [
      "── The model asks ─────────────── 45s ──",
      "  | Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q",
      "  : Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q",
      "  : Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q Q",
      "  … 16 more rows below (PgDn)",
      "  1. 1 a long choice that explains itse…",
      "› 2. 2 a long choice that explains itse…",
      "  3. 3 a long choice that explains itse…",
      "  4. 4 a long choice that explains itse…",
      "  5. 5 a long choice that explains itse…",
      "  6. 6 a long choice that explains itse…",
      "  7. Other (type an answer)",
      "Arrows and Enter, or a number",
      "Esc skips · Ctrl+C stops the turn",
    ]
  `)
})

test.each([40, 60, 80, 120])("hostile text fits at %s columns", (columns) => {
  const evil = `\u001B]0;x\u0007日本\u202E${"👩‍👩‍👧".repeat(40)}\r\n1. PostgreSQL`
  for (const rows of [1, 2, 3, 6, 10, 24]) {
    const modal = modalFor({ question: evil, choices: [evil, evil, evil, evil, evil, evil] })
    drawn(modal, { columns, rows })
    press(modal, ["down", "pagedown"])
    drawn(modal, { columns, rows })
    type(modal, "my own words ".repeat(30))
    drawn(modal, { columns, rows })
  }
})
