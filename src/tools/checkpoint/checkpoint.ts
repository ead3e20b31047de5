import { z } from "zod"

import { assertNever } from "../../base/assert-never.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestValue } from "../../toolkit/digest-line.ts"
import type { CheckpointPort } from "../../toolkit/ports/checkpoints.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"
import { counted } from "../../base/counted.ts"

const MAX_PATHS = 50
const MAX_DIFF_CHARS = 30_000

const input = z.object({
  action: z.enum(["save", "restore", "list", "diff", "delete"]),
  name: z.string().optional().describe("letters, digits, . _ -"),
  include_conversation: z.boolean().optional().describe("save, restore: the messages too"),
})
type Input = z.output<typeof input>

export const checkpoint = defineTool({
  name: "checkpoint",
  toolset: "checkpoint",
  description:
    "Save a named state of the project's files before a risky experiment, and return to it. restore resets all files to it " +
    "(except build output, .git and .env); it first saves the current state as pre-restore.",
  input,
  declarationRank: 12,
  localOnly: true,
  access: ({ action }) => (action === "save" || action === "restore" || action === "delete" ? "write" : "read"),
  confirm: ({ action }) =>
    action === "restore" ? "it restores all files of the project to an earlier state" : undefined,
  subject: ({ action }) => ({ kind: "name", name: `checkpoint ${action}` }),
  label: { emoji: "💾", verb: "snapshot" },
  preview: ({ action, name }) => [action, name ?? ""].join(" ").trim(),
  digest: ({ args }) => `[checkpoint] ${[digestValue(args["action"]), digestValue(args["name"])].join(" ").trim()}`,
  run: async (args, { ports, signal }) => {
    const port = await ports.checkpoints?.()
    if (port === undefined) return failure("checkpoints are not available here")
    if (args.action === "list") return list(port)
    const name = args.name?.trim() ?? ""
    if (name === "") return failure("name is missing")
    return await act({ ...args, name }, port, signal)
  },
})

async function act(
  { action, name, include_conversation: includeConversation = false }: Input & { readonly name: string },
  port: CheckpointPort,
  signal: AbortSignal,
): Promise<ToolResult> {
  switch (action) {
    case "save": {
      const saved = await port.save(name, { includeConversation, signal })
      if (!saved.ok) return failure(saved.error)
      const { commit, withConversation } = saved.value
      return {
        content: { success: true, name, commit, conversation_saved: withConversation },
        summary: `saved ${name}`,
      }
    }
    case "restore":
      return await restore(name, { includeConversation, signal }, port)
    case "diff": {
      const found = await port.diff(name, signal)
      if (!found.ok) return failure(found.error)
      const { text, truncated, files } = found.value
      const isCut = truncated || text.length > MAX_DIFF_CHARS
      return {
        content: {
          success: true,
          name,
          files_changed: files.slice(0, MAX_PATHS),
          file_count: files.length,
          diff: text.slice(0, MAX_DIFF_CHARS),
          ...(isCut ? { truncated: `the diff is longer; read single files to see the rest` } : {}),
        },
        summary: `${counted(files.length, "file")} ${files.length === 1 ? "differs" : "differ"}`,
      }
    }
    case "delete": {
      const deleted = await port.delete(name, signal)
      return deleted.ok ? { content: { success: true, name }, summary: `deleted ${name}` } : failure(deleted.error)
    }
    case "list":
      return list(port)
    default:
      return assertNever(action)
  }
}

async function restore(
  name: string,
  options: { readonly includeConversation: boolean; readonly signal: AbortSignal },
  port: CheckpointPort,
): Promise<ToolResult> {
  const restored = await port.restore(name, options)
  if (!restored.ok) return failure(restored.error)
  const { commit, written, removed, notRestored, kept, conversationRestored } = restored.value
  const changed = [...written, ...removed]
  return {
    content: {
      success: true,
      name,
      commit,
      files_changed: changed.slice(0, MAX_PATHS),
      file_count: changed.length,
      conversation_restored: conversationRestored,
      ...(notRestored.length === 0 ? {} : { not_restored: notRestored.slice(0, MAX_PATHS) }),
      ...(kept.length === 0 ? {} : { left_as_they_are: kept.slice(0, MAX_PATHS) }),
      undo: "restore pre-restore",
    },
    summary: `${counted(changed.length, "file")} restored${notRestored.length === 0 ? "" : `, ${notRestored.length} not`}`,
    filesChanged: changed.slice(0, MAX_PATHS),
  }
}

function list(port: CheckpointPort): ToolResult {
  const saved = port.list().slice(0, MAX_PATHS)
  return {
    content: {
      checkpoints: saved.map(({ name, createdAt, commit, withConversation }) => ({
        name,
        created_at: new Date(createdAt * 1000).toISOString(),
        commit: commit.slice(0, 12),
        conversation: withConversation,
      })),
      count: saved.length,
    },
    summary: `${saved.length} saved`,
  }
}
