import { z } from "zod"

import { assertNever } from "../../base/assert-never.ts"
import { ellipsize } from "../../base/text.ts"
import type { MemoryWrite } from "../../knowledge/memory/memory-edit.ts"
import type { AskApproval, MemoryResult } from "../../knowledge/memory/memory-store.ts"
import type { SearchableText } from "../../knowledge/memory/memory-search.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import type { AskPort } from "../../toolkit/ports/ask.ts"
import type { MemoryPort } from "../../toolkit/ports/memory.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"

export const memory = defineTool({
  name: "memory",
  toolset: "memory",
  inChildren: false,
  description:
    "Durable facts across sessions, in two small files. Save corrections, preferences and facts unasked, as short statements: " +
    "about the user in user, about machine and projects in memory. Not task progress, logs or trivia. When full, merge or " +
    "remove entries. Changes show in the next session's prompt.",
  input: z.object({
    action: z.enum(["add", "append", "replace", "remove", "read", "search"]),
    target: z.enum(["memory", "user"]).default("memory"),
    content: z.string().optional().describe("Text for add, replace"),
    old_text: z.string().optional().describe("Unique part of the entry to replace or remove"),
    query: z.string().optional().describe("Words for search"),
  }),
  declarationRank: 8,
  access: ({ action }) => (isReading(action) ? "read" : "write"),
  subject: ({ target }) => ({ kind: "name", name: target }),
  label: { emoji: "🧠", verb: "memory" },
  preview: ({ action, target, content, old_text, query }) => {
    const detail = action === "search" ? query : (content ?? old_text)
    return detail === undefined ? `${action} ${target}` : `${action} ${target}: ${detail}`
  },
  digest: ({ args }) => `[memory] ${word(args["action"], "?")} on ${word(args["target"], "memory")}`,
  housekeeping: true,
  role: "memory",
  run: async ({ action, target, content = "", old_text: oldText = "", query = "" }, { ports }) => {
    const port = ports.memory
    if (port === undefined) return failure("memory is not available here")
    const approval = ports.ask === undefined ? undefined : askUser(ports.ask)
    switch (action) {
      case "add":
      case "append":
        return answered(await port.add(target, content, approval))
      case "replace":
        return answered(await port.replace(target, { oldText, content }, approval))
      case "remove":
        return answered(await port.remove(target, oldText, approval))
      case "read":
        return answered(port.read(target))
      case "search":
        return await search(query, port)
      default:
        return assertNever(action)
    }
  },
})

function isReading(action: string): boolean {
  return action === "read" || action === "search"
}

/** Arguments of old calls are not validated. */
function word(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? ellipsize(value, 20) : otherwise
}

function answered(answer: MemoryResult): ToolResult {
  switch (answer.kind) {
    case "done": {
      const { target, entries, usage, message } = answer
      return {
        content: {
          success: true,
          target,
          entries,
          usage,
          entry_count: entries.length,
          message,
        },
        summary: message,
      }
    }
    case "staged": {
      const message = `staged as ${answer.id}: the user decides later; continue without it`
      return { content: { success: true, staged: answer.id, target: answer.target, message }, summary: "staged" }
    }
    case "refused": {
      const { error, isFull, usage, entries, matches, backup } = answer
      return {
        content: {
          success: false,
          error,
          ...(usage === undefined ? {} : { usage }),
          ...(entries === undefined ? {} : { current_entries: entries }),
          ...(matches === undefined ? {} : { matches }),
          ...(backup === undefined ? {} : { backup }),
        },
        summary: error,
        ...(isFull === true && { failureWord: "full" }),
      }
    }
    default:
      return assertNever(answer)
  }
}

async function search(query: string, port: MemoryPort): Promise<ToolResult> {
  if (query.trim() === "") return failure("query is missing: pass a few words to look for", { success: false })
  const found = await port.search(query)
  return {
    content: { success: true, query, results: found.map(foundFields), count: found.length },
    summary: `${found.length} found`,
  }
}

function foundFields({ source, text, id }: SearchableText): object {
  return { target: source, text, ...(id === undefined ? {} : { id }) }
}

const YES = "Yes"
const MAX_QUESTION_CHARS = 600

/** Asks the user about one write (`memory.write_approval`); without an answer the write is staged. */
function askUser(port: AskPort): AskApproval {
  return async (write) => {
    const question = ellipsize(questionFor(write), MAX_QUESTION_CHARS)
    const answer = await port.ask({
      kind: "question",
      asker: "hermes",
      question,
      choices: [YES, "No"],
      allowFreetext: false,
    })
    if (answer.kind !== "answer") return answer.kind === "interrupted" ? "no" : "unattended"
    return answer.text.trim().toLowerCase().startsWith("y") ? "yes" : "no"
  }
}

function questionFor(write: MemoryWrite): string {
  const file = write.target === "user" ? "what Hermes knows about you" : "Hermes's notes"
  switch (write.action) {
    case "add":
      return `Add to ${file}: "${write.content}"?`
    case "replace":
      return `Change the entry with "${write.oldText}" in ${file} to "${write.content}"?`
    case "remove":
      return `Remove the entry with "${write.oldText}" from ${file}?`
    default:
      return assertNever(write)
  }
}
