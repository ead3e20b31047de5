import { existsSync } from "node:fs"

import { errorMessage } from "../../base/system-error.ts"
import { realPath } from "../../base/real-path.ts"
import type { StartingCall } from "../../agent/facet.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { writableDirectories } from "../session/session-workspace.ts"

/** Checks after each sandboxed command that it left nothing that other programs execute, where mounts cannot prevent it. */
export function executedFilesFacet(context: FacetContext): AppFacet | undefined {
  const { workspace, services } = context
  const { config, home, log } = services
  if (workspace.kind !== "local" || config.get("terminal.sandbox") === "off") return undefined
  const root = realPath(workspace.cwd())
  const userHome = realPath(home.userHome)
  const writable = writableDirectories(root, { config, home }).map(realPath)
  const isHomeWritable = writable.some((directory) => userHome === directory || userHome.startsWith(`${directory}/`))
  let repositories: Promise<Set<string>> | undefined
  /** Found after the call had ended. */
  const late: string[] = []
  /** For the model, below the result of the call. */
  const undone: string[] = []
  let isInterruptedChecked = false
  const checkEarlier = async (): Promise<void> => {
    isInterruptedChecked = true
    if (!existsSync(home.file("cache", "sandbox", "running"))) return
    const { checkInterrupted } = await import("../../exec/sandbox/interrupted-checks.ts")
    late.push(...(await checkInterrupted(home.path)))
  }
  return {
    name: "executed files",
    awaitingReply: async () => {
      if (!isInterruptedChecked) await checkEarlier()
      await (repositories ??= knownRepositories(root))
    },
    toolStarting: async (call) => {
      if (!isInterruptedChecked) await checkEarlier()
      tellAll(call, late.splice(0))
      if (call.access !== "exec" || (await workspace.isSandboxed?.()) !== true) return undefined
      const [{ checkNewRepositories }, { recordExecutedFiles }] = await Promise.all([
        import("../../exec/sandbox/executed-files.ts"),
        import("../../exec/sandbox/interrupted-checks.ts"),
      ])
      repositories ??= knownRepositories(root)
      const known = repositories
      const files = recordExecutedFiles(home.path, {
        options: {
          directories: [...new Set([root, realPath(workspace.cwd()), ...(await known)])],
          opened: call.opened.map(realPath),
          keepsNew: context.session().dispatch.permissions.profile === "full-auto" ? true : undefined,
          home: isHomeWritable ? { path: userHome, writable } : undefined,
        },
        root,
        repositories: [...(await known)],
      })
      return () => {
        const texts = files.check()
        tellAll(call, texts)
        undone.push(...texts)
        // Not awaited: a call does not take longer because of it.
        known
          .then(async (set) => {
            late.push(...(await checkNewRepositories(root, set)))
            files.finished()
          })
          .catch((error: unknown) => {
            log.warning(`new repositories could not be checked: ${errorMessage(error)}`)
          })
      }
    },
    afterTool: () => (undone.length === 0 ? undefined : `${undone.splice(0).join("\n")}\n${HOW_TO_CREATE}`),
    turnFooter: () => (late.length === 0 ? undefined : late.splice(0).join("\n")),
  }
}

const HOW_TO_CREATE =
  "[Commands cannot create files that other programs execute. If the user wants one, write it with a file tool, which asks the user.]"

async function knownRepositories(root: string): Promise<Set<string>> {
  const { findRepositories } = await import("../../exec/sandbox/git-repositories.ts")
  return new Set(await findRepositories(root))
}

function tellAll({ tell }: StartingCall, texts: readonly string[]): void {
  for (const text of texts) tell("warning", text)
}
