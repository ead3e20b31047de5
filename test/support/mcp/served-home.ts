import { readFileSync } from "node:fs"

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import type { ClientCapabilities } from "@modelcontextprotocol/client"

import { loadHome } from "../../../src/admin/loaded-home.ts"
import { serveMcpOverHttp } from "../../../src/admin/mcp/serve-http.ts"
import type { ServeHttpOptions } from "../../../src/admin/mcp/serve-http.ts"
import { isRecord, parseJson } from "../../../src/base/json.ts"
import { toSessionId } from "../../../src/protocol/identifiers.ts"
import { openSqliteStore } from "../../../src/state/sqlite/open-store.ts"
import { createTestHomeContext } from "../home-context.ts"

export const API_KEY = "key-of-the-test-that-is-long-enough-for-any-host"
export const CONVERSATION = toSessionId("20260101_100000_aaaaaa")

/** `hermes mcp serve --http` in this process, over a home with one conversation. */
export interface ServedTestHome extends AsyncDisposable {
  readonly url: string
  /** Connects a client. `asked` receives the message of each question and returns the answer. */
  connect(how?: ConnectOptions): Promise<Client>
  append(text: string): Promise<void>
  setTitle(title: string): Promise<void>
  /** Resolves when everything has ended. */
  stop(): Promise<void>
  /** Stops, and reads the lines of the audit log. */
  audit(): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export interface ConnectOptions {
  /** Protocol 2025-11-25, with sessions, or 2026-07-28, without. */
  readonly era?: "legacy" | "modern"
  readonly asked?: (message: string) => HostAnswer | Promise<HostAnswer>
}

export type HostAnswer = "Allow once" | "Deny" | "decline"

export async function serveTestHome(
  config = "",
  more: Partial<Pick<ServeHttpOptions, "host" | "port" | "allowedHosts">> = {},
): Promise<ServedTestHome> {
  const context = createTestHomeContext({ "config.yaml": config }, { API_SERVER_KEY: API_KEY })
  const { home, clock, log } = context
  const store = await openSqliteStore({ path: home.file("state.db"), clock, log })
  const append = async (content: string): Promise<void> => {
    await store.append(CONVERSATION, [{ role: "user", content, timestamp: clock.now() / 1000 }])
  }
  await store.createSession({ id: CONVERSATION, source: "cli", startedAt: clock.now() / 1000 - 60 })
  await append("Where is my passport?")
  const stopping = new AbortController()
  const { promise: listening, resolve, reject } = Promise.withResolvers<string>()
  const serving = serveMcpOverHttp(await loadHome(context), {
    version: "1.0.0",
    cwd: context.directory,
    signal: stopping.signal,
    host: "127.0.0.1",
    port: 0,
    allowedHosts: [],
    ...more,
    onListening: ({ url }) => resolve(url),
  })
  serving.then((served) => {
    if (!served.ok) reject(new Error(served.error.message))
  }, reject)
  const clients: Client[] = []
  const stop = async (): Promise<void> => {
    stopping.abort()
    await serving
  }
  const dispose = async (): Promise<void> => {
    await Promise.all(clients.map((client) => client.close()))
    await stop()
    await store.close()
    context[Symbol.dispose]()
  }
  const url = await listening.catch(async (error: unknown) => {
    await dispose()
    throw error
  })
  return {
    url,
    append,
    setTitle: async (title) => {
      await store.setTitle(CONVERSATION, title)
    },
    stop,
    connect: async ({ era = "legacy", asked } = {}) => {
      const capabilities: ClientCapabilities = asked === undefined ? {} : { elicitation: { form: {} } }
      const client = new Client(
        { name: "test", version: "1.0.0" },
        { capabilities, versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" } },
      )
      if (asked !== undefined)
        client.setRequestHandler("elicitation/create", async ({ params }) => {
          const answer = await asked(params.message)
          return answer === "decline" ? { action: "decline" } : { action: "accept", content: { answer } }
        })
      const headers = { authorization: `Bearer ${API_KEY}` }
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
      clients.push(client)
      return client
    },
    audit: async () => {
      await stop()
      const lines = readFileSync(home.file("logs", "audit.jsonl"), "utf8").trim().split("\n")
      return lines.map((line) => parseJson(line)).filter(isRecord)
    },
    [Symbol.asyncDispose]: dispose,
  }
}
