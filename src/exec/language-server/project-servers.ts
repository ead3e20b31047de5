import { readdirSync } from "node:fs"
import { join } from "node:path"

import { isIgnoredName } from "../watcher/directory-watch.ts"
import { serverFor } from "./find-server.ts"
import type { ConfiguredServer } from "./server-settings.ts"

const MAX_ENTRIES = 20_000

/** Returns the servers for the files below a directory, the most used first. Scans only a part of a very large project. */
export function projectServers(
  directory: string,
  servers: readonly ConfiguredServer[],
): readonly { readonly server: ConfiguredServer; readonly files: number }[] {
  const counts = new Map<ConfiguredServer, number>()
  const pending = [directory]
  let seen = 0
  // Breadth first: files near the root are the most representative.
  for (const current of pending) {
    for (const entry of entriesOf(current)) {
      seen += 1
      if (seen > MAX_ENTRIES) break
      const isDirectory = entry.isDirectory()
      if (isIgnoredName(entry.name, isDirectory ? "directory" : "other")) continue
      if (isDirectory) pending.push(join(current, entry.name))
      const server = entry.isFile() ? serverFor(entry.name, servers) : undefined
      if (server !== undefined) counts.set(server, (counts.get(server) ?? 0) + 1)
    }
    if (seen > MAX_ENTRIES) break
  }
  return [...counts]
    .map(([server, files]) => ({ server, files }))
    .toSorted((a, b) => b.files - a.files || (a.server.name < b.server.name ? -1 : 1))
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    // The directory is not readable or was just deleted.
    return []
  }
}
