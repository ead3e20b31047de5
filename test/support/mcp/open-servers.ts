import { systemClock } from "../../../src/base/clock.ts"
import type { Clock } from "../../../src/base/clock.ts"
import { createLogger } from "../../../src/base/logger.ts"
import { environmentFrom } from "../../../src/config/environment.ts"
import { ensureHome, resolveHome } from "../../../src/config/home.ts"
import type { Home } from "../../../src/config/home.ts"
import type { CallScope } from "../../../src/mcp/client/call-scope.ts"
import type { CallOptions, Connection } from "../../../src/mcp/client/connection.ts"
import { createMcpServers } from "../../../src/mcp/servers.ts"
import type { McpServer, McpServers } from "../../../src/mcp/mcp-servers.ts"
import { temporaryHome } from "../temporary-home.ts"

/** MCP servers without an app, in a temporary home. */
export interface OpenedServers extends AsyncDisposable {
  readonly servers: McpServers
  readonly home: Home
  readonly warnings: readonly string[]
  server(name?: string): McpServer
  connection(name?: string): Promise<Connection>
  /** Other servers over the same home, as a new process would have. */
  again(entries: Readonly<Record<string, unknown>>): McpServers
}

export async function openServers(
  entries: Readonly<Record<string, unknown>>,
  options: {
    readonly clock?: Clock
    readonly env?: Readonly<Record<string, string>>
    readonly allowPrivate?: boolean
  } = {},
): Promise<OpenedServers> {
  const testHome = await temporaryHome(options.env === undefined ? {} : { env: options.env })
  const environment = environmentFrom(testHome.env)
  const home = resolveHome(environment)
  ensureHome(home, environment)
  const warnings: string[] = []
  const log = createLogger({
    sinks: [{ level: "WARNING", write: (line) => void warnings.push(line) }],
    redact: (text) => text,
  })
  const create = (given: Readonly<Record<string, unknown>>): McpServers =>
    createMcpServers({
      entries: given,
      home,
      environment,
      clock: options.clock ?? systemClock,
      log,
      version: "0.0.0-test",
      redact: (text) => text.replaceAll("sk-secret-value", "***"),
      cwd: testHome.workdir,
      allowPrivate: options.allowPrivate ?? false,
      trustedHosts: [],
    })
  const all: McpServers[] = [create(entries)]
  const servers = all[0] ?? create(entries)
  const server = (name?: string): McpServer => {
    const found = servers.list.find(({ settings }) => name === undefined || settings.name === name)
    if (found === undefined) throw new Error(`there is no server ${name}`)
    return found
  }
  return {
    servers,
    home,
    warnings,
    server,
    connection: (name) => server(name).connection(),
    again: (given) => {
      const created = create(given)
      all.push(created)
      return created
    },
    [Symbol.asyncDispose]: async () => {
      for (const one of all) await one.close()
      await testHome[Symbol.asyncDispose]()
    },
  }
}

/** A call that nothing interrupts, of a session that answers nothing. */
export function plainCall(
  options: Partial<Omit<CallOptions, "scope">> & { readonly scope?: Partial<CallScope> } = {},
): CallOptions {
  const { scope, ...rest } = options
  return {
    signal: new AbortController().signal,
    ...rest,
    scope: { roots: () => [], sample: () => Promise.resolve({ ok: false, error: "no model" }), ...scope },
  }
}
