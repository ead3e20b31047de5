import { heldTools } from "../../../admin/mcp/server-facts.ts"
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
}

function firstLine(text: string): string {
  return visibleText(
    text
      .split("\n")
      .find((line) => line.trim() !== "")
      ?.trim() ?? "",
  ).text
}

/** What to do about tools that cannot be called; undefined when there are none. */
export function heldToolsAdvice(facts: ServerFacts): string | undefined {
  const { length } = heldTools(facts)
  if (length === 0) return undefined
  return `${counted(length, "tool")} cannot be called before you accept ${length === 1 ? "it" : "them"}: \`hermes mcp accept ${facts.name}\`.`
}
