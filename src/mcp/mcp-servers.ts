import type { Clock } from "../base/clock.ts"
import type { Logger } from "../base/logger.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { StoredServer } from "./catalogue/stored-server.ts"
import type { Connection } from "./client/connection.ts"
import type { ServerSettings } from "./server-settings.ts"

/** The MCP servers of an app. Its sessions share the connections. Nothing is connected before it is needed. */
export interface McpServers {
  readonly list: readonly McpServer[]
  /** For the user, about entries in the settings that cannot be used. */
  readonly problems: readonly string[]
  close(): Promise<void>
  /** Ends child processes without waiting. */
  kill(): void
}

export interface McpServer {
  readonly settings: ServerSettings
  /** What the last connection said, in this or an earlier process. */
  stored(): StoredServer | undefined
  /** The same, read again: another process may have accepted a tool. */
  reread(): StoredServer | undefined
  /** Loads the code for connections. Connects when it is used. */
  connection(): Promise<Connection>
  /** The connection, if its code was loaded. */
  opened(): Connection | undefined
  /** Calls the listener when the server lists something else than before. Returns a function that ends it. */
  onListing(listener: () => void): () => void
  /** Stores what is known about the server from now on, for example after the user accepted a tool. */
  replaceStored(stored: StoredServer): void
}

export interface McpServersOptions {
  /** The setting `mcp_servers`. */
  readonly entries: Readonly<Record<string, unknown>>
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
  readonly redact: (text: string) => string
  /** Where stdio servers start. */
  readonly cwd: string
  readonly allowPrivate: boolean
  readonly trustedHosts: readonly string[]
  /** How often a first connection is tried; default 3. */
  readonly firstAttempts?: number
}
