import type { TodoItem, TodoStatus } from "../toolkit/ports/todo.ts"
import { reply, type SlashCommand } from "./slash-command.ts"

/** `/todo`: the task list that the model keeps for this session. */
export const todoCommand: SlashCommand = {
  name: "todo",
  category: "information",
  help: "show the task list of this session",
  run: (_argument, { session }) => Promise.resolve(reply(listText(session.todo()))),
}

export const TODO_SYMBOLS: Readonly<Record<TodoStatus, string>> = {
  pending: "[ ]",
  in_progress: "[>]",
  completed: "[x]",
  cancelled: "[-]",
}

function listText(items: readonly TodoItem[]): string {
  if (items.length === 0) return "This session has no task list."
  const done = items.filter(({ status }) => status === "completed").length
  return [
    ...items.map(({ id, content, status }) => `${TODO_SYMBOLS[status]} ${id}. ${content.replaceAll(/\s+/gu, " ")}`),
    `${done} of ${items.length} done.`,
  ].join("\n")
}
