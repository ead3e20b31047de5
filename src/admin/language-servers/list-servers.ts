import type { LocatedProgram } from "../../exec/language-server/find-server.ts"
import type { HomeContext } from "../home-context.ts"
import { installHint, loadServers } from "./load-servers.ts"

export interface ServerListing {
  readonly name: string
  /** File name extensions. */
  readonly files: readonly string[]
  /** Undefined while the server is not installed. */
  readonly program: LocatedProgram | undefined
  readonly installHint: string
}

/** Lists every known language server and whether it is installed. */
export async function listServers(
  context: HomeContext,
  options: { readonly directory: string },
): Promise<{ readonly servers: readonly ServerListing[]; readonly problems: readonly string[] }> {
  const { servers, problems, locate } = await loadServers(context, options)
  return {
    servers: servers.map((server) => ({
      name: server.name,
      files: Object.keys(server.languages),
      program: locate(server),
      installHint: installHint(server),
    })),
    problems,
  }
}
