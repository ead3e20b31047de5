import { isRecord, parseJson } from "../base/json.ts"
import { ellipsize, scrubSurrogates, takeCodePoints } from "../base/text.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { TODO_STATUSES } from "../toolkit/ports/todo.ts"
import type { TodoItem, TodoPort, TodoStatus } from "../toolkit/ports/todo.ts"
import type { NotedCall, ResultNoteSource } from "./dispatch/result-note.ts"
import { failureOf } from "./failed-call.ts"

/** The task list of one session. It lives in results of the `todo` tool, never in the system prompt. */
export interface TodoList extends TodoPort {
  /**
   * Takes the list of a continued session from its history. Once the list was written it is known better here than there, since
   * a compression may leave an old result in the history and take a newer one out.
   */
  hydrate(messages: readonly Message[]): void
  /** What is still to be done. */
  active(): readonly TodoItem[]
  /** Reminds of a list that was forgotten, and of the plan when a call fails. */
  readonly note: ResultNoteSource
}

type GivenItem = Parameters<TodoPort["write"]>[0][number]

/** `nudgeAfter`: calls of other tools before a reminder; 0 for never. */
export function createTodoList({ nudgeAfter }: { readonly nudgeAfter: number }): TodoList {
  let items: readonly TodoItem[] = []
  let written = false
  const active = (): readonly TodoItem[] => items.filter(isActive)
  return {
    read: () => items,
    write: (given, { merge }) => {
      written = true
      items = (merge ? merged(items, lastById(given)) : lastById(given).map(normalised)).slice(0, MAX_ITEMS)
      return items
    },
    hydrate: (messages) => {
      if (!written) items = newestList(messages) ?? items
    },
    active,
    note: createReminder({ nudgeAfter, active }),
  }
}

const MAX_ITEMS = 256
const MAX_CONTENT_CHARS = 4000
const MAX_ID_CHARS = 100
const NO_ID = "?"
const NO_CONTENT = "(no description)"

function isActive({ status }: TodoItem): boolean {
  return status === "pending" || status === "in_progress"
}

function normalised(given: GivenItem): TodoItem {
  const content = textOf(given.content, MAX_CONTENT_CHARS)
  return {
    id: idOf(given),
    content: content === "" ? NO_CONTENT : content,
    status: statusOf(given.status) ?? "pending",
  }
}

/** Of items with the same id the last one counts, where it stands. */
function lastById(given: readonly GivenItem[]): readonly GivenItem[] {
  const last = new Map(given.map((item, index) => [idOf(item), index]))
  return given.filter((item, index) => last.get(idOf(item)) === index)
}

function merged(items: readonly TodoItem[], given: readonly GivenItem[]): readonly TodoItem[] {
  const changes = new Map(given.map((change) => [idOf(change), change]))
  const changed = items.map((item) => {
    const change = changes.get(item.id)
    changes.delete(item.id)
    return change === undefined ? item : changedItem(item, change)
  })
  return [...changed, ...[...changes.values()].map(normalised)]
}

function changedItem(item: TodoItem, change: GivenItem): TodoItem {
  const content = textOf(change.content, MAX_CONTENT_CHARS)
  return {
    id: item.id,
    content: content === "" ? item.content : content,
    status: statusOf(change.status) ?? item.status,
  }
}

function idOf(given: GivenItem): string {
  const id = textOf(given.id, MAX_ID_CHARS)
  return id === "" ? NO_ID : id
}

function textOf(value: unknown, max: number): string {
  if (typeof value !== "string" && typeof value !== "number") return ""
  return takeCodePoints(scrubSurrogates(String(value)).trim(), max)
}

function statusOf(value: unknown): TodoStatus | undefined {
  const wanted = typeof value === "string" ? value.trim().toLowerCase() : ""
  return TODO_STATUSES.find((status) => status === wanted)
}

/**
 * The list as the history last showed it: in a result of the tool, or in the text that a compression left behind. Only the tool's
 * own results count: a file that happens to hold "todos" is no list. A newest result that is not readable any more, because it
 * was shortened, ends the search: older ones are out of date.
 */
function newestList(messages: readonly Message[]): readonly TodoItem[] | undefined {
  for (const message of messages.toReversed()) {
    if (message.role === "user") {
      const left = itemsAtTheEnd(contentText(message.content))
      if (left.length > 0) return left
    }
    if (message.role !== "tool" || message.tool_name !== "todo") continue
    const result = resultFields(contentText(message.content))
    if (result?.["error"] !== undefined) continue
    const todos = result?.["todos"]
    return Array.isArray(todos) ? todos.filter(isRecord).map(normalised) : undefined
  }
  return undefined
}

/** Lines that others added to the result follow its JSON, which has no line breaks of its own. */
function resultFields(text: string): Readonly<Record<string, unknown>> | undefined {
  const result = parseJson(text) ?? parseJson(text.split("\n", 1)[0] ?? "")
  return isRecord(result) ? result : undefined
}

/** `- [>] 1. content (in_progress)`, below a line in brackets, as the end of a message. */
const ITEM_LINE = /^- \[[ >]\] (?<id>.+?)\. (?<content>.*) \((?<status>pending|in_progress)\)$/u

function itemsAtTheEnd(text: string): readonly TodoItem[] {
  const lines = text.split("\n")
  const before = lines.findLastIndex((line) => !ITEM_LINE.test(line))
  if (lines[before]?.endsWith("]") !== true) return []
  return lines.slice(before + 1).map((line) => normalised(ITEM_LINE.exec(line)?.groups ?? {}))
}

/** Calls between two hints that a failure may concern the plan. */
const HINT_EVERY = 10
const MAX_QUOTED_CHARS = 80

function createReminder({
  nudgeAfter,
  active,
}: {
  readonly nudgeAfter: number
  readonly active: () => readonly TodoItem[]
}): ResultNoteSource {
  let sinceTodo = 0
  let nudged = false
  let sinceHint = HINT_EVERY
  return (call: NotedCall) => {
    if (call.tool === "todo") {
      sinceTodo = 0
      nudged = false
      return undefined
    }
    sinceTodo += 1
    sinceHint += 1
    // Nobody reads on after an interrupt; what is due comes with the next result.
    if (call.outcome === "interrupted" || call.outcome === "skipped") return undefined
    const open = active()
    if (open.length === 0) return undefined
    const lines: string[] = []
    if (sinceHint >= HINT_EVERY && failureOf(call) !== undefined) {
      sinceHint = 0
      lines.push("[This failure may affect your task list. If it does, change the list with todo.]")
    }
    if (nudgeAfter > 0 && sinceTodo >= nudgeAfter && !nudged) {
      nudged = true
      lines.push(nudge(sinceTodo, open))
    }
    return lines.length === 0 ? undefined : lines.join("\n")
  }
}

function nudge(calls: number, open: readonly TodoItem[]): string {
  const next = open.find(({ status }) => status === "in_progress") ?? open[0]
  const quoted = ellipsize((next?.content ?? "").replaceAll(/\s+/gu, " "), MAX_QUOTED_CHARS)
  const left = open.length === 1 ? "1 item is open" : `${open.length} items are open`
  return `[Task list: not updated for ${calls} tool calls; ${left}, next: "${quoted}". Bring it up to date with todo.]`
}
