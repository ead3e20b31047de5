import { expect, test } from "vitest"

import { assistant, toolRound, user } from "../../../test/fixtures/agent/histories.ts"
import { isValidHistory } from "./history-validity.ts"
import { withTodoList } from "./todo-reinjection.ts"

const ITEMS = [
  { id: "1", content: "read", status: "completed" },
  { id: "2", content: "write\nit", status: "in_progress" },
  { id: "3", content: "test", status: "pending" },
  { id: "4", content: "never", status: "cancelled" },
] as const
const LIST =
  "[Your task list survived the compression of the context. Still unfinished:]\n- [>] 2. write it (in_progress)\n- [ ] 3. test (pending)"

test("after results, unfinished items are a separate message", () => {
  const messages = [user("a"), ...toolRound([{ id: "c", result: "r" }])]
  expect(withTodoList(messages, ITEMS)).toEqual([...messages, { role: "user", content: LIST, synthetic: "todo" }])
})

test("they are appended to the last message when the user wrote it", () => {
  expect(withTodoList([user("a")], ITEMS)).toEqual([user(`a\n\n${LIST}`)])
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } } as const
  expect(withTodoList([user([image])], ITEMS)).toEqual([user([image, { type: "text", text: LIST }])])
})

test("nothing is added when all is done", () => {
  const messages = [user("a"), assistant("b")]
  expect(withTodoList(messages, ITEMS.slice(0, 1))).toBe(messages)
  expect(withTodoList(messages, [])).toBe(messages)
})

test("a list of an earlier compression is replaced, not repeated", () => {
  const once = withTodoList([user("a")], ITEMS)
  expect(withTodoList(once, ITEMS)).toEqual(once)
  expect(withTodoList(once, [])).toEqual([user("a")])

  const results = [user("a"), ...toolRound([{ id: "c", result: "r" }])]
  const later = [...withTodoList(results, ITEMS), ...toolRound([{ id: "d", result: "s" }])]
  const again = withTodoList(later, ITEMS)
  expect(again.filter((message) => JSON.stringify(message).includes("survived"))).toEqual([
    { role: "user", content: LIST, synthetic: "todo" },
  ])
  expect(isValidHistory(again)).toBe(true)

  // It separates two replies, so it stays.
  const apart = [...withTodoList([user("a"), assistant("b")], ITEMS), assistant("c"), user("d")]
  expect(isValidHistory(withTodoList(apart, []))).toBe(true)
})
