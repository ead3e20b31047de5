import { z } from "zod"

import { defineTool } from "../../toolkit/define-tool.ts"
import { failure } from "../failure.ts"

/** Dispatch extracts the inner call and runs that instead. This code runs only when the call names the bridge itself. */
export const toolCall = defineTool({
  name: "tool_call",
  toolset: "tool_search",
  description: "Call a tool of tool_search by name. tool_describe has its parameters.",
  input: z.object({
    name: z.string().trim().min(1),
    arguments: z.unknown().meta({ type: "object", description: "The tool's own parameters" }).optional(),
  }),
  bridge: "call",
  access: "agent",
  subject: ({ name }) => ({ kind: "name", name }),
  label: { emoji: "🧰", verb: "call" },
  preview: ({ name }) => name,
  run: () => Promise.resolve(failure("tool_call cannot call itself; name another tool")),
})
