import type { ServerFacts, ToolFacts } from "../../../admin/mcp/server-facts.ts"
import { counted } from "../../../base/counted.ts"
import { visibleText } from "../../../base/visible-text.ts"
import type { Invocation } from "../../command.ts"
import { printTable } from "../../terminal/table.ts"

const STATES: Readonly<Record<ToolFacts["state"], string>> = {
  offered: "",
  excluded: "excluded",
  quarantined: "quarantined",
  blocked: "blocked",
}

/** Prints what a server offers, after a connection. */
export function printServer({ name, tools = [], prompts }: ServerFacts, invocation: Invocation): void {
  const { terminal } = invocation
  terminal.line(`${name} offers ${counted(tools.length, "tool")} and ${counted(prompts.length, "prompt")}.`)
  printTable(
    [{}, {}, { flexible: true }],
    tools.map(({ name: tool, state, description }) => [tool, STATES[state], firstLine(description)]),
    invocation,
  )
  for (const { name: tool, reason } of tools)
    if (reason !== undefined) terminal.errLine(`${tool}: ${visibleText(reason).text}`)
  if (tools.some(({ state }) => state === "quarantined" || state === "blocked"))
    terminal.errLine(`Look at quarantined tools with \`hermes mcp accept ${name}\`.`)
}

function firstLine(text: string): string {
  return visibleText(
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? "",
  ).text
}
