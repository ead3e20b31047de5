import { errorMessage } from "../../base/system-error.ts"
import { realPath } from "../../base/real-path.ts"
import type { StartingCall } from "../../agent/facet.ts"
import { agentInstructions, executedByOthers } from "../../policy/file-floor.ts"
import type { Subject } from "../../protocol/tool.ts"
import type { beginProjectCheck, ProjectCheck } from "../../exec/sandbox/project-check.ts"
import type { ProjectIndex, ProjectSearch } from "../../exec/sandbox/project-index.ts"
import type { BackgroundCheck, BegunCheck } from "../services/background-checks.ts"
import { hasUser } from "../services/command-notices.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { writableDirectories } from "../session/session-workspace.ts"

/** Checks after each sandboxed command that it left nothing that other programs execute, where mounts cannot prevent it. */
export function executedFilesFacet(context: FacetContext): AppFacet | undefined {
  const { workspace, services } = context
  const { config, home, log, clock, commandNotices: notices, backgroundChecks, processes } = services
  if (workspace.kind !== "local" || config.get("terminal.sandbox") === "off") return undefined
  const root = realPath(workspace.cwd())
  const userHome = realPath(home.userHome)
  const writable = writableDirectories(root, { config, home }).map(realPath)
  const isHomeWritable = writable.some((directory) => userHome === directory || userHome.startsWith(`${directory}/`))
  let index: ProjectIndex | undefined
  const update = async (signal?: AbortSignal): Promise<ProjectSearch> => {
    searchedMs = Date.now()
    const { createProjectIndex } = await import("../../exec/sandbox/project-index.ts")
    index ??= createProjectIndex(root, undefined, openedMs)
    return await index.update(signal)
  }
  const openedMs = Date.now()
  let searchedMs = 0
  /** The last update of the index that has begun. */
  let searching: Promise<ProjectSearch> | undefined
  /** Filled by the first search, and by the checks after commands. */
  let repositories: Set<string> | undefined
  const knownProject = async (): Promise<KnownProject> => {
    const search = await (searching ??= update())
    if (repositories === undefined) {
      const { isRepositoryDirectory } = await import("../../exec/sandbox/git-repositories.ts")
      repositories ??= new Set([...search.found.keys()].filter(isRepositoryDirectory))
    }
    return { search, repositories }
  }
  const showAll = (call: StartingCall): void => {
    // The reader of an interrupted run may be gone.
    if (hasUser(context.options) && !call.signal.aborted) for (const text of notices.take()) call.tell("warning", text)
  }
  let submodules: ((indexFile: string) => readonly string[]) | undefined
  /** For the model, below the result of the call. */
  const undone: string[] = []
  const checks = new Set<Promise<void>>()
  /** The commands that run now. The reader of a run may stop before they have ended. */
  const commands = new Set<Promise<void>>()
  /** Not awaited by the call: it does not take longer because of the search. */
  const checkLater = (check: () => Promise<readonly string[]>, finished: () => void): void => {
    const running = check()
      .then((texts) => {
        keep(texts)
        finished()
      })
      .catch((error: unknown) => {
        log.warning(`the project could not be checked after a command: ${errorMessage(error)}`)
      })
      .finally(() => checks.delete(running))
    checks.add(running)
  }
  let isLimitReported = false
  const reportLimit = (): void => {
    if (isLimitReported) return
    isLimitReported = true
    notices.add([
      `${root} has so many directories that Hermes does not look into all of them for files that a command creates and other programs execute. Start Hermes in a smaller directory to have all of them checked.`,
    ])
  }
  const isProtected = (subject: Subject): boolean => {
    if (subject.kind !== "path") return false
    const path = workspace.files.resolve(subject.path)
    return executedByOthers(path) !== undefined || agentInstructions(path) !== undefined
  }
  const noteForModel = (): string | undefined =>
    undone.length === 0 ? undefined : `${undone.splice(0).join("\n")}\n${HOW_TO_CREATE}`
  let findings = 0
  const keep = (texts: readonly string[]): void => {
    findings += texts.length
    notices.add(texts)
    undone.push(...texts)
  }
  /** The rest of a check, which reads the whole project. */
  const checkProject = async (check: ProjectCheck): Promise<readonly string[]> => {
    const after = await (searching = update())
    const found = await check.checkProject(after)
    if (!after.isComplete) reportLimit()
    return found
  }
  /** Between calls, for background processes. The call that started them has loaded the code and searched the project. */
  const beginBetweenCalls = (begin: typeof beginProjectCheck, options: Parameters<typeof begin>[0]): BegunCheck => {
    const accepted: string[] = []
    const opened = { opened: accepted, opensInstructions: undefined }
    const check = begin({
      ...options,
      search: searching ?? options.search,
      previous: lastCheck(),
      files: { ...options.files, ...opened, ...keepsNew() },
    })
    last = check
    return {
      accept: (paths) => {
        accepted.push(...paths)
      },
      check: async () => {
        try {
          keep(check.checkFiles())
          keep(await checkProject(check))
          check.finished()
        } catch (error) {
          log.warning(`the project could not be checked for background processes: ${errorMessage(error)}`)
        }
      },
    }
  }
  const keepsNew = (): { readonly keepsNew: true | undefined } => ({
    keepsNew: context.session().dispatch.permissions.profile === "full-auto" ? true : undefined,
  })
  let last: ProjectCheck | undefined
  let lastDirectories: readonly string[] = []
  const undonePaths = new Set<string>()
  const lastCheck = () => (last === undefined ? undefined : { check: last, searchedMs })
  const watched = new Set<string>()
  let watching: BackgroundCheck | undefined
  /** bubblewrap exits a little earlier than the processes in the sandbox, which may still write. */
  const checkUntilQuiet = async (check: BackgroundCheck): Promise<void> => {
    const { signal } = new AbortController()
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const before = findings
      await clock.sleep(ROUND_MS, { signal })
      await check.check()
      if (findings === before) return
    }
  }
  const watchProcesses = (begin: () => BegunCheck): void => {
    for (const { id, state, isDetached } of processes.list(context.taskId)) {
      if (state.status !== "running" || isDetached || watched.has(id)) continue
      watched.add(id)
      watching ??= backgroundChecks.watch(root, begin)
      const current = watching
      const exited = processes.exited(id).then(async () => {
        await checkUntilQuiet(current)
        watched.delete(id)
        if (watched.size > 0) return
        watching = undefined
        await current.end()
      })
      backgroundChecks.track(exited)
    }
  }
  const commandStarting = async (call: StartingCall, wasWatching: boolean): Promise<() => void> => {
    const [{ beginProjectCheck: begin }, { isNearRoot }, { createSubmoduleLookup }] = await Promise.all([
      import("../../exec/sandbox/project-check.ts"),
      import("../../exec/sandbox/git-repositories.ts"),
      import("../../exec/sandbox/submodule-paths.ts"),
    ])
    const known = await knownProject()
    const { search } = known
    // Those that the sandbox protects. The others are checked later.
    const near = [...search.found.keys()].filter((directory) => isNearRoot(directory, root))
    const previous = wasWatching ? lastCheck() : undefined
    // A background process may have created the ones that are new since then.
    const directories = previous === undefined ? [root, ...near, ...known.repositories] : lastDirectories
    const files = {
      directories: [...new Set([realPath(workspace.cwd()), ...directories])].slice(0, MAX_REMEMBERED),
      writable: {
        directories: [...writable, ...(context.options.sandboxPaths?.writable ?? []).map(realPath)],
        except: [home.path, home.root].map(realPath),
      },
      opened: call.opened.map(realPath),
      opensInstructions: call.opensInstructions,
      ...keepsNew(),
      home: isHomeWritable ? { path: userHome, writable } : undefined,
    }
    submodules ??= createSubmoduleLookup()
    const options = {
      hermesHome: home.path,
      root,
      search,
      repositories: known.repositories,
      undone: undonePaths,
      submodules,
      files,
    }
    lastDirectories = files.directories
    const check = begin({ ...options, previous })
    const openedFiles = await rememberOpened(call, files)
    const command = Promise.withResolvers<void>()
    commands.add(command.promise)
    return () => {
      commands.delete(command.promise)
      command.resolve()
      last = check
      keep([...check.checkFiles(), ...openedFiles()])
      showAll(call)
      checkLater(
        () => checkProject(check),
        () => {
          check.finished()
        },
      )
      watchProcesses(() => beginBetweenCalls(begin, options))
    }
  }
  return {
    name: "executed files",
    awaitingReply: async (signal) => {
      await services.interruptedChecks()
      if (searching !== undefined) return
      const first = update(signal)
      searching = first
      await first
      // An aborted one is not complete.
      if (signal.aborted && searching === first) searching = undefined
    },
    toolStarting: async (call) => {
      await services.interruptedChecks()
      showAll(call)
      // The user was asked about what a file tool writes there, so that the check after the next command must know it.
      if (call.access === "write" && call.subjects.some(isProtected)) {
        backgroundChecks.accept(
          root,
          call.subjects.flatMap((one) => (one.kind === "path" ? [realPath(workspace.files.resolve(one.path))] : [])),
        )
        return () => {
          searching = update()
        }
      }
      if (call.access !== "exec" || (await workspace.isSandboxed?.()) !== true) return undefined
      // The process may exit during the check.
      const wasWatching = watching !== undefined
      const resume = await backgroundChecks.pause(root)
      try {
        const ended = await commandStarting(call, wasWatching)
        return () => {
          try {
            ended()
          } finally {
            resume()
          }
        }
      } catch (error) {
        resume()
        throw error
      }
    },
    afterTool: noteForModel,
    beforeTurn: async () => {
      await Promise.all(checks)
      return noteForModel()
    },
    turnFooter: async () => {
      await Promise.all([...checks, services.interruptedChecks()])
      const texts = hasUser(context.options) ? notices.take() : []
      return texts.length === 0 ? undefined : texts.join("\n")
    },
    runEnded: () => {
      if (hasUser(context.options)) notices.shown()
      return Promise.resolve()
    },
    close: async () => {
      const waiting = new AbortController()
      const done = Promise.all(commands).then(() => Promise.all(checks))
      await Promise.race([done, clock.sleep(MAX_CLOSING_MS, { signal: waiting.signal })])
      waiting.abort()
    },
  }
}

async function rememberOpened(
  call: StartingCall,
  { opened, keepsNew }: { readonly opened: readonly string[]; readonly keepsNew: true | undefined },
): Promise<() => readonly string[]> {
  if (opened.length === 0) return () => []
  const { rememberOpenedFiles } = await import("../../exec/sandbox/opened-files.ts")
  const lines = call.subjects.flatMap((subject) => (subject.kind === "command" ? [subject.command] : []))
  const files = rememberOpenedFiles({ opened, lines, keepsAll: keepsNew === true })
  return () => files.check()
}

const HOW_TO_CREATE =
  "[Commands cannot create files that other programs execute or that agents follow. If the user wants one, write it with a file tool, which asks the user.]"

const MAX_ROUNDS = 10
const ROUND_MS = 100

/** What is not checked by then is checked by the next session. */
const MAX_CLOSING_MS = 3000

interface KnownProject {
  readonly search: ProjectSearch
  /** Grows by the ones that are found later. */
  readonly repositories: Set<string>
}

/** Their files are compared one by one while the call waits. */
const MAX_REMEMBERED = 400
