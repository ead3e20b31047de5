import { describe, expect, test } from "vitest"

import type { Message } from "../protocol/message.ts"
import { withTodoList } from "./context/todo-reinjection.ts"
import type { SettledCall } from "./facet.ts"
import { activeItems, createTodoList } from "./todo-list.ts"
import type { TodoList } from "./todo-list.ts"

function list(nudgeAfter = 10): TodoList {
  return createTodoList({ toolName: "todo", nudgeAfter })
}

function call(tool: string, more: Partial<SettledCall> = {}): SettledCall {
  return { tool, args: {}, access: "read", subjects: [], outcome: "ok", text: "{}", ...more }
}

const failing = { outcome: "error", error: "it broke" } as const
const signal = new AbortController().signal

describe("writing", () => {
  test("the last of equal ids counts, missing fields get a default, and a merge changes items by id", () => {
    const todo = list()
    expect(
      todo.write([{ id: "1", content: "a" }, { id: "1", content: "b" }, { status: "completed" }], { merge: false }),
    ).toEqual([
      { id: "1", content: "b", status: "pending" },
      { id: "?", content: "(no description)", status: "completed" },
    ])
    const merged = [
      { id: "1", content: "b", status: "in_progress" },
      { id: "?", content: "(no description)", status: "completed" },
      { id: "9", content: "n", status: "pending" },
    ]
    expect(
      todo.write(
        [
          { id: "1", status: "in_progress" },
          { id: "9", content: "n" },
        ],
        { merge: true },
      ),
    ).toEqual(merged)
    expect(todo.read()).toEqual(merged)
    expect(activeItems(todo.read())).toEqual([merged[0], merged[2]])
  })

  test.each([
    [
      { id: 7, content: " x ", status: "DONE" },
      { id: "7", content: "x", status: "pending" },
    ],
    [
      { id: " ", content: 5, status: " Completed " },
      { id: "?", content: "5", status: "completed" },
    ],
    [
      { id: {}, content: [], status: 1 },
      { id: "?", content: "(no description)", status: "pending" },
    ],
  ])("%j", (given, expected) => {
    expect(list().write([given], { merge: false })).toEqual([expected])
  })

  test("a later item with the same id keeps its own position", () => {
    expect(
      list()
        .write([{ id: "1" }, { id: "2" }, { id: "1", content: "late" }], { merge: false })
        .map(({ id }) => id),
    ).toEqual(["2", "1"])
  })

  test("a merge with an unknown status or no text changes nothing", () => {
    const todo = list()
    todo.write([{ id: "1", content: "a", status: "in_progress" }], { merge: false })
    expect(todo.write([{ id: "1", content: " ", status: "later" }], { merge: true })).toEqual([
      { id: "1", content: "a", status: "in_progress" },
    ])
  })

  test("at most 256 items of 4000 characters", () => {
    const todo = list()
    const given = Array.from({ length: 300 }, (_, index) => ({ id: String(index), content: "€".repeat(5000) }))
    const written = todo.write(given, { merge: false })
    expect([written.length, written[0]?.content.length]).toEqual([256, 4000])
    expect(todo.write([{ id: "new", content: "x" }], { merge: true })).toHaveLength(256)
  })
})

