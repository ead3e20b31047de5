import { z } from "zod"

import { assertNever } from "../../base/assert-never.ts"
import type { Learning } from "../../knowledge/learnings/learning.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import type { LearningsPort } from "../../toolkit/ports/learnings.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"

const MAX_SHOWN = 50

const input = z.object({
  action: z.enum(["save", "search", "list", "remove"]),
  pattern: z.string().optional().describe("save: the error"),
  fix: z.string().optional().describe("save: cause and what helped"),
  error_type: z.string().optional(),
  context: z.string().optional(),
  tags: z.array(z.string()).optional(),
  tool: z.string().optional(),
  query: z.string().optional(),
  limit: z.int().optional(),
  id: z.string().optional(),
})
type Input = z.output<typeof input>

export const learnings = defineTool({
  name: "learnings",
  toolset: "learnings",
  description:
    "Error and fix pairs, kept across sessions. Save the cause and fix of a failure that was not obvious; search before you " +
    "repeat an approach that failed. Matching ones are shown to you on errors as learning:ID.",
  input,
  declarationRank: 11,
  access: ({ action }) => (action === "save" || action === "remove" ? "write" : "read"),
  subject: () => ({ kind: "name", name: "learnings" }),
  label: { emoji: "🎓", verb: "learn" },
  preview: (args) => [args.action, args.pattern ?? args.query ?? args.id ?? ""].join(" ").trim(),
  role: "learnings",
  digest: ({ args }) => `[learnings] ${typeof args["action"] === "string" ? args["action"] : "used"}`,
  run: async (args, context) => {
    const port = await context.ports.learnings?.()
    if (port === undefined) return failure("learnings are not available here")
    switch (args.action) {
      case "save":
        return await save(args, port)
      case "search":
        return search(args, port)
      case "list":
        return list(args, port)
      case "remove":
        return await remove(args, port)
      default:
        return assertNever(args.action)
    }
  },
})

async function save(args: Input, port: LearningsPort): Promise<ToolResult> {
  const { pattern = "", fix = "", error_type: errorType, context, tags, tool } = args
  const saved = await port.save({ pattern, fix, errorType, context, tags, tool })
  if (!saved.ok) return failure(saved.error)
  const { learning, merged } = saved.value
  return {
    content: { success: true, id: learning.id, merged, times_used: learning.timesUsed },
    summary: merged ? `merged into ${learning.id}` : `saved as ${learning.id}`,
  }
}

function search(args: Input, port: LearningsPort): ToolResult {
  const query = args.query?.trim() ?? ""
  if (query === "") return failure("query is missing: pass the error or some of its words")
  const found = port.search(query, { tags: args.tags, limit: bounded(args.limit, 5) })
  if (!found.ok) return failure(found.error)
  const results = found.value.map(({ learning, score }) => ({ ...shown(learning), score: Number(score.toFixed(3)) }))
  return { content: { results, count: results.length }, summary: `${results.length} found` }
}

function list(args: Input, port: LearningsPort): ToolResult {
  const listed = port.list()
  if (!listed.ok) return failure(listed.error)
  const results = listed.value.slice(0, bounded(args.limit, 20)).map(shown)
  return {
    content: { results, count: results.length, total: listed.value.length },
    summary: `${results.length} of ${listed.value.length}`,
  }
}

async function remove(args: Input, port: LearningsPort): Promise<ToolResult> {
  const id = args.id?.trim().replace(/^learning:/u, "") ?? ""
  if (id === "") return failure("id is missing: search and list show the ids")
  const removed = await port.remove(id)
  if (!removed.ok) return failure(removed.error)
  return { content: { success: true, removed: shown(removed.value) }, summary: `removed ${id}` }
}

function bounded(limit: number | undefined, fallback: number): number {
  return Math.min(MAX_SHOWN, Math.max(1, limit ?? fallback))
}

function shown(learning: Learning): Readonly<Record<string, unknown>> {
  return {
    id: learning.id,
    pattern: learning.pattern,
    fix: learning.fix,
    ...(learning.errorType === "" ? {} : { error_type: learning.errorType }),
    ...(learning.context === "" ? {} : { context: learning.context }),
    ...(learning.tags.length === 0 ? {} : { tags: learning.tags }),
    ...(learning.tool === undefined ? {} : { tool: learning.tool }),
    times_used: learning.timesUsed,
  }
}
