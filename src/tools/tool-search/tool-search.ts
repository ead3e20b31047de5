import { z } from "zod"

import { isRecord } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { failure } from "../failure.ts"

const MAX_DESCRIPTION_CHARS = 240
const MAX_NAMES = 100

export const toolSearch = defineTool({
  name: "tool_search",
  toolset: "tool_search",
  description: "Find more tools by what they do. Call what you find with tool_call.",
  input: z.object({ query: z.string().trim().min(1), limit: z.int().optional() }),
  bridge: "search",
  access: "read",
  subject: ({ query }) => ({ kind: "query", query }),
  label: { emoji: "🧰", verb: "tools" },
  preview: ({ query }) => query,
  digest: ({ args }) => `[tool_search] ${typeof args["query"] === "string" ? ellipsize(args["query"], 60) : "?"}`,
  parallel: "safe",
  idempotent: true,
  newestResultOnly: true,
  run: async ({ query, limit }, { ports, signal }) => {
    const port = ports.deferredTools
    if (port === undefined) return failure("this session has no deferred tools")
    const missing = (await ports.toolSources?.arrived(signal)) ?? []
    const found = port.search(query, limit)
    const names = port.names()
    return {
      content: {
        query,
        results: found.map(shown),
        total_tools: names.length,
        ...(found.length > 0 ? {} : { names: names.slice(0, MAX_NAMES) }),
        ...(missing.length === 0 ? {} : { unavailable: missing }),
      },
      summary: found.length === 0 ? "nothing found" : found.map(({ name }) => name).join(", "),
    }
  },
})

/** Enough to choose a tool and to call simple ones; optional parameters have a question mark. */
function shown({ name, description, parameters }: ToolDefinition): Readonly<Record<string, unknown>> {
  const { properties, required } = parameters
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const names = isRecord(properties) ? Object.keys(properties) : []
  return {
    name,
    description: ellipsize(description, MAX_DESCRIPTION_CHARS),
    parameters: names.map((parameter) => (needed.includes(parameter) ? parameter : `${parameter}?`)).join(", "),
  }
}
