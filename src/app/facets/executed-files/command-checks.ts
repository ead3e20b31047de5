import { realPath } from "../../../base/real-path.ts"
import { errorMessage } from "../../../base/system-error.ts"
import type { StartingCall } from "../../../agent/facet.ts"
import { privateCachesIn } from "../../../exec/sandbox/private-caches.ts"
import type { beginProjectCheck, ProjectCheck, ProjectCheckOptions } from "../../../exec/project-check/project-check.ts"
import type { BegunCheck, WriteObserver } from "../../services/background-checks.ts"
import { isProtectedFile } from "../../services/protected-file.ts"
import type { FacetContext } from "../../session/facet-context.ts"
import { packageCaches, writableDirectories } from "../../session/session-workspace.ts"
import type { Findings } from "./findings.ts"
import type { KnownProject } from "./known-project.ts"

/** Their files are compared one by one while the call waits. Others are judged by what they contain if they change. */
const MAX_REMEMBERED = 400

/** Checks what commands of a session leave in its project. */
export interface CommandChecks {
  /** Remembers the state before a command. With `goesOn`, a background process may have changed it since the last check. */
  begin(call: StartingCall, goesOn: boolean): Promise<CommandCheck>
  /** Prepares a check for a program that is about to start beside the calls. The returned function remembers the state. */
  prepare(): Promise<() => BegunCheck>
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
  /** The command goes on in the background. */
  goesOn(): void
}

export interface CommandCheckOptions {
  readonly context: FacetContext
  readonly root: string
  readonly project: KnownProject
  readonly findings: Findings
}

