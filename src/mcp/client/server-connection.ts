import { pinTools } from "../catalogue/pin-tools.ts"
import { serverFingerprint } from "../catalogue/stored-server.ts"
import type { StoredServer } from "../catalogue/stored-server.ts"
import type { ServerSettings } from "../server-settings.ts"
import type { McpServersOptions } from "../mcp-servers.ts"
import { createConnection } from "./connection.ts"
import type { Connection, ConnectionOptions, ServerListing } from "./connection.ts"
import { createErrorLog } from "./error-log.ts"
import { startRefusal } from "./start-refusal.ts"

export interface ServerConnectionOptions extends Omit<McpServersOptions, "entries">, Pick<ConnectionOptions, "login"> {
  readonly stored: () => StoredServer | undefined
  /** Stores what is known about the server from now on. */
  readonly onStored: (stored: StoredServer) => void
}

/** A connection that compares what the server lists with what was accepted, and stores it. */
export function openServerConnection(settings: ServerSettings, options: ServerConnectionOptions): Connection {
  const { home, redact, stored } = options
  const log = options.log.child("mcp")
  const { target } = settings
  return createConnection({
    ...options,
    settings,
    log,
    protocol: stored()?.protocol,
    onErrorOutput: createErrorLog(home.file("logs", "mcp-stderr.log"), { redact }).of(settings.name),
    ...(target.kind === "stdio" ? { refusal: (signal) => startRefusal(target, { ...options, log, signal }) } : {}),
    onListing: (listing) => {
      const { next, notices } = mergeListing(settings, stored(), listing)
      for (const notice of notices) log.warning(`${settings.name}: ${redact(notice)}`)
      options.onStored(next)
    },
  })
}

function mergeListing(
  settings: ServerSettings,
  before: StoredServer | undefined,
  listing: ServerListing,
): { readonly next: StoredServer; readonly notices: readonly string[] } {
  const { tools, notices } = pinTools(before?.tools ?? [], listing.tools)
  const { protocol, hasResources, hasPrompts, prompts } = listing
  return {
    next: { fingerprint: serverFingerprint(settings), protocol, hasResources, hasPrompts, tools, prompts },
    notices,
  }
}
