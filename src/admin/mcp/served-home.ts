import type { McpRequestContext, McpServer } from "@modelcontextprotocol/server"

import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { conversationTools } from "../../mcp/server/conversation-tools.ts"
import { createConversationWatch } from "../../mcp/server/conversation-watch.ts"
import { createEventQueue } from "../../mcp/server/event-queue.ts"
import { createHermesServer } from "../../mcp/server/hermes-server.ts"
import { createOpenCalls } from "../../mcp/server/open-calls.ts"
import { createRoundStateCodec } from "../../mcp/server/run-in-rounds.ts"
import type { RunServedCall } from "../../mcp/server/served-call.ts"
import type { SessionStore } from "../../state/store.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { openSessionStore } from "../sessions/session-store.ts"
import { approvalTimeoutMs, openServedCalls } from "./served-calls.ts"
import { createServedRedactor } from "./served-redactor.ts"

export interface ServeOptions {
  readonly version: string
  readonly cwd: string
  readonly signal: AbortSignal
  /** Called with the name of each tool that is called. */
  readonly onCall?: (tool: string) => void
}

/** A home as an MCP server: what the connections of all clients share. */
export interface ServedHome {
  readonly createServer: (context: Pick<McpRequestContext, "era">) => McpServer
  close(): Promise<void>
}

const NO_TIMEOUT_MS = 2 ** 31 - 1
/** For a question on its way to the host and back. */
const MARGIN_MS = 10_000

export async function openServedHome(
  loaded: LoadedHome,
  { version, cwd, onCall }: Omit<ServeOptions, "signal">,
): Promise<Result<ServedHome, AdminFailure>> {
  let opening: Promise<SessionStore | undefined> | undefined
  // A home without conversations may get its first one while other programs are connected.
  const openStore = async (): Promise<SessionStore | undefined> => {
    const opened = await (opening ??= openSessionStore(loaded))
    if (opened === undefined) opening = undefined
    return opened
  }
  const redactor = createServedRedactor(loaded)
  const events = createEventQueue(openStore, { clock: loaded.clock, redact: (text) => redactor.redact(text) })
  const tools = conversationTools(openStore, events)
  const served = await openServedCalls(loaded, { tools, cwd })
  if (!served.ok) return served
  const run: RunServedCall = async (call) => {
    onCall?.(call.tool)
    return await served.value.run(call)
  }
  const calls = createOpenCalls(run)
  const watch = createConversationWatch(events)
  const timeoutMs = approvalTimeoutMs(loaded.config)
  const shared = {
    version,
    tools,
    run,
    calls,
    codec: createRoundStateCodec(),
    watch,
    questionTimeoutMs: timeoutMs === 0 ? NO_TIMEOUT_MS : timeoutMs + MARGIN_MS,
  }
  return ok({
    createServer: (context) => createHermesServer(shared, context),
    close: async () => {
      await Promise.all([calls.close(), watch.close()])
      await served.value.close()
      await (await opening)?.close()
    },
  })
}
