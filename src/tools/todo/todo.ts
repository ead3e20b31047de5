import { z } from "zod"

import { defineTool } from "../../toolkit/define-tool.ts"
import { TODO_STATUSES } from "../../toolkit/ports/todo.ts"
import type { TodoItem } from "../../toolkit/ports/todo.ts"
import { failure } from "../failure.ts"

/** Accepts any value, which the list normalises; the schema for the model says string. */
const text = z.unknown().meta({ type: "string" })

export const todo = defineTool({
  name: "todo",
  toolset: "todo",
  description:
    "Your task list for this session, for work of 3 or more steps or several tasks. It works silently. Without todos it returns the list. " +
    "Order is priority. Keep one item in_progress; mark items completed at once. If one fails, cancel it and add a revised one. " +
    "Do not add testing unless asked.",
  input: z.object({
    todos: z
      .array(
        z
          .object({ id: text, content: text, status: z.unknown().meta({ type: "string", enum: [...TODO_STATUSES] }) })
          .partial(),
      )
      .optional(),
    merge: z.boolean().default(false).describe("Change items by id instead of replacing the list"),
  }),
  declarationRank: 7,
  access: "agent",
  subject: () => ({ kind: "name", name: "todo" }),
  label: { emoji: "📋", verb: "plan", showsResult: true },
  preview: ({ todos, merge }) => (todos === undefined ? "read" : `${merge ? "update" : "write"} ${todos.length}`),
  digest: () => "[todo] updated task list",
  housekeeping: true,
  role: "task-list",
  run: (args, context) => {
    const port = context.ports.todo
    if (port === undefined) return Promise.resolve(failure("todo is not available here"))
    const items = args.todos === undefined ? port.read() : port.write(args.todos, { merge: args.merge })
    const summary = countsOf(items)
    return Promise.resolve({
      content: { todos: items, summary },
      summary: `${summary.completed} of ${summary.total} done`,
    })
  },
})

function countsOf(items: readonly TodoItem[]) {
  const count = (wanted: TodoItem["status"]): number => items.filter(({ status }) => status === wanted).length
  return {
    total: items.length,
    pending: count("pending"),
    in_progress: count("in_progress"),
    completed: count("completed"),
    cancelled: count("cancelled"),
  }
}
