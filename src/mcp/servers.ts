import { lazy } from "../base/lazy.ts"
import { errorMessage } from "../base/system-error.ts"
import { readStoredServer, writeStoredServer } from "./catalogue/stored-server.ts"
import type { StoredServer } from "./catalogue/stored-server.ts"
import type { Connection } from "./client/connection.ts"
import type { McpServer, McpServers, McpServersOptions } from "./mcp-servers.ts"
import { readServers } from "./server-settings.ts"
import type { ServerSettings } from "./server-settings.ts"

export function createMcpServers(options: McpServersOptions): McpServers {
  const { servers, problems } = readServers(options.entries)
  const list = servers.filter(({ enabled }) => enabled).map((settings) => createServer(settings, options))
  return {
    list,
    problems,
    close: async () => {
      await Promise.all(list.map(async (server) => await server.opened()?.close()))
    },
    kill: () => {
      for (const server of list) server.opened()?.kill()
    },
  }
}

function createServer(settings: ServerSettings, options: McpServersOptions): McpServer {
  const listeners = new Set<() => void>()
  let known: { readonly stored: StoredServer | undefined } | undefined
  let opened: Connection | undefined
  const stored = (): StoredServer | undefined => (known ??= { stored: readStoredServer(options.home, settings) }).stored
  const remember = (next: StoredServer): void => {
    known = { stored: next }
    for (const listener of listeners) listener()
  }
  const replaceStored = (next: StoredServer): void => {
    try {
      writeStoredServer(options.home, settings.name, next)
    } catch (error) {
      options.log.warning(`the tools of ${settings.name} could not be stored: ${errorMessage(error)}`)
    }
    remember(next)
  }
  const connection = lazy(
    async () => {
      const { openServerConnection } = await import("./client/server-connection.ts")
      opened = openServerConnection(settings, { ...options, stored, onStored: replaceStored })
      return opened
    },
    { retry: true },
  )
  return {
    settings,
    stored,
    reread: () => {
      known = undefined
      return stored()
    },
    replaceStored,
    connection,
    opened: () => opened,
    onListing: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}
