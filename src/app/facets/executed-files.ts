import { errorMessage } from "../../base/system-error.ts"
import { realPath } from "../../base/real-path.ts"
import type { StartingCall } from "../../agent/facet.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { writableDirectories } from "../session/session-workspace.ts"

/** Checks after each sandboxed command that it left nothing that other programs execute, where mounts cannot prevent it. */
export function executedFilesFacet({ workspace, services }: FacetContext): AppFacet | undefined {
  const { config, home, log } = services
  if (workspace.kind !== "local" || config.get("terminal.sandbox") === "off") return undefined
  const root = realPath(workspace.cwd())
  const userHome = realPath(home.userHome)
  const writable = writableDirectories(root, { config, home }).map(realPath)
  const isHomeWritable = writable.some((directory) => userHome === directory || userHome.startsWith(`${directory}/`))
  let repositories: Promise<Set<string>> | undefined
  /** Found after the call had ended. */
  const late: string[] = []
  return {
    name: "executed files",
    awaitingReply: async () => {
      await (repositories ??= knownRepositories(root))
    },
    toolStarting: async (call) => {
      tellAll(call, late.splice(0))
      if (call.access !== "exec" || (await workspace.isSandboxed?.()) !== true) return undefined
      const { checkNewRepositories, rememberExecutedFiles } = await import("../../exec/sandbox/executed-files.ts")
      repositories ??= knownRepositories(root)
      const files = rememberExecutedFiles({
        directories: [...new Set([root, realPath(workspace.cwd()), ...(await repositories)])],
        opened: call.opened.map(realPath),
        home: isHomeWritable ? { path: userHome, writable } : undefined,
      })
      const known = repositories
      return () => {
        tellAll(call, files.check())
        // Not awaited: a call does not take longer because of it.
        known
          .then(async (set) => {
            late.push(...(await checkNewRepositories(root, set)))
          })
          .catch((error: unknown) => {
            log.warning(`new repositories could not be checked: ${errorMessage(error)}`)
          })
      }
    },
    turnFooter: () => (late.length === 0 ? undefined : late.splice(0).join("\n")),
  }
}

async function knownRepositories(root: string): Promise<Set<string>> {
  const { findRepositories } = await import("../../exec/sandbox/git-repositories.ts")
  return new Set(await findRepositories(root))
}

function tellAll({ tell }: StartingCall, texts: readonly string[]): void {
  for (const text of texts) tell("warning", text)
}
