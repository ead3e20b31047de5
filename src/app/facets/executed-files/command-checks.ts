import { realPath } from "../../../base/real-path.ts"
import { errorMessage } from "../../../base/system-error.ts"
import type { StartingCall } from "../../../agent/facet.ts"
import type { beginProjectCheck, ProjectCheck, ProjectCheckOptions } from "../../../exec/sandbox/project-check.ts"
import type { BegunCheck } from "../../services/background-checks.ts"
import type { FacetContext } from "../../session/facet-context.ts"
import { writableDirectories } from "../../session/session-workspace.ts"
import type { Findings } from "./findings.ts"
import type { KnownProject } from "./known-project.ts"

/** Their files are compared one by one while the call waits. */
const MAX_REMEMBERED = 400

/** Checks what commands of a session leave in its project. */
export interface CommandChecks {
  /** Remembers the state before a command. With `goesOn`, a background process may have changed it since the last check. */
  begin(call: StartingCall, goesOn: boolean): Promise<CommandCheck>
  /** Resolves when all commands that run now have ended and are checked. */
  settled(): Promise<void>
  /** Resolves when all commands that have ended are checked. */
  endedAreChecked(): Promise<void>
}

export interface CommandCheck {
  /** Checks what the call waits for, and the rest of the project afterwards. */
  ended(): void
  /** Begins a check for a background process that the command started. */
  beginBetweenCalls(): BegunCheck
}

export interface CommandCheckOptions {
  readonly context: FacetContext
  readonly root: string
  readonly project: KnownProject
  readonly findings: Findings
}

export function createCommandChecks({ context, root, project, findings }: CommandCheckOptions): CommandChecks {
  const { services, workspace } = context
  const { config, home, log } = services
  const userHome = realPath(home.userHome)
  const writable = writableDirectories(root, { config, home }).map(realPath)
  const isHomeWritable = writable.some((directory) => userHome === directory || userHome.startsWith(`${directory}/`))
  const undone = new Set<string>()
  const checks = new Set<Promise<void>>()
  /** The commands that run now. The reader of a run may stop before they have ended. */
  const commands = new Set<Promise<void>>()
  let submodules: ProjectCheckOptions["submodules"] | undefined
  let last: ProjectCheck | undefined
  let lastDirectories: readonly string[] = []
  const previousCheck = () => (last === undefined ? undefined : { check: last, searchedMs: project.searchedMs() })
  const keepsNew = (): { readonly keepsNew: true | undefined } => ({
    keepsNew: context.session().dispatch.permissions.profile === "full-auto" ? true : undefined,
  })
  let isLimitReported = false
  const reportLimit = (): void => {
    if (isLimitReported) return
    isLimitReported = true
    services.commandNotices.add([
      `${root} has so many directories that Hermes does not look into all of them for files that a command creates and other programs execute. Start Hermes in a smaller directory to have all of them checked.`,
    ])
  }
  /** The rest of a check, which reads the whole project. */
  const checkProject = async (check: ProjectCheck): Promise<void> => {
    const after = await project.search()
    findings.add(await check.checkProject(after))
    if (!after.isComplete) reportLimit()
    check.finished()
  }
  /** Not awaited by the call: it does not take longer because of the search. */
  const checkLater = (check: ProjectCheck): void => {
    const running = checkProject(check)
      .catch((error: unknown) => {
        log.warning(`the project could not be checked after a command: ${errorMessage(error)}`)
      })
      .finally(() => checks.delete(running))
    checks.add(running)
  }
  const filesFor = (call: StartingCall, directories: readonly string[]): ProjectCheckOptions["files"] => ({
    directories: [...new Set([realPath(workspace.cwd()), ...directories])].slice(0, MAX_REMEMBERED),
    writable: {
      directories: [...writable, ...(context.options.sandboxPaths?.writable ?? []).map(realPath)],
      except: [home.path, home.root].map(realPath),
    },
    opened: call.opened.map(realPath),
    opensInstructions: call.opensInstructions,
    ...keepsNew(),
    home: isHomeWritable ? { path: userHome, writable } : undefined,
  })
  /** The call that started the process has loaded the code and searched the project. */
  const beginBetweenCalls = (begin: typeof beginProjectCheck, options: ProjectCheckOptions): BegunCheck => {
    const accepted: string[] = []
    const check = begin({
      ...options,
      search: project.last() ?? options.search,
      previous: previousCheck(),
      files: { ...options.files, opened: accepted, opensInstructions: undefined, ...keepsNew() },
    })
    last = check
    return {
      accept: (paths) => {
        accepted.push(...paths)
      },
      check: async () => {
        try {
          findings.add(check.checkFiles())
          await checkProject(check)
        } catch (error) {
          log.warning(`the project could not be checked for background processes: ${errorMessage(error)}`)
        }
      },
    }
  }
  return {
    begin: async (call, goesOn) => {
      const [{ beginProjectCheck: begin }, { isNearRoot }, { createSubmoduleLookup }] = await Promise.all([
        import("../../../exec/sandbox/project-check.ts"),
        import("../../../exec/sandbox/git-repositories.ts"),
        import("../../../exec/sandbox/submodule-paths.ts"),
      ])
      const { search, repositories } = await project.known()
      // Those that the sandbox protects. The others are checked later.
      const near = [...search.found.keys()].filter((directory) => isNearRoot(directory, root))
      const previous = goesOn ? previousCheck() : undefined
      // A background process may have created the ones that are new since then.
      const files = filesFor(call, previous === undefined ? [root, ...near, ...repositories] : lastDirectories)
      lastDirectories = files.directories
      submodules ??= createSubmoduleLookup()
      const options = { hermesHome: home.path, root, search, repositories, undone, submodules, files }
      const check = begin({ ...options, previous })
      const openedFiles = await rememberOpened(call, files)
      const command = Promise.withResolvers<void>()
      commands.add(command.promise)
      return {
        ended: () => {
          commands.delete(command.promise)
          command.resolve()
          last = check
          findings.add([...check.checkFiles(), ...openedFiles()])
          checkLater(check)
        },
        beginBetweenCalls: () => beginBetweenCalls(begin, options),
      }
    },
    settled: async () => {
      await Promise.all(commands)
      await Promise.all(checks)
    },
    endedAreChecked: async () => {
      await Promise.all(checks)
    },
  }
}

async function rememberOpened(
  call: StartingCall,
  { opened, keepsNew }: ProjectCheckOptions["files"],
): Promise<() => readonly string[]> {
  if (opened.length === 0) return () => []
  const { rememberOpenedFiles } = await import("../../../exec/sandbox/opened-files.ts")
  const lines = call.subjects.flatMap((subject) => (subject.kind === "command" ? [subject.command] : []))
  const files = rememberOpenedFiles({ opened, lines, keepsAll: keepsNew === true })
  return () => files.check()
}
