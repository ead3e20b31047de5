import { TODO_SYMBOLS } from "../../commands/todo.ts"
import { counted } from "../../base/counted.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import type { TodoItem, TodoStatus } from "../../toolkit/ports/todo.ts"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, rowOf, span } from "./spans.ts"
import type { Paint } from "./spans.ts"

/** The task list of the model. Of a long list the part around the current task is shown. */
export function todoRows(
  items: readonly TodoItem[],
  { theme, columns, maxItems = 8 }: RowOptions & { readonly maxItems?: number },
): readonly Row[] {
  if (items.length === 0) return []
  const done = items.filter(({ status }) => status === "completed").length
  const current = items.findIndex(({ status }) => status === "in_progress" || status === "pending")
  const first = Math.max(0, Math.min((current === -1 ? 0 : current) - 1, items.length - maxItems))
  const shown = items.slice(first, first + maxItems)
  const after = items.length - first - shown.length
  const dim: Paint = (text) => theme.style("dim", text)
  const title = `📋 ${done}/${items.length} done${first > 0 ? `, ${counted(first, "task")} above` : ""}`
  return [
    rowOf(clipSpans([span(title, (text) => theme.paint("ui_label", text))], columns)),
    ...shown.map(({ content, status }) =>
      rowOf(clipSpans([span(`  ${TODO_SYMBOLS[status]} ${oneLine(content)}`, paintOf(status, theme))], columns)),
    ),
    ...(after > 0 ? [rowOf(clipSpans([span(`  … ${counted(after, "more task")}`, dim)], columns))] : []),
  ]
}

function paintOf(status: TodoStatus, theme: Theme): Paint | undefined {
  switch (status) {
    case "in_progress":
      return (text) => theme.style("bold", text)
    case "completed":
      return (text) => theme.style("dim", text)
    case "cancelled":
      return (text) => theme.style("strikethrough", theme.style("dim", text))
    case "pending":
      return undefined
    default:
      return status satisfies never
  }
}
