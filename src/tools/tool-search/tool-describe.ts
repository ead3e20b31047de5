import { z } from "zod"

import { nearest } from "../../base/nearest-name.ts"
import { ellipsize } from "../../base/text.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { failure } from "../failure.ts"

const MAX_NAME_CHARS = 100

export const toolDescribe = defineTool({
  name: "tool_describe",
  toolset: "tool_search",
  description: "The full description and parameters of a tool of tool_search.",
  input: z.object({ name: z.string().trim().min(1) }),
  bridge: "describe",
  access: "read",
  subject: ({ name }) => ({ kind: "name", name }),
  label: { emoji: "🧰", verb: "describe" },
  preview: ({ name }) => name,
  digest: ({ args }) =>
    `[tool_describe] ${typeof args["name"] === "string" ? ellipsize(args["name"], MAX_NAME_CHARS) : "?"}`,
  parallel: "safe",
  idempotent: true,
  newestResultOnly: true,
  run: ({ name }, { ports }) => {
    const port = ports.deferredTools
    if (port === undefined) return Promise.resolve(failure("this session has no deferred tools"))
    const tool = port.find(name)
    if (tool === undefined) return Promise.resolve(failure(unknown(name, port.names())))
    const { description, parameters } = tool
    return Promise.resolve({ content: { name, description, parameters }, summary: name })
  },
})

function unknown(name: string, names: readonly string[]): string {
  const similar = nearest(name, names)
  const hint = similar === undefined ? "find its name with tool_search" : `did you mean ${similar}?`
  return `tool_search has no ${ellipsize(name, MAX_NAME_CHARS)}; call a tool that you already have directly, otherwise ${hint}`
}
