import { listToolsets, type ToolsetState } from "../../../admin/tools/toolset-settings.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"
import { refuseOtherPlatform } from "./platform.ts"

/** `hermes tools [--summary]` and `hermes tools list`: the toolsets of new sessions. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  refuseOtherPlatform(invocation)
  const toolsets = await listToolsets(homeContext(invocation))
  if (flags.has("json")) {
    printJson(
      terminal,
      toolsets.map(({ name, kind, enabled, tools }) => ({ name, kind, enabled, tools })),
    )
    return 0
  }
  printTable(
    [{}, {}, { flexible: true }],
    toolsets.map((toolset) => [toolset.name, toolset.enabled ? "enabled" : "disabled", contentText(toolset)]),
    invocation,
  )
  terminal.line("Change them with `hermes tools enable NAME` or `hermes tools disable NAME`.")
  return 0
}

function contentText({ kind, tools }: ToolsetState): string {
  return kind === "mcp" ? "tools of an MCP server" : tools.join(", ")
}
