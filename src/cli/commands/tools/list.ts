import { listToolsets, type ToolsetState } from "../../../admin/tools/toolset-settings.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { canDrawList, showListScreen } from "../../terminal/list-screen.ts"
import { printJson } from "../../terminal/json-output.ts"
import { printTable } from "../../terminal/table.ts"
import { refuseOtherPlatform } from "./platform.ts"

/** `hermes tools`: the toolsets of new sessions, to change on a terminal. `--summary` and `hermes tools list` print them. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  refuseOtherPlatform(invocation)
  const isBare = invocation.path.length === 1
  if (isBare && !flags.has("summary") && !flags.has("json") && canDrawList(invocation)) {
    const { toolsetList } = await import("../../../commands/lists/toolset-list.ts")
    await showListScreen(toolsetList(homeContext(invocation)), invocation)
    return 0
  }
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
