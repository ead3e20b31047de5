import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server"
import type { McpServer } from "@modelcontextprotocol/server"

import { conversationOf, conversationUri } from "./conversation-resources.ts"
import type { ConversationWatch } from "./conversation-watch.ts"
import { failureText } from "./served-call.ts"
import type { RunServedCall } from "./served-call.ts"

const MAX_SUBSCRIPTIONS = 100

/**
 * `resources/subscribe` of the protocol up to 2025-11-25. Later revisions subscribe without a request that could be judged, so they are offered
 * `events_wait` only. Returns a function that ends all subscriptions.
 */
export function serveSubscriptions(
  { server }: McpServer,
  { watch, run }: { readonly watch: ConversationWatch; readonly run: RunServedCall },
): () => void {
  const subscribed = new Set<string>()
  let unwatch: (() => void) | undefined
  const end = (): void => {
    unwatch?.()
    unwatch = undefined
  }
  server.registerCapabilities({ resources: { subscribe: true } })
  server.setRequestHandler("resources/subscribe", async ({ params: { uri } }, { mcpReq }) => {
    const key = conversationOf(uri)
    // Other addresses never change, so there is nothing to remember.
    if (key === undefined) return {}
    if (subscribed.size >= MAX_SUBSCRIPTIONS)
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `more than ${MAX_SUBSCRIPTIONS} subscriptions`)
    // A subscription says when a conversation changes, as this tool does.
    const args = { session_key: key, limit: 1 }
    const judged = await run({ tool: "events_poll", args, signal: mcpReq.signal })
    if (judged.outcome !== "ok") throw new ProtocolError(ProtocolErrorCode.InvalidRequest, failureText(judged), { uri })
    subscribed.add(key)
    unwatch ??= watch.watch((changed) => {
      if (!subscribed.has(changed)) return
      // A host that has disconnected is removed when its connection closes.
      server.sendResourceUpdated({ uri: conversationUri(changed) }).catch(() => undefined)
    })
    return {}
  })
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    const key = conversationOf(uri)
    if (key !== undefined) subscribed.delete(key)
    if (subscribed.size === 0) end()
    return {}
  })
  return end
}
