import { readdirSync } from "node:fs"
import { join } from "node:path"

import { isIgnoredName } from "../watcher/directory-watch.ts"
import { serverFor } from "./find-server.ts"
import type { ConfiguredServer } from "./server-settings.ts"

const MAX_ENTRIES = 20_000

/** The servers that the files below a directory would use, those of the most files first. A very large project is looked at in part. */
export function projectServers(
  directory: string,
  servers: readonly ConfiguredServer[],
): readonly { readonly server: ConfiguredServer; readonly files: number }[] {
  const counts = new Map<ConfiguredServer, number>()
  const waiting = [directory]
  let seen = 0
  // Breadth first: what lies near the root says most about a project.
  for (const place of waiting) {
    for (const entry of entriesOf(place)) {
      seen += 1
      if (seen > MAX_ENTRIES) break
      const isDirectory = entry.isDirectory()
      if (isIgnoredName(entry.name, isDirectory ? "directory" : "other")) continue
      if (isDirectory) waiting.push(join(place, entry.name))
      const server = entry.isFile() ? serverFor(entry.name, servers) : undefined
      if (server !== undefined) counts.set(server, (counts.get(server) ?? 0) + 1)
    }
    if (seen > MAX_ENTRIES) break
  }
  return [...counts]
    .map(([server, files]) => ({ server, files }))
    .toSorted((one, other) => other.files - one.files || (one.server.name < other.server.name ? -1 : 1))
}

function entriesOf(place: string) {
  try {
    return readdirSync(place, { withFileTypes: true })
  } catch {
    // It may not be listed, or has just gone.
    return []
  }
}
