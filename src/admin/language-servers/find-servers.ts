import { nearest } from "../../base/nearest-name.ts"
import { ok, type Result } from "../../base/result.ts"
import type { ConfiguredServer } from "../../exec/language-server/server-settings.ts"
import { invalid, type AdminFailure } from "../failure.ts"

/** The servers with these names, in this order. */
export function findServers(
  names: readonly string[],
  servers: readonly ConfiguredServer[],
): Result<readonly ConfiguredServer[], AdminFailure> {
  const found: ConfiguredServer[] = []
  for (const name of names) {
    const server = servers.find((known) => known.name === name)
    if (server === undefined) return unknownServer(name, servers)
    found.push(server)
  }
  return ok(found)
}

function unknownServer(name: string, servers: readonly ConfiguredServer[]): Result<never, AdminFailure> {
  const close = nearest(
    name,
    servers.map((server) => server.name),
  )
  const hint = close === undefined ? "`hermes lsp list` shows all of them" : `did you mean ${close}?`
  return invalid(`There is no language server "${name}"; ${hint}`)
}
