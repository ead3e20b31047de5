import { z } from "zod"

import { BRIDGE_TOOLSET } from "../../toolkit/deferred-tools.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { failure } from "../failure.ts"

/** The door takes the call out of it, and judges, runs and records that. What is left to run here called the bridge itself. */
export const toolCall = defineTool({
  name: "tool_call",
  toolset: BRIDGE_TOOLSET,
  description: "Call a tool of tool_search by name. tool_describe has its parameters.",
  input: z.object({
    name: z.string().trim().min(1),
    arguments: z.unknown().meta({ type: "object", description: "The tool's own parameters" }).optional(),
  }),
  access: "agent",
  subject: ({ name }) => ({ kind: "name", name }),
  preview: ({ name }) => name,
  emoji: "🧰",
  run: () => Promise.resolve(failure("tool_call cannot call itself; name the tool that you want")),
})
