import { expect, test } from "vitest"

import type { TodoItem } from "../toolkit/ports/todo.ts"
import type { SlashContext } from "./slash-command.ts"
import { todoCommand } from "./todo.ts"

async function runTodo(items: readonly TodoItem[]): Promise<string> {
  const outcome = await todoCommand.run("", { session: { todo: () => items } } as unknown as SlashContext)
  return outcome.kind === "reply" ? outcome.text : outcome.kind
}

test("shows the items and how many are done", async () => {
  expect(
    await runTodo([
      { id: "1", content: "one", status: "completed" },
      { id: "2", content: "two\nlines", status: "in_progress" },
      { id: "3", content: "three", status: "pending" },
      { id: "4", content: "four", status: "cancelled" },
    ]),
  ).toBe(["[x] 1. one", "[>] 2. two lines", "[ ] 3. three", "[-] 4. four", "1 of 4 done."].join("\n"))
})

test("reports an empty list", async () => {
  expect(await runTodo([])).toBe("This session has no task list.")
})
