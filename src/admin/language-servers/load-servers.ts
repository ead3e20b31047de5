import { realpathSync } from "node:fs"

import { createBrokenServers } from "../../exec/language-server/broken-servers.ts"
import type { BrokenServer } from "../../exec/language-server/broken-servers.ts"
import { findWorkTree, locateProgram } from "../../exec/language-server/find-server.ts"
import type { LocatedProgram } from "../../exec/language-server/find-server.ts"
import { brokenServersFile, serverModulesDirectory } from "../../exec/language-server/server-paths.ts"
import { configureServers } from "../../exec/language-server/server-settings.ts"
import type { ConfiguredServer } from "../../exec/language-server/server-settings.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** The language servers of a home, as they apply to one directory. */
export interface LanguageServers {
  readonly home: LoadedHome
  readonly servers: readonly ConfiguredServer[]
  /** Mistakes in `lsp.servers`, as sentences. */
  readonly problems: readonly string[]
  /** The git work tree that contains the directory. */
  readonly workTree: string | undefined
  /** Servers that failed within the last hour. */
  readonly broken: readonly BrokenServer[]
  /** Finds the installed program of a server. */
  readonly locate: (server: ConfiguredServer) => LocatedProgram | undefined
}

export async function loadServers(
  context: HomeContext,
  { directory }: { readonly directory: string },
): Promise<LanguageServers> {
  const loaded = await loadHome(context)
  const { home, config, environment, clock, log } = loaded
  const { servers, problems } = configureServers(config.get("lsp.servers"))
  const realDirectory = realpathSync(directory)
  const workTree = findWorkTree(realDirectory)
  const searchPaths = {
    modules: serverModulesDirectory(home.path),
    path: environment.get("PATH") ?? "",
    userHome: home.userHome,
    tree: workTree ?? realDirectory,
  }
  return {
    home: loaded,
    servers,
    problems,
    workTree,
    broken: createBrokenServers({ file: brokenServersFile(home.path), clock, log }).list(),
    locate: (server) => locateProgram(server, searchPaths),
  }
}

/** The command, or the sentence, that tells the user how to install a server. */
export function installHint({ name, install }: ConfiguredServer): string {
  return install.kind === "npm" ? `hermes lsp install ${name}` : install.instructions
}
