import type { SessionId } from "../../protocol/identifiers.ts"
import type { LineageNode } from "../../state/store.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"

/** A session with those it continues and those that continue it after a compression, oldest first: one conversation. */
export async function sessionChain(store: PastSessions, id: SessionId): Promise<readonly SessionId[]> {
  const nodes = new Map((await store.lineage(id)).map((node) => [node.id, node]))
  const chain = [id]
  for (let node = nodes.get(id); node !== undefined;) {
    const parent = continued(node, nodes)
    if (parent === undefined || chain.includes(parent.id)) break
    chain.unshift(parent.id)
    node = parent
  }
  for (let last: SessionId | undefined = id; last !== undefined;) {
    const parent: SessionId = last
    const next = [...nodes.values()].findLast((node) => node.parent === parent && continued(node, nodes) !== undefined)
    last = next === undefined || chain.includes(next.id) ? undefined : next.id
    if (last !== undefined) chain.push(last)
  }
  return chain
}

/** The session this one goes on from. An archived one no longer says what it was, but branches do not begin so. */
function continued(node: LineageNode, nodes: ReadonlyMap<SessionId, LineageNode>): LineageNode | undefined {
  const parent = node.parent === null ? undefined : nodes.get(node.parent)
  const isContinuation = node.kind === "continuation" || node.kind === "archived"
  return isContinuation && parent?.endReason === "compression" ? parent : undefined
}