export function createCommandChecks({ context, root, project, findings }: CommandCheckOptions): CommandChecks {
  const { services, workspace } = context
  const { config, home, log, backgroundChecks } = services
  const searchPath = services.environment.get("PATH") ?? ""
  const userHome = realPath(home.userHome)
  const writable = writableDirectories(root, { config, home }).map(realPath)
  // Resolved once: a link that a command creates later must not lead Hermes to its target.
  const caches = [...packageCaches(home), privateCachesIn(home.path)].map(realPath)
  const ownDirectories = [home.path, home.root].map(realPath)
  const isHomeWritable = writable.some((directory) => userHome === directory || userHome.startsWith(`${directory}/`))
  const undone = new Set<string>()
  const reported = new Set<string>()
  /** The repositories that were not there before the session. */
  const created = new Set<string>()
  const contents: ProjectCheckOptions["contents"] = { contents: new Map(), hashes: new Map() }
  const removed: ProjectCheckOptions["removed"] = new Map()
  /** Of background processes that only run git and may change settings of the repository. */
  const backgroundLines: string[] = []
  const checks = new Set<Promise<void>>()
  /** The commands that run now. The reader of a run may stop before they have ended. */
  const commands = new Set<Promise<void>>()
  let last: ProjectCheck | undefined
  let lastDirectories: readonly string[] = []
  const previousCheck = () =>
    last === undefined ? undefined : { check: last, searchedMs: project.searchedMs(), checkedMs: project.checkedMs() }
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
  const reportFailure = (error: unknown): void => {
    const text = `The project could not be checked after a command: ${errorMessage(error)}`
    log.warning(text)
    findings.add([`${text}. Check what the command created before you use it.`])
  }
  /** The rest of a check, which reads the whole project. */
  const checkProject = async (check: ProjectCheck): Promise<void> => {
    const after = await project.search()
    try {
      findings.add(await check.checkProject(after))
    } finally {
      findings.inform(check.changedByGit())
    }
    if (!after.isComplete) reportLimit()
    check.finished()
  }
  /** Not awaited by the call: it does not take longer because of the search. */
  const checkLater = (check: ProjectCheck, stopObserving: () => void): void => {
    const running = checkProject(check)
      .catch((error: unknown) => {
        reportFailure(error)
      })
      .finally(() => {
        stopObserving()
        checks.delete(running)
      })
    checks.add(running)
  }
  const filesFor = (
    { opened, treeLines, gitLines }: Pick<ProjectCheckOptions["files"], "opened" | "treeLines" | "gitLines">,
    directories: readonly string[],
  ): ProjectCheckOptions["files"] => ({
    directories: [...new Set([realPath(workspace.cwd()), ...directories])].slice(0, MAX_REMEMBERED),
    writable: {
      directories: [...writable, ...caches, ...(context.options.sandboxPaths?.writable ?? []).map(realPath)],
      except: ownDirectories,
    },
    opened,
    treeLines,
    gitLines,
    ...keepsNew(),
    home: isHomeWritable ? { path: userHome, writable } : undefined,
    gitHome: userHome,
  })
  /** Whether a command is the only one, from its start to its check. */
  const createAlone = (): (() => boolean) => {
    const wasAlone = backgroundChecks.isAlone(root)
    return () => wasAlone && backgroundChecks.isAlone(root)
  }
  const load = async () => {
    const [{ beginProjectCheck }, { isNearRoot }, { executedFiles, isChangedSince }] = await Promise.all([
      import("../../../exec/project-check/project-check.ts"),
      import("../../../exec/project/git-repositories.ts"),
      import("../../../exec/project/project-protection.ts"),
    ])
    const { search, repositories, submodules } = await project.known()
    const known = {
      hermesHome: home.path,
      root,
      search,
      repositories,
      created,
      undone,
      reported,
      contents,
      removed,
      searchPath,
    }
    // Those that the sandbox protects. The others are checked later.
    const near = [...search.found.keys()].filter((directory) => isNearRoot(directory, root))
    const directories = [...new Set([root, ...near, ...repositories])]
    const searchedMs = project.searchedMs()
    return {
      begin: beginProjectCheck,
      directories,
      /**
       * While background processes run: the ones of the check before, and new ones in which nothing has changed since. In others, what a
       * process writes all the time would be taken for the user's.
       */
      quietDirectories: () => {
        const remembered = new Set(lastDirectories)
        const isQuiet = (directory: string): boolean =>
          executedFiles([directory]).every((path) => !isChangedSince(path, searchedMs))
        return [...lastDirectories, ...directories.filter((path) => !remembered.has(path) && isQuiet(path))]
      },
      options: { ...known, searchAgain: () => project.search(), submodules },
    }
  }
  const writeObserver = ({ executedFiles }: ProjectCheck, opened: string[]): WriteObserver => ({
    accept: (paths) => {
      opened.push(...paths.filter((path) => !opened.includes(path)))
    },
    written: (paths) => {
      executedFiles.remember(paths.filter(isProtectedFile))
    },
  })
  /** The code is loaded, and the project was searched. */
  const beginBetweenCalls = (
    begin: typeof beginProjectCheck,
    options: Omit<ProjectCheckOptions, "isAlone">,
    previous: ProjectCheckOptions["previous"],
  ): BegunCheck => {
    const opened: string[] = []
    const check = begin({
      ...options,
      search: project.last() ?? options.search,
      previous,
      files: {
        ...options.files,
        directories: lastDirectories,
        opened,
        treeLines: undefined,
        gitLines: [...backgroundLines],
        ...keepsNew(),
      },
      isAlone: () => false,
    })
    last = check
    return {
      ...writeObserver(check, opened),
      check: async () => {
        try {
          findings.add(check.checkFiles())
          await checkProject(check)
        } catch (error) {
          reportFailure(error)
        }
      },
    }
  }
  return {
    begin: async (call, goesOn) => {
      const { begin, directories, quietDirectories, options: known } = await load()
      const previous = goesOn ? previousCheck() : undefined
      if (!goesOn) backgroundLines.length = 0
      const lines = call.subjects.flatMap((subject) => (subject.kind === "command" ? [subject.command] : []))
      const gitLines = call.opensGitSettings === true ? lines : []
      const opened = call.opened.map(realPath)
      const files = filesFor(
        {
          opened,
          treeLines: call.opensInstructions === true ? lines : undefined,
          gitLines: [...gitLines, ...backgroundLines],
        },
        previous === undefined ? directories : quietDirectories(),
      )
      lastDirectories = files.directories
      const options = { ...known, files }
      const check = begin({ ...options, previous, isAlone: createAlone() })
      const openedFiles = await rememberOpened(lines, { ...files, opened: [...opened] })
      const stopObserving = backgroundChecks.observeWrites(root, writeObserver(check, opened))
      const command = Promise.withResolvers<void>()
      commands.add(command.promise)
      return {
        ended: () => {
          commands.delete(command.promise)
          command.resolve()
          last = check
          try {
            findings.add([...check.checkFiles(), ...openedFiles()])
          } catch (error) {
            reportFailure(error)
          }
          checkLater(check, stopObserving)
        },
        beginBetweenCalls: () => beginBetweenCalls(begin, options, previousCheck()),
        goesOn: () => {
          backgroundLines.push(...gitLines)
        },
      }
    },
    prepare: async () => {
      const { begin, directories, options } = await load()
      const files = filesFor({ opened: [], treeLines: undefined, gitLines: [] }, directories)
      const lastBefore = last
      return () => {
        // Between the last check and this program nothing ran that must be checked, unless a command came in between.
        const isFirst = last === lastBefore
        if (isFirst) lastDirectories = files.directories
        return beginBetweenCalls(begin, { ...options, files }, isFirst ? undefined : previousCheck())
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
  lines: readonly string[],
  { opened, keepsNew }: ProjectCheckOptions["files"],
): Promise<() => readonly string[]> {
  if (opened.length === 0) return () => []
  const { rememberOpenedFiles } = await import("../../../exec/project-check/opened-files.ts")
  const files = rememberOpenedFiles({ opened, lines, keepsAll: keepsNew === true })
  return () => files.check()
}
