import { createRedactor } from "../../base/redact.ts"
import { secretValuesIn } from "../../config/secrets.ts"
import { createMcpServers } from "../../mcp/servers.ts"
import type { McpServer, McpServers } from "../../mcp/mcp-servers.ts"
import { readServers } from "../../mcp/server-settings.ts"
import type { ServerSettings } from "../../mcp/server-settings.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { nearest } from "../../base/nearest-name.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** Opens the MCP servers of a home, or others that are not saved yet. Closing them ends their processes. */
export function openHomeServers(
  { config, home, environment, clock, log }: LoadedHome,
  {
    entries = config.get("mcp_servers"),
    cwd,
    version,
  }: { readonly entries?: Readonly<Record<string, unknown>>; readonly cwd: string; readonly version: string },
): McpServers {
  const redactor = createRedactor({ enabled: true, secrets: secretValuesIn(entries) })
  return createMcpServers({
    entries,
    home,
    environment,
    clock,
    log,
    version,
    cwd,
    redact: (text) => redactor.redact(text),
    allowPrivate: config.get("security.allow_private_urls"),
    trustedHosts: config.get("security.trusted_hosts"),
    // A user waits for the outcome and can try again.
    firstAttempts: 1,
  })
}

/** The server with this name in the settings, enabled or not. */
export function findServer({ config }: LoadedHome, name: string): Result<ServerSettings, AdminFailure> {
  const entries = config.get("mcp_servers")
  const { servers, problems } = readServers(entries)
  const found = servers.find((server) => server.name === name)
  if (found !== undefined) return ok(found)
  const problem = problems.find((text) => text.startsWith(`mcp_servers.${name}:`))
  if (problem !== undefined) return fail({ kind: "failed", message: problem })
  const close = nearest(name, Object.keys(entries))
  const hint = close === undefined ? "`hermes mcp list` shows the servers" : `did you mean ${close}?`
  return fail({ kind: "failed", message: `There is no MCP server ${name}; ${hint}` })
}

/** The opened server with this name; a disabled one is enabled for the operation. */
export function onlyServer(
  loaded: LoadedHome,
  name: string,
  options: { readonly cwd: string; readonly version: string },
): Result<{ readonly servers: McpServers; readonly server: McpServer }, AdminFailure> {
  const found = findServer(loaded, name)
  if (!found.ok) return found
  const entry = loaded.config.get("mcp_servers")[name]
  const servers = openHomeServers(loaded, {
    ...options,
    entries: { [name]: { ...(typeof entry === "object" ? entry : {}), enabled: true } },
  })
  const [server] = servers.list
  if (server === undefined) return fail({ kind: "failed", message: `the server ${name} cannot be opened` })
  return ok({ servers, server })
}
