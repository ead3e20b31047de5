import { expect, test } from "vitest"

import { callsTool, says, stallsAfter } from "../support/model-server/turn.ts"
import { seededRandom } from "../support/seeded-random.ts"
import type { FullChat } from "./full-chat.ts"
import { IDLE, normalised, openFullChat } from "./full-chat.ts"
import { NO_SANDBOX } from "./hermes-process.ts"

const STATUS = /^ ⚕ test-model/u

/** Every row that was printed is there once, in order, and there is one live area. */
function expectOneOfEach(chat: FullChat, markers: readonly string[]): void {
  const all = chat.everything()
  const found = [...all.matchAll(/row-\d+-/gu)].map(([marker]) => marker)
  expect(found).toEqual(markers)
  expect(all.split("\n").filter((row) => STATUS.test(row))).toHaveLength(1)
}

test("a storm of resizes during a reply, while typing and in a modal leaves nothing behind", async () => {
  const gate = Promise.withResolvers<void>()
  const markers = Array.from({ length: 60 }, (_, index) => `row-${index}-`)
  const text = markers.map((marker) => `${marker} with some words that wrap in narrow windows`).join("\n\n")
  await using chat = await openFullChat(
    [
      says([text.slice(0, 2000), text.slice(2000)], stallsAfter({ deltas: 1 }, gate.promise)),
      callsTool("terminal", { command: "rm -r build" }),
      says("After the question."),
    ],
    { settings: NO_SANDBOX, workFiles: { "build/x": "x" } },
  )
  const random = seededRandom(14)
  const storm = async (): Promise<void> => {
    for (let step = 0; step < 25; step += 1) {
      chat.resize(40 + Math.floor(random() * 80), 10 + Math.floor(random() * 30))
      if (step % 3 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    chat.resize(80, 24)
  }
  chat.send("tell")
  await chat.waitFor("row-30-")
  chat.type("a draft")
  await storm()
  await chat.waitForScreen(/^⚕ a draft$/mu)
  gate.resolve()
  await storm()
  await chat.waitFor("row-59-")
  await chat.waitForScreen(/^❯ a draft$/mu)
  expectOneOfEach(chat, markers)
  chat.press("enter")
  await chat.waitForScreen("Esc denies")
  await storm()
  await chat.waitForScreen("Esc denies")
  expect(chat.screen().filter((row) => row.includes("Esc denies"))).toHaveLength(1)
  chat.press("escape")
  await chat.waitFor("After the question.")
  await chat.waitForScreen(IDLE)
  expectOneOfEach(chat, markers)
})

test("a window of 40×10, and one that becomes smaller while it is used", async () => {
  await using chat = await openFullChat(
    [
      callsTool("terminal", { command: "rm -r build" }),
      says("It is done, and this sentence is wrapped."),
      says("Small."),
    ],
    { settings: NO_SANDBOX, workFiles: { "build/x": "x" }, columns: 40, rows: 10 },
  )
  const withoutPath = normalised(chat).replace(/\n {2}\/[^·]*\n {2}permissions/u, "\n  DIRECTORY\n  permissions")
  expect(withoutPath).toMatchInlineSnapshot(`
    "  test-model (custom, 8K context)
      DIRECTORY
      permissions default · skills 18

    What shall we work on? /help lists the
    commands.

     ⚕ test-model · 1s
    ❯"
  `)
  chat.send("clean up")
  await chat.waitForScreen("[d]eny")
  expect(normalised(chat).replace(/\n {6}\/.*/u, "")).toMatchInlineSnapshot(`
    "❯ clean up
    ── Hermes wants to run ─────────────────
      | rm -r build
      in
      … 7 more rows below (PgDn)
      [o]nce   [s]ession   [a]lways
    › [d]eny
    Esc denies · Ctrl+C stops the turn
     ⚕ test-model · 1s"
  `)
  chat.press("escape")
  await chat.waitFor("It is done")
  await chat.waitForScreen(IDLE)
  // After two echoes the printed rows have arrived. If they were on their way, Hermes would erase less than it could.
  for (const text of ["still", "here"]) {
    chat.type(text)
    await chat.waitForScreen(text)
  }
  chat.resize(24, 5)
  chat.press("home")
  for (let step = 0; step < "still".length; step += 1) chat.press("right")
  chat.press("space")
  await chat.waitForScreen("still here")
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "wrapped.

     ⚕ test-model · 1s
    ❯ still here"
  `)
  chat.resize(1, 1)
  chat.resize(60, 12)
  await chat.waitForScreen(/^❯ still here$/mu)
  chat.press("enter")
  await chat.waitFor("Small.")
  await chat.waitForScreen(IDLE)
  expect(normalised(chat)).toMatchInlineSnapshot(`
    "· Denied: rm -r build
    ┊ 💻 $         rm -r bui…  1s [denied]

    It is done, and this sentence is
    wrapped.

    ❯ still here

    Small.

     ⚕ test-model · 45% · 1s
    ❯"
  `)
})

test("without colours no style is written", async () => {
  await using chat = await openFullChat(
    [
      callsTool("write_file", { path: "a.txt", content: "one\n" }),
      says("# Title\n\n**bold** `code`\n\n```ts\nconst a = 1\n```\n"),
    ],
    { env: { NO_COLOR: "1" } },
  )
  chat.send("go")
  await chat.waitFor("const a = 1")
  await chat.waitForScreen(IDLE)
  // eslint-disable-next-line no-control-regex -- styles are what this looks for
  expect(chat.output.replaceAll("\u001B[m", "")).not.toMatch(/\u001B\[[\d;]*m/u)
})
