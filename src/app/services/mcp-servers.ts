import type { Clock } from "../../base/clock.ts"
import { lazy } from "../../base/lazy.ts"
import type { Logger } from "../../base/logger.ts"
import type { Redactor } from "../../base/redact.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import type { McpServers } from "../../mcp/mcp-servers.ts"

/** The MCP servers of an app. No code of theirs is loaded where none is configured. */
export interface McpService {
  /** The names of the configured servers. */
  names(): readonly string[]
  /** Reads the settings of the servers; connects none. Stdio servers start in the directory of the first caller. */
  open(options: { readonly cwd: string }): Promise<McpServers>
  /** Replaces all connections with those of other settings, and waits a moment for them. Running calls fail. */
  reload(config: Config, signal: AbortSignal): Promise<McpReload>
  /** Calls the listener after a reload. Returns a function that ends it. */
  onReload(listener: (servers: McpServers) => void): () => void
  close(): Promise<void>
  /** Ends child processes without waiting. */
  kill(): void
}

export interface McpReload {
  /** The names of the servers that answered. */
  readonly connected: readonly string[]
  /** Sentences for the user about the others. */
  readonly problems: readonly string[]
}

export interface McpServiceOptions {
  readonly config: Config
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
  readonly redactor: Redactor
  readonly version: string
}

/** How long a reload waits for servers that do not answer. They go on connecting after that. */
const RELOAD_WAIT_MS = 10_000

export function createMcpService(options: McpServiceOptions): McpService {
  const listeners = new Set<(servers: McpServers) => void>()
  let { config } = options
  let opened: McpServers | undefined
  let directory = options.home.userHome
  const create = async (): Promise<McpServers> => {
    const { createMcpServers } = await import("../../mcp/servers.ts")
    opened = createMcpServers({
      ...options,
      entries: config.get("mcp_servers"),
      redact: (text) => options.redactor.redact(text),
      cwd: directory,
      allowPrivate: config.get("security.allow_private_urls"),
      trustedHosts: config.get("security.trusted_hosts"),
    })
    for (const problem of opened.problems) options.log.warning(problem)
    return opened
  }
  let servers = lazy(create, { retry: true })
  return {
    names: () => Object.keys(config.get("mcp_servers")),
    open: ({ cwd }) => {
      if (servers.peek() === undefined) directory = cwd
      return servers()
    },
    reload: async (next, signal) => {
      config = next
      const old = opened
      servers = lazy(create, { retry: true })
      const replaced = await servers()
      await old?.close()
      for (const listener of listeners) listener(replaced)
      const waiting = new AbortController()
      const stopped = AbortSignal.any([signal, waiting.signal])
      options.clock.sleep(RELOAD_WAIT_MS, { signal: stopped }).then(
        () => waiting.abort(),
        () => undefined,
      )
      const outcomes = await Promise.all(
        replaced.list.map(async (server) => {
          const connection = await server.connection()
          const ready = await connection.ready(stopped)
          if (ready.ok) return { name: server.settings.name, problem: undefined }
          const isConnecting = connection.status().state === "connecting"
          const problem = isConnecting ? "is still connecting; its tools appear when it answers" : ready.error
          return { name: server.settings.name, problem }
        }),
      )
      waiting.abort()
      return {
        connected: outcomes.flatMap(({ name, problem }) => (problem === undefined ? [name] : [])),
        problems: [
          ...replaced.problems,
          ...outcomes.flatMap(({ name, problem }) =>
            problem === undefined ? [] : [`The MCP server ${name} ${problem}.`],
          ),
        ],
      }
    },
    onReload: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    close: async () => {
      await opened?.close()
    },
    kill: () => {
      opened?.kill()
    },
  }
}
