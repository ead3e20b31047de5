import { clearBrokenServers } from "../../exec/language-server/broken-servers.ts"
import { brokenServersFile } from "../../exec/language-server/server-paths.ts"
import type { HomeContext } from "../home-context.ts"

/** Clears the recorded failures of one server, or of all, so that the next write starts it again. Returns how many there were. */
export function restartServers(
  { home }: Pick<HomeContext, "home">,
  { server }: { readonly server: string | undefined },
): number {
  return clearBrokenServers(brokenServersFile(home.path), server)
}
