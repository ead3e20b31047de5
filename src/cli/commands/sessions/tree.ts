import { readLineage } from "../../../admin/sessions/read-sessions.ts"
import type { LineageNode } from "../../../state/store.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { localDateTime } from "../../../terminal/relative-time.ts"
import { noSession } from "./no-session.ts"
import { counted } from "../../../base/counted.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes sessions tree [ID]` */
export async function run(invocation: Invocation): Promise<number> {
  const { positionals, terminal, flags } = invocation
  const name = positionals.length === 0 ? undefined : positionals.join(" ")
  const nodes = await readLineage(homeContext(invocation), name)
  if (nodes === undefined) throw noSession(name ?? "")
  if (flags.has("json")) {
    printJson(
      terminal,
      nodes.map(({ id, parent, kind, title, startedAt, messageCount, endReason }) => ({
        id,
        parent,
        kind,
        title,
        started_at: startedAt,
        message_count: messageCount,
        end_reason: endReason,
      })),
    )
    return 0
  }
  if (nodes.length === 0) terminal.line("There are no sessions yet.")
  for (const line of drawTree(nodes)) terminal.line(line)
  return 0
}

/** Draws children below their parent; a node whose parent is missing is a root. */
function drawTree(nodes: readonly LineageNode[]): readonly string[] {
  const known = new Set<string>(nodes.map((node) => node.id))
  const children = Map.groupBy(nodes, (node) => (node.parent !== null && known.has(node.parent) ? node.parent : ""))
  const drawn = new Set<string>()
  const draw = (node: LineageNode, indent: string, branch: string): readonly string[] => {
    // A damaged file may hold a loop; each session is drawn once.
    if (drawn.has(node.id)) return []
    drawn.add(node.id)
    const below = children.get(node.id) ?? []
    const deeper = branch === "" ? "" : indent + (branch === "└─ " ? "   " : "│  ")
    return [
      `${indent}${branch}${describe(node)}`,
      ...below.flatMap((child, index) => draw(child, deeper, index === below.length - 1 ? "└─ " : "├─ ")),
    ]
  }
  return (children.get("") ?? []).flatMap((root) => draw(root, "", ""))
}

function describe(node: LineageNode): string {
  const title = node.title === null ? "" : ` “${oneLine(node.title)}”`
  const end = node.endReason === null ? "" : `, ended: ${node.endReason}`
  return `${node.id} ${node.kind}${title} (${localDateTime(node.startedAt)}, ${counted(node.messageCount, "message")}${end})`
}
