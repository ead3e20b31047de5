import { realpathSync } from "node:fs"

import { systemClock } from "../../../base/clock.ts"
import { createLogger } from "../../../base/logger.ts"
import { createBrokenServers } from "../../../exec/language-server/broken-servers.ts"
import type { BrokenServer } from "../../../exec/language-server/broken-servers.ts"
import { locateProgram, workTreeOf } from "../../../exec/language-server/find-server.ts"
import type { LocatedProgram } from "../../../exec/language-server/find-server.ts"
import { brokenFile, modulesDirectory } from "../../../exec/language-server/places.ts"
import { configureServers } from "../../../exec/language-server/server-settings.ts"
import type { ConfiguredServer } from "../../../exec/language-server/server-settings.ts"
import type { Invocation } from "../../command.ts"
import { loadSettings } from "../../settings-access.ts"
import type { Settings } from "../../settings-access.ts"

/** What this home and directory have of language servers. */
export interface ServerReport {
  readonly settings: Settings
  readonly servers: readonly ConfiguredServer[]
  readonly problems: readonly string[]
  /** The git work tree that the command was started in. */
  readonly tree: string | undefined
  readonly broken: readonly BrokenServer[]
  locate(server: ConfiguredServer): LocatedProgram | undefined
}

export async function serverReport({ home, environment }: Invocation): Promise<ServerReport> {
  const settings = await loadSettings({ home, environment })
  const { servers, problems } = configureServers(settings.config.get("lsp.servers"))
  const here = realpathSync(".")
  const tree = workTreeOf(here)
  const places = {
    modules: modulesDirectory(home.path),
    path: settings.environment.get("PATH") ?? "",
    userHome: home.userHome,
    tree: tree ?? here,
  }
  const log = createLogger({ sinks: [], redact: (text) => text })
  return {
    settings,
    servers,
    problems,
    tree,
    broken: createBrokenServers({ file: brokenFile(home.path), clock: systemClock, log }).list(),
    locate: (server) => locateProgram(server, places),
  }
}

export function howToInstall({ name, install }: ConfiguredServer): string {
  return install.kind === "npm" ? `hermes lsp install ${name}` : install.how
}
