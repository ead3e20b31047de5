import type { SessionId } from "../../protocol/identifiers.ts"
import type { LineageNode } from "../../state/store.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"

/** The sessions of one conversation, oldest first: a session, those it continues and those that continue it after a compression. */
export async function conversationSessions(store: PastSessions, id: SessionId): Promise<readonly SessionId[]> {
  const nodes = new Map((await store.lineage(id)).map((node) => [node.id, node]))
  const chain = [id]
  for (let node = nodes.get(id); node !== undefined;) {
    const parent = continuedSession(node, nodes)
    if (parent === undefined || chain.includes(parent.id)) break
    chain.unshift(parent.id)
    node = parent
  }
  for (let last: SessionId | undefined = id; last !== undefined;) {
    const parent: SessionId = last
    const next = [...nodes.values()].findLast(
      (node) => node.parent === parent && continuedSession(node, nodes) !== undefined,
    )
    last = next === undefined || chain.includes(next.id) ? undefined : next.id
    if (last !== undefined) chain.push(last)
  }
  return chain
}

/** The session that this one continues. An archived session has lost its kind, but branches never follow a compression. */
function continuedSession(node: LineageNode, nodes: ReadonlyMap<SessionId, LineageNode>): LineageNode | undefined {
  const parent = node.parent === null ? undefined : nodes.get(node.parent)
  const isContinuation = node.kind === "continuation" || node.kind === "archived"
  return isContinuation && parent?.endReason === "compression" ? parent : undefined
}
