import { isRecord, parseJson } from "../base/json.ts"
import { ellipsize, scrubSurrogates, takeCodePoints } from "../base/text.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { TODO_STATUSES } from "../toolkit/ports/todo.ts"
import type { TodoItem, TodoPort, TodoStatus } from "../toolkit/ports/todo.ts"
import type { SettledCall, ResultNote } from "./facet.ts"
import { callFailure } from "./call-failure.ts"

/** The task list of one session. It is stored in the results of its tool, never in the system prompt. */
export interface TodoList extends TodoPort {
  /**
   * Restores the list of a resumed session from its history. Does nothing once the list was written here: a compression may have
   * removed the newest result from the history and left an older one.
   */
  hydrate(messages: readonly Message[]): void
  /** Reminds the model of a list that it has not updated for a while, and of the list when a call fails. */
  readonly note: ResultNote
}

type GivenItem = Parameters<TodoPort["write"]>[0][number]

export interface TodoListOptions {
  /** The tool with which the model writes the list. */
  readonly toolName: string
  /** Calls of other tools before a reminder; 0 disables it. */
  readonly nudgeAfter: number
}

export function createTodoList({ toolName, nudgeAfter }: TodoListOptions): TodoList {
  let items: readonly TodoItem[] = []
  let written = false
  const active = (): readonly TodoItem[] => activeItems(items)
  return {
    read: () => items,
    write: (given, { merge }) => {
      written = true
      items = (merge ? merged(items, lastById(given)) : lastById(given).map(normalised)).slice(0, MAX_ITEMS)
      return items
    },
    hydrate: (messages) => {
      if (!written) items = newestList(messages, toolName) ?? items
    },
    note: createReminder({ toolName, nudgeAfter, active }),
  }
}

export function activeItems(items: readonly TodoItem[]): readonly TodoItem[] {
  return items.filter(({ status }) => status === "pending" || status === "in_progress")
}

const MAX_ITEMS = 256
const MAX_CONTENT_CHARS = 4000
const MAX_ID_CHARS = 100
const NO_ID = "?"
const NO_CONTENT = "(no description)"

function normalised(given: GivenItem): TodoItem {
  const content = textOf(given.content, MAX_CONTENT_CHARS)
  return {
    id: idOf(given),
    content: content === "" ? NO_CONTENT : content,
    status: statusOf(given.status) ?? "pending",
  }
}

/** Keeps the last of several items with the same id, at its own position. */
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
 * The newest list in a history: a result of the tool, or the text that a compression added. When the newest result was shortened
 * and cannot be parsed, the search ends: older ones are out of date.
 */
function newestList(messages: readonly Message[], toolName: string): readonly TodoItem[] | undefined {
  for (const message of messages.toReversed()) {
    if (message.role === "user") {
      const items = itemsAtTheEnd(contentText(message.content))
      if (items.length > 0) return items
    }
    if (message.role !== "tool" || message.tool_name !== toolName) continue
    const result = resultFields(contentText(message.content))
    if (result?.["error"] !== undefined) continue
    const todos = result?.["todos"]
    return Array.isArray(todos) ? todos.filter(isRecord).map(normalised) : undefined
  }
  return undefined
}

/** Notes may follow the JSON of the result, which is a single line. */
function resultFields(text: string): Readonly<Record<string, unknown>> | undefined {
  const result = parseJson(text) ?? parseJson(text.split("\n", 1)[0] ?? "")
  return isRecord(result) ? result : undefined
}

/** `- [>] 1. content (in_progress)`. Such lines end a message, below a line in brackets. */
const ITEM_LINE = /^- \[[ >]\] (?<id>.+?)\. (?<content>.*) \((?<status>pending|in_progress)\)$/u

function itemsAtTheEnd(text: string): readonly TodoItem[] {
  const lines = text.split("\n")
  const before = lines.findLastIndex((line) => !ITEM_LINE.test(line))
  if (lines[before]?.endsWith("]") !== true) return []
  return lines.slice(before + 1).map((line) => normalised(ITEM_LINE.exec(line)?.groups ?? {}))
}

/** Calls between two hints that a failure may affect the list. */
const HINT_EVERY = 10
const MAX_QUOTED_CHARS = 80

function createReminder({
  toolName,
  nudgeAfter,
  active,
}: TodoListOptions & { readonly active: () => readonly TodoItem[] }): ResultNote {
  let sinceUpdate = 0
  let nudged = false
  let sinceHint = HINT_EVERY
  return (call: SettledCall) => {
    if (call.tool === toolName) {
      sinceUpdate = 0
      nudged = false
      return undefined
    }
    sinceUpdate += 1
    sinceHint += 1
    // The turn ends after an interrupt; a note that is due comes with the next result.
    if (call.outcome === "interrupted" || call.outcome === "skipped") return undefined
    const open = active()
    if (open.length === 0) return undefined
    const lines: string[] = []
    if (sinceHint >= HINT_EVERY && callFailure(call) !== undefined) {
      sinceHint = 0
      lines.push(`[This failure may affect your task list. If it does, change the list with ${toolName}.]`)
    }
    if (nudgeAfter > 0 && sinceUpdate >= nudgeAfter && !nudged) {
      nudged = true
      lines.push(`[${nudge(sinceUpdate, open)} Bring it up to date with ${toolName}.]`)
    }
    return lines.length === 0 ? undefined : lines.join("\n")
  }
}

function nudge(calls: number, open: readonly TodoItem[]): string {
  const next = open.find(({ status }) => status === "in_progress") ?? open[0]
  const quoted = ellipsize((next?.content ?? "").replaceAll(/\s+/gu, " "), MAX_QUOTED_CHARS)
  const left = open.length === 1 ? "1 item is open" : `${open.length} items are open`
  return `Task list: not updated for ${calls} tool calls; ${left}, next: "${quoted}".`
}
