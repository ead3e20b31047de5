import {
  approveMemoryChange,
  discardMemoryChange,
  listPendingMemoryChanges,
  readMemoryFiles,
  type MemoryContext,
  type MemoryFileEntries,
} from "../admin/memory/review-memory.ts"
import { assertNever } from "../base/assert-never.ts"
import { ellipsize } from "../base/text.ts"
import type { MemoryWrite } from "../knowledge/memory/memory-edit.ts"
import type { StagedWrite } from "../knowledge/memory/staged-writes.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/memory`: shows the memory files, and approves or discards pending changes (`memory.write_approval`). */
export const memoryCommand: SlashCommand = {
  name: "memory",
  category: "knowledge",
  help: "show the memory files, approve or discard pending changes",
  argument: "[pending | approve ID|all | reject ID|all | approval on|off]",
  run: showOrReview,
}

async function showOrReview(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { app } = context
  const [action = "show", id, ...more] = argument.split(/\s+/u).filter((word) => word !== "")
  if (more.length > 0) return reply(USAGE)
  switch (action) {
    case "show":
      return reply([...readMemoryFiles(app).flatMap(fileLines), ...pendingLines(app)].join("\n"))
    case "pending": {
      const pending = pendingLines(app)
      return reply(pending.length === 0 ? NOTHING_PENDING : pending.join("\n"))
    }
    case "approve":
      return reply(await forEachSelected(id, app, (change) => approve(change, app)))
    case "discard":
    case "reject":
      return reply(await forEachSelected(id, app, (change) => discard(change, app)))
    case "approval": {
      const { writeApproval } = await import("./write-approval.ts")
      return reply(await writeApproval("memory", id, context))
    }
    default:
      return reply(USAGE)
  }
}

const USAGE =
  "Usage: /memory, /memory pending, /memory approve ID or all, /memory reject ID or all, /memory approval on or off."
const NOTHING_PENDING = "There are no pending changes."
const MAX_TEXT_CHARS = 300

function fileLines({ target, content }: MemoryFileEntries): readonly string[] {
  const name = target === "memory" ? "MEMORY.md" : "USER.md"
  if (!content.ok) return [`${name}: ${content.error}`]
  const { entries, usage, message } = content.value
  return [`${name}  ${usage}, ${message}`, ...entries.map((entry) => `  - ${short(entry)}`)]
}

function pendingLines(context: MemoryContext): readonly string[] {
  const pending = listPendingMemoryChanges(context)
  if (pending.length === 0) return []
  return [
    "Pending changes:",
    ...pending.map(({ id, write }) => `  ${id}  ${describeWrite(write)}`),
    "Decide with /memory approve ID or all, /memory reject ID or all.",
  ]
}

function describeWrite(write: MemoryWrite): string {
  switch (write.action) {
    case "add":
      return `add to ${write.target}: ${short(write.content)}`
    case "replace":
      return `replace "${short(write.oldText)}" in ${write.target} with: ${short(write.content)}`
    case "remove":
      return `remove "${short(write.oldText)}" from ${write.target}`
    default:
      return assertNever(write)
  }
}

/** Applies a decision to the change with this id, or to all. Returns one line for each. */
async function forEachSelected(
  id: string | undefined,
  context: MemoryContext,
  decide: (change: StagedWrite) => Promise<string> | string,
): Promise<string> {
  if (id === undefined) return USAGE
  const pending = listPendingMemoryChanges(context)
  const selected = id.toLowerCase() === "all" ? pending : pending.filter((change) => change.id === id)
  if (pending.length === 0) return NOTHING_PENDING
  if (selected.length === 0) return `There is no pending change ${short(id)}. /memory pending lists them.`
  const lines: string[] = []
  for (const change of selected) lines.push(await decide(change))
  return lines.join("\n")
}

async function approve({ id, write }: StagedWrite, context: MemoryContext): Promise<string> {
  const approved = await approveMemoryChange(context, id)
  if (approved.ok) return `Done: ${describeWrite(write)}`
  return `Failed: ${describeWrite(write)}${approved.error === "" ? "" : ` (${approved.error})`}`
}

function discard({ id, write }: StagedWrite, context: MemoryContext): string {
  return `${discardMemoryChange(context, id) ? "Discarded" : "Could not discard"}: ${describeWrite(write)}`
}

function short(text: string): string {
  return ellipsize(text.replaceAll(/[\s\p{Cc}]+/gu, " ").trim(), MAX_TEXT_CHARS)
}
