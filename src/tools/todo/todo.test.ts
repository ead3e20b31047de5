import { expect, test } from "vitest"

import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import type { TodoPort } from "../../toolkit/ports/todo.ts"
import { todo } from "./todo.ts"

function recordingPort() {
  const writes: unknown[] = []
  const items = [
    { id: "1", content: "a", status: "completed" },
    { id: "2", content: "b", status: "in_progress" },
    { id: "3", content: "c", status: "cancelled" },
  ] as const
  const port: TodoPort = {
    read: () => items,
    write: (given, options) => {
      writes.push({ given, ...options })
      return items.slice(0, 2)
    },
  }
  return { port, writes, items }
}

test("without todos the list is returned with its counts", async () => {
  await using bench = await toolBench()
  const { port, items, writes } = recordingPort()
  expect(await bench.result(todo, {}, { ports: { todo: port } })).toEqual({
    content: { todos: items, summary: { total: 3, pending: 0, in_progress: 1, completed: 1, cancelled: 1 } },
    summary: "1 of 3 done",
  })
  expect(writes).toEqual([])
})

test("items of any type reach the list, which normalises them", async () => {
  await using bench = await toolBench()
  const { port, items, writes } = recordingPort()
  const given = [{ id: 1, content: null, status: "later", more: true }, {}]
  expect(await bench.call(todo, { todos: JSON.stringify(given), merge: "true" }, { ports: { todo: port } })).toEqual({
    todos: items.slice(0, 2),
    summary: { total: 2, pending: 0, in_progress: 1, completed: 1, cancelled: 0 },
  })
  expect(writes).toEqual([{ given: [{ id: 1, content: null, status: "later" }, {}], merge: true }])
})

test("without the port it returns an error", async () => {
  await using bench = await toolBench()
  expect(await bench.call(todo, {})).toEqual({ error: "todo is not available here" })
})

test("its digest, and a short schema", () => {
  expect(todo.runnable.digest?.({ tool: "todo", args: {}, result: "" })).toBe("[todo] updated task list")
  const { name, description, parameters } = todo
  expect(JSON.stringify({ name, description, parameters }).length).toBeLessThan(800)
})
