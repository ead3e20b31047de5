import { z } from "zod"

import { defineTool } from "../../toolkit/define-tool.ts"
import { failure } from "../failure.ts"

export const memory = defineTool({
  name: "memory",
  toolset: "memory",
  description:
    "Keep durable facts across sessions. Save corrections, preferences and facts about the person (target user) or the environment " +
    "and projects (target memory) as short declarative sentences. Do not save task progress, logs or what is stale in a week. " +
    "The store is small and bounded.",
  input: z.object({
    action: z.enum(["add", "read"]).describe("add a fact, or read what is kept"),
    target: z.enum(["memory", "user"]).default("memory").describe("memory: environment and projects; user: the person"),
    content: z.string().optional().describe("The fact, for add"),
  }),
  access: ({ action }) => (action === "read" ? "read" : "write"),
  subject: ({ target }) => ({ kind: "name", name: target }),
  preview: ({ action, target, content }) =>
    content === undefined ? `${action} ${target}` : `${action} ${target}: ${content}`,
  emoji: "🧠",
  housekeeping: true,
  inChildren: false,
  run: async ({ action, target, content }, context) => {
    const port = context.ports.memory
    if (port === undefined) return failure("memory is not available here")
    if (action === "read") {
      const entries = await port.entries(target)
      return { content: { target, entries }, summary: `${entries.length} entries` }
    }
    const text = content?.trim() ?? ""
    if (text === "") return failure("content is missing: give the fact to keep as one short sentence")
    const added = await port.add(target, text)
    if (!added.ok) return failure(added.error)
    return {
      content: { saved: text, target, used_chars: added.value.usedChars, limit_chars: added.value.limitChars },
      summary: "noted",
    }
  },
})
