import { expect, test } from "vitest"

import type { Message } from "../../protocol/message.ts"
import { withTurnLast } from "./stored-history.ts"

const user = (content: string): Message => ({ role: "user", content })
const reply = (content: string): Message => ({ role: "assistant", content })
const calls = (id: string): Message => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "t", arguments: "{}" } }],
})
const result = (id: string): Message => ({ role: "tool", content: "r", tool_call_id: id, tool_name: "t" })

test("the running turn follows what another process stored in between", () => {
  const stored = [user("a"), reply("b"), user("ours"), user("theirs"), calls("x"), calls("y"), result("x"), result("y")]
  const rows = new Map(stored.map((message, index) => [message, index + 1]))
  const turn = [user("ours"), calls("x"), result("x")]
  expect([...withTurnLast(rows, turn)]).toEqual([
    [user("a"), 1],
    [reply("b"), 2],
    [user("theirs"), 4],
    [calls("y"), 6],
    [result("y"), 8],
    [user("ours"), 3],
    [calls("x"), 5],
    [result("x"), 7],
  ])
})

test("a message that the user had to repeat is found by its last use", () => {
  const stored = [user("go on"), reply("done"), user("go on"), user("theirs")]
  const rows = new Map(stored.map((message, index) => [message, index + 1]))
  expect([...withTurnLast(rows, [user("go on")])]).toEqual([
    [user("go on"), 1],
    [reply("done"), 2],
    [user("theirs"), 4],
    [user("go on"), 3],
  ])
})
