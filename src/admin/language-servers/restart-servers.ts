import { clearBrokenServers } from "../../exec/language-server/broken-servers.ts"
import { brokenServersFile } from "../../exec/language-server/server-paths.ts"
import { configureServers } from "../../exec/language-server/server-settings.ts"
import { ok, type Result } from "../../base/result.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { findServers } from "./find-servers.ts"

/** Clears the recorded failures of one server, or of all, so that the next write starts it again. Returns how many there were. */
export async function restartServers(
  context: HomeContext,
  { server }: { readonly server: string | undefined },
): Promise<Result<number, AdminFailure>> {
  if (server !== undefined) {
    const { config } = await loadHome(context)
    const found = findServers([server], configureServers(config.get("lsp.servers")).servers)
    if (!found.ok) return found
  }
  return ok(clearBrokenServers(brokenServersFile(context.home.path), server))
}
