import { counted } from "../base/counted.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/reload-mcp`: reads the MCP servers from the settings again and connects to them. */
export const reloadMcpCommand: SlashCommand = {
  name: "reload-mcp",
  category: "tools",
  aliases: ["reload_mcp"],
  argument: "[now]",
  help: "read the MCP servers from the settings again and reconnect",
  idleOnly: true,
  run: async (argument, { app, session, confirm, note, signal }) => {
    const asks = app.config.get("approvals.mcp_reload_confirm") && argument.trim() !== "now"
    const question = "All MCP servers are stopped and started again. Reload them? [y/N] "
    if (asks && confirm !== undefined && !(await confirm(question))) return reply("Nothing was reloaded.")
    note?.("Connecting to the MCP servers.")
    const { connected, problems } = await app.reloadMcp(signal)
    const count = `${counted(connected.length, "MCP server")} connected${connected.length === 0 ? "" : `: ${connected.join(", ")}`}.`
    const hint =
      session.mcp === undefined && connected.length > 0
        ? ["This conversation began without MCP servers; start another one with /new to use them."]
        : []
    return reply([count, ...problems, ...hint].join("\n"))
  },
}

/** Runs a prompt of an MCP server as a command; undefined when none has this name. */
export async function runPromptCommand(
  typed: string,
  argument: string,
  { session, signal }: SlashContext,
): Promise<SlashOutcome | undefined> {
  const filled = await session.mcp?.fillPrompt(typed, argument, signal)
  if (filled === undefined) return undefined
  return filled.ok ? { kind: "send", text: filled.value } : reply(filled.error)
}
