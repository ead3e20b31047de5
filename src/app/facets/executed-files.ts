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
  let knownDirectories: Promise<KnownDirectories> | undefined
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
      await (knownDirectories ??= findKnown(root))
    },
    toolStarting: async (call) => {
      if (!isInterruptedChecked) await checkEarlier()
      tellAll(call, late.splice(0))
      if (call.access !== "exec" || (await workspace.isSandboxed?.()) !== true) return undefined
      const [{ checkNewRepositories }, { recordExecutedFiles }] = await Promise.all([
        import("../../exec/sandbox/executed-files.ts"),
        import("../../exec/sandbox/interrupted-checks.ts"),
      ])
      knownDirectories ??= findKnown(root)
      const known = knownDirectories
      const { directories, repositories } = await known
      const files = recordExecutedFiles(home.path, {
        options: {
          directories: [...new Set([root, realPath(workspace.cwd()), ...directories, ...repositories])],
          opened: call.opened.map(realPath),
          opensInstructions: call.opensInstructions,
          keepsNew: context.session().dispatch.permissions.profile === "full-auto" ? true : undefined,
          home: isHomeWritable ? { path: userHome, writable } : undefined,
        },
        root,
        repositories: [...repositories],
      })
      return () => {
        const texts = files.check()
        tellAll(call, texts)
        undone.push(...texts)
        // Not awaited: a call does not take longer because of it.
        known
          .then(async (set) => {
            late.push(...(await checkNewRepositories(root, set.repositories)))
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
  "[Commands cannot create files that other programs execute or that agents follow. If the user wants one, write it with a file tool, which asks the user.]"

interface KnownDirectories {
  /** Those with files that the sandbox protects. */
  readonly directories: readonly string[]
  /** Those of them that are repositories. Grows by the ones that are found later. */
  readonly repositories: Set<string>
}

async function findKnown(root: string): Promise<KnownDirectories> {
  const { findRepositories, isRepositoryDirectory } = await import("../../exec/sandbox/git-repositories.ts")
  const directories = await findRepositories(root)
  return { directories, repositories: new Set(directories.filter(isRepositoryDirectory)) }
}

function tellAll({ tell }: StartingCall, texts: readonly string[]): void {
  for (const text of texts) tell("warning", text)
}
