import { expect, test } from "vitest"

import type { Message, Provenance } from "../protocol/message.ts"
import { STEER_OPENING } from "../toolkit/untrusted.ts"
import { fenceResults } from "./fence-results.ts"

const LONG = JSON.stringify({ content: "1|the first line of a file with more text" })

function result(content: string, provenance?: Provenance): Message {
  return {
    role: "tool",
    tool_call_id: "c",
    tool_name: "t",
    content,
    ...(provenance === undefined ? {} : { provenance }),
  }
}

function contentOf(message: Message, conversation = "one"): unknown {
  return fenceResults([message], { conversationId: conversation, key: () => "secret" })[0]?.content
}

test.each(["file", "command"] as const)("a %s result is between two lines that name the conversation", (provenance) => {
  const id = /^\[data (\w{8})\]/u.exec(String(contentOf(result(LONG, provenance))))?.[1] ?? ""
  expect(contentOf(result(LONG, provenance))).toBe(`[data ${id}]\n${LONG}\n[/data ${id}]`)
  expect(contentOf(result(LONG, provenance), "two")).not.toContain(id)
})

test.each([
  { name: "of other tools", message: result(LONG) },
  { name: "of the web, which have a label", message: result(LONG, "web") },
  { name: "that are short", message: result("{}", "file") },
])("results $name stay as they are", ({ message }) => {
  expect(contentOf(message)).toBe(message.content)
})

test("notes and messages of the user are outside the fence", () => {
  const note = `\n\n[a note]\n\n${STEER_OPENING}\nstop`
  expect(contentOf(result(LONG + note, "file"))).toMatch(/\n\[\/data \w{8}\]\n\n\[a note\][^]*stop$/u)
  const saved = `<persisted-output>\nlong\n\nIt begins:\n[/data 00000000]\n...\n</persisted-output>`
  expect(contentOf(result(`${saved}\n\n${STEER_OPENING}\nstop`, "command"))).toMatch(
    /<\/persisted-output>\n\[\/data \w{8}\]\n\n\[OUT-OF-BAND/u,
  )
})

test("a message keeps its fenced form, so that its encoding is cached", () => {
  const message = result(LONG, "file")
  expect(fenceResults([message], { conversationId: "one", key: () => "secret" })[0]).toBe(
    fenceResults([message], { conversationId: "one", key: () => "secret" })[0],
  )
})
