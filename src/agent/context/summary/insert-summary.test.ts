import { describe, expect, test } from "vitest"

import { assistant, toolRound, user } from "../../../../test/fixtures/agent/histories.ts"
import type { Message } from "../../../protocol/message.ts"
import { isValidHistory } from "../history-validity.ts"
import { insertSummary } from "./insert-summary.ts"

const group = toolRound([{ id: "c", result: "r" }])
const HEADS: Readonly<Record<string, readonly Message[]>> = {
  user: [user("u")],
  assistant: [user("u"), assistant("a")],
  tool: [user("u"), ...group],
  "system only": [],
}
const TAILS: Readonly<Record<string, readonly Message[]>> = {
  user: [user("next"), assistant("b")],
  assistant: [assistant("next"), user("v")],
}

describe("the role of the summary", () => {
  test.each([
    ["user", "user", "assistant"],
    ["user", "assistant", "merged"],
    ["assistant", "user", "merged"],
    ["assistant", "assistant", "user"],
    ["tool", "assistant", "user"],
    ["tool", "user", "assistant"],
    ["system only", "user", "assistant"],
    ["system only", "assistant", "user"],
  ] as const)("%s / %s", (before, after, role) => {
    const [head, tail] = [HEADS[before]!, TAILS[after]!]
    const placed = insertSummary(head, "S", tail)
    const carrier: Message =
      role === "merged"
        ? { ...(tail[0] as Message & { role: "user" }), content: "S\n\nnext", compressed_summary: true }
        : role === "user"
          ? { role, content: "S", compressed_summary: true, synthetic: "summary" }
          : { role, content: "S", compressed_summary: true }
    expect(placed.messages).toEqual([...head, carrier, ...(role === "merged" ? tail.slice(1) : tail)])
    expect(placed.merged?.from).toBe(role === "merged" ? tail[0] : undefined)
    expect(isValidHistory(placed.messages)).toBe(true)
  })
})

test("a message of parts gets the summary as its first part; one without text gets it as its text", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } } as const
  expect(insertSummary(HEADS["assistant"]!, "S", [user([image])]).messages.at(-1)).toEqual(
    user([{ type: "text", text: "S" }, image], { compressed_summary: true }),
  )
  const placed = insertSummary([user("u")], "S", group)
  expect(placed.messages[1]).toEqual({ ...group[0], content: "S", compressed_summary: true })
})
