import { openServedCalls } from "../../../src/admin/mcp/served-calls.ts"
import { loadHome } from "../../../src/admin/loaded-home.ts"
import { conversationTools } from "../../../src/mcp/server/conversation-tools.ts"
import { createConversationWatch } from "../../../src/mcp/server/conversation-watch.ts"
import { createEventQueue } from "../../../src/mcp/server/event-queue.ts"
import { createHermesServer } from "../../../src/mcp/server/hermes-server.ts"
import { openHttpEndpoint } from "../../../src/mcp/server/http/http-endpoint.ts"
import { createOpenCalls } from "../../../src/mcp/server/open-calls.ts"
import { createRoundStateCodec } from "../../../src/mcp/server/run-in-rounds.ts"
import { createTestHomeContext } from "../home-context.ts"
import { startBearerProxy } from "./bearer-proxy.ts"
import { registerFixtures, servedFixtures } from "./conformance-fixtures.ts"

const API_KEY = "conformance"

/** The parts of `hermes mcp serve --http`, with the tools, resources and prompts that the conformance suite asks for. */
export async function startConformanceServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const context = createTestHomeContext()
  const openStore = (): Promise<undefined> => Promise.resolve(undefined)
  const events = createEventQueue(openStore, { clock: context.clock, redact: (text) => text })
  const tools = [...conversationTools(openStore, events), ...servedFixtures()]
  const served = await openServedCalls(await loadHome(context), { tools, cwd: context.directory })
  if (!served.ok) throw new Error(served.error.message)
  const { run, close } = served.value
  const codec = createRoundStateCodec()
  const watch = createConversationWatch(events)
  const shared = { version: "1.0.0", tools, run, calls: createOpenCalls(run), codec, watch, questionTimeoutMs: 60_000 }
  const endpoint = await openHttpEndpoint({
    host: "127.0.0.1",
    port: 0,
    apiKey: API_KEY,
    allowedHosts: [],
    clock: context.clock,
    createServer: (era) => {
      const server = createHermesServer(shared, era)
      registerFixtures(server, codec)
      return server
    },
    onError: () => undefined,
  })
  if (!endpoint.ok) throw new Error(endpoint.error)
  const proxy = await startBearerProxy(endpoint.value.url, API_KEY)
  return {
    url: proxy.url,
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]()
      await endpoint.value.close()
      await watch.close()
      await close()
      context[Symbol.dispose]()
    },
  }
}
