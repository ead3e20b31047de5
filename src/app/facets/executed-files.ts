import { existsSync } from "node:fs"

import { errorMessage } from "../../base/system-error.ts"
import { realPath } from "../../base/real-path.ts"
import type { StartingCall } from "../../agent/facet.ts"
import { agentInstructions, executedByOthers } from "../../policy/file-floor.ts"
import type { Subject } from "../../protocol/tool.ts"
import type { ProjectSearch } from "../../exec/sandbox/git-repositories.ts"
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
  /** The last search of the project that has begun. */
  let searching: Promise<ProjectSearch> | undefined
  /** Filled by the first search, and by the checks after commands. */
  let repositories: Set<string> | undefined
  const knownProject = async (): Promise<KnownProject> => {
    const search = await (searching ??= searchFor(root))
    if (repositories === undefined) {
      const { isRepositoryDirectory } = await import("../../exec/sandbox/git-repositories.ts")
      repositories ??= new Set(search.found.filter(isRepositoryDirectory))
    }
    return { search, repositories }
  }
  /** Found after the call had ended. */
  const late: string[] = []
  /** For the model, below the result of the call. */
  const undone: string[] = []
  const checks = new Set<Promise<void>>()
  /** Not awaited by the call: it does not take longer because of the search. */
  const checkLater = (check: () => Promise<readonly string[]>): void => {
    const running = check()
      .then((texts) => {
        late.push(...texts)
        undone.push(...texts)
      })
      .catch((error: unknown) => {
        log.warning(`the project could not be checked after a command: ${errorMessage(error)}`)
      })
      .finally(() => checks.delete(running))
    checks.add(running)
  }
  const isProtected = (subject: Subject): boolean => {
    if (subject.kind !== "path") return false
    const path = workspace.files.resolve(subject.path)
    return executedByOthers(path) !== undefined || agentInstructions(path) !== undefined
  }
  const noteForModel = (): string | undefined =>
    undone.length === 0 ? undefined : `${undone.splice(0).join("\n")}\n${HOW_TO_CREATE}`
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
      await knownProject()
    },
    toolStarting: async (call) => {
      if (!isInterruptedChecked) await checkEarlier()
      tellAll(call, late.splice(0))
      // The user was asked about what a file tool writes there, so that the check after the next command must know it.
      if (call.access === "write" && searching !== undefined && call.subjects.some(isProtected)) {
        return () => {
          searching = searchFor(root)
        }
      }
      if (call.access !== "exec" || (await workspace.isSandboxed?.()) !== true) return undefined
      const [{ checkNewRepositories }, { recordExecutedFiles }] = await Promise.all([
        import("../../exec/sandbox/executed-files.ts"),
        import("../../exec/sandbox/interrupted-checks.ts"),
      ])
      const known = await knownProject()
      const { search } = known
      const options = {
        directories: [...new Set([root, realPath(workspace.cwd()), ...search.found, ...known.repositories])],
        opened: call.opened.map(realPath),
        opensInstructions: call.opensInstructions,
        keepsNew: context.session().dispatch.permissions.profile === "full-auto" ? (true as const) : undefined,
        home: isHomeWritable ? { path: userHome, writable } : undefined,
      }
      const startedMs = Date.now()
      const files = recordExecutedFiles(home.path, { options, root, repositories: [...known.repositories] })
      return () => {
        const texts = files.check()
        tellAll(call, texts)
        undone.push(...texts)
        checkLater(async () => {
          const { checkNewFiles } = await import("../../exec/sandbox/new-project-files.ts")
          const after = await (searching = searchFor(root))
          const found = [
            ...checkNewFiles(after, { root, search, startedMs }, options),
            ...checkNewRepositories(root, known.repositories, after),
          ]
          files.finished()
          return found
        })
      }
    },
    afterTool: noteForModel,
    beforeTurn: async () => {
      await Promise.all(checks)
      return noteForModel()
    },
    turnFooter: async () => {
      await Promise.all(checks)
      return late.length === 0 ? undefined : late.splice(0).join("\n")
    },
  }
}

const HOW_TO_CREATE =
  "[Commands cannot create files that other programs execute or that agents follow. If the user wants one, write it with a file tool, which asks the user.]"

interface KnownProject {
  readonly search: ProjectSearch
  /** Grows by the ones that are found later. */
  readonly repositories: Set<string>
}

async function searchFor(root: string): Promise<ProjectSearch> {
  const { searchProject } = await import("../../exec/sandbox/git-repositories.ts")
  return await searchProject(root)
}

function tellAll({ tell }: StartingCall, texts: readonly string[]): void {
  for (const text of texts) tell("warning", text)
}