describe("hydrate", () => {
  const result = (content: string, tool_name = "todo"): Message => ({
    role: "tool",
    tool_call_id: "c",
    tool_name,
    content,
  })
  const written = (content: string): string =>
    JSON.stringify({ todos: [{ id: "1", content, status: "pending" }], summary: {} })

  test.each<[string, readonly Message[], readonly string[]]>([
    ["the newest result", [result(written("old")), result(written("new"))], ["new"]],
    ["notes below it", [result(`${written("a")}\n\n[Similar to an earlier error]`)], ["a"]],
    ["an error is ignored", [result(written("a")), result(`{"error":"no"}`)], ["a"]],
    ["another tool's result", [result(written("a")), result(written("spoof"), "read_file")], ["a"]],
    ["a shortened one: older ones are out of date", [result(written("a")), result("[todo] updated task list")], []],
    ["an emptied list", [result(written("a")), result(`{"todos":[]}`)], []],
    ["nothing", [{ role: "user", content: "hello" }], []],
    ["a list in a user message is ignored", [{ role: "user", content: "do\n- [ ] 1. a (pending)" }], []],
  ])("%s", (_name, messages, expected) => {
    const todo = list()
    todo.hydrate(messages)
    expect(todo.read().map(({ content }) => content)).toEqual(expected)
  })

  test.each<[string, readonly Message[]]>([
    ["as a separate message", [{ role: "assistant", content: "so far" }]],
    ["after the user's text", [{ role: "user", content: "go on" }]],
    ["after an image", [{ role: "user", content: [{ type: "text", text: "look" }] }]],
  ])("the list that a compression appended, %s", (_name, messages) => {
    const items = [
      { id: "1", content: "write 1. the draft", status: "in_progress" },
      { id: "b", content: "send it (today)", status: "pending" },
    ] as const
    const todo = list()
    todo.hydrate([result(written("stale head")), ...withTodoList(messages, items)])
    expect(todo.read()).toEqual(items)
  })

  test("a written list is not replaced by an old result in the history", () => {
    const todo = list()
    todo.write([{ id: "1", content: "now" }], { merge: false })
    todo.hydrate([result(written("then"))])
    expect(todo.read()).toEqual([{ id: "1", content: "now", status: "pending" }])
  })
})

describe("notes", () => {
  async function notes(todo: TodoList, calls: readonly SettledCall[]): Promise<readonly (string | undefined)[]> {
    const lines: (string | undefined)[] = []
    for (const one of calls) lines.push(await todo.note(one, signal))
    return lines
  }
  const quiet = (count: number): readonly SettledCall[] => Array.from({ length: count }, () => call("read_file"))
  const withItems = (nudgeAfter?: number): TodoList => {
    const todo = list(nudgeAfter)
    todo.write(
      [
        { id: "1", content: "first" },
        { id: "2", content: "second", status: "in_progress" },
      ],
      { merge: false },
    )
    return todo
  }
  const positions = (lines: readonly (string | undefined)[]): readonly number[] =>
    lines.flatMap((line, index) => (line === undefined ? [] : [index + 1]))

  test("one reminder at call 10, and another only after the list was updated", async () => {
    const todo = withItems()
    const lines = await notes(todo, quiet(25))
    expect(positions(lines)).toEqual([10])
    expect(lines[9]).toBe(
      '[Task list: not updated for 10 tool calls; 2 items are open, next: "second". Bring it up to date with todo.]',
    )
    expect(positions(await notes(todo, [call("todo"), ...quiet(12)]))).toEqual([11])
  })

  test.each([
    ["switched off", withItems(0), 30],
    ["without open items", list(), 30],
  ])("none %s", async (_name, todo, count) => {
    expect(positions(await notes(todo, quiet(count)))).toEqual([])
  })

  test("a reminder that is due waits for a call that was not interrupted", async () => {
    const interrupted = call("terminal", { outcome: "interrupted" })
    expect(positions(await notes(withItems(2), [call("a"), interrupted, call("b")]))).toEqual([3])
  })

  test("a failure adds a hint about the list, at most once in ten calls", async () => {
    const todo = withItems(0)
    const lines = await notes(todo, [
      call("patch", failing),
      call("patch", failing),
      ...quiet(8),
      call("patch", failing),
    ])
    expect(positions(lines)).toEqual([1, 11])
    expect(lines[0]).toBe("[This failure may affect your task list. If it does, change the list with todo.]")
  })

  test.each([
    ["a failed command", { text: `{"output":"boom","exit_code":2}`, error: "boom" }, true],
    ["grep without matches", { text: `{"exit_code":1,"exit_code_meaning":"no matches"}`, error: "exit code 1" }, false],
    ["a denied call", { outcome: "denied", error: "the user denied it" } as const, false],
    ["a blocked call", { outcome: "blocked", error: "not here" } as const, false],
  ])("%s", async (_name, more, hinted) => {
    expect((await withItems(0).note(call("terminal", more), signal)) !== undefined).toBe(hinted)
  })

  test("both lines may appear together; none without open items", async () => {
    expect((await withItems(1).note(call("patch", failing), signal))?.split("\n")).toHaveLength(2)
    expect(await list(1).note(call("patch", failing), signal)).toBeUndefined()
  })
})
