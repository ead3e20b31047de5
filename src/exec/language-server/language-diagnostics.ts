import { extname } from "node:path"
import { existsSync } from "node:fs"

import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { lazy } from "../../base/lazy.ts"
import type { Logger } from "../../base/logger.ts"
import { realPath } from "../../base/real-path.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Workspace } from "../workspace.ts"
import { createBrokenServers } from "./broken-servers.ts"
import { newErrors } from "./diagnostic.ts"
import type { DiagnosedText, Diagnostic } from "./diagnostic.ts"
import { fetchDiagnostics } from "./document-diagnostics.ts"
import { createServerFinder } from "./find-server.ts"
import type { FoundServer } from "./find-server.ts"
import { brokenServersFile, serverModulesDirectory } from "./server-paths.ts"
import { configureServers } from "./server-settings.ts"
import type { PooledServer, PoolLimits, ServerPool } from "./server-pool.ts"
import type { ServerCapabilities } from "./running-server.ts"

/** Errors that a change introduced into a file; lines and columns start at one. */
export interface FileErrors {
  readonly path: string
  readonly errors: readonly NewError[]
}

export interface NewError {
  readonly line: number
  readonly column: number
  readonly message: string
  /** Empty when the server provides none. */
  readonly code: string
  readonly source: string
}

/** Finds errors that file changes introduce, with language servers. Never rejects, and waits no longer than the settings allow. */
export interface LanguageDiagnostics {
  /**
   * Call it before files are changed or created: records their existing errors. Paths are absolute. Resolves with undefined when no
   * server handles any of the files.
   */
  before(paths: readonly string[], signal: AbortSignal): Promise<PendingDiagnostics | undefined>
  close(): Promise<void>
}

export interface PendingDiagnostics {
  /** Call it after the change: resolves with the new errors of these files, or with none when the servers respond too late. */
  after(paths: readonly string[], signal: AbortSignal): Promise<readonly FileErrors[]>
}

export interface LanguageDiagnosticsOptions {
  readonly settings: {
    readonly waitMode: "document" | "full"
    /** Maximum delay of one change in seconds; doubled in mode `full`. */
    readonly waitTimeout: number
    readonly servers: Readonly<Record<string, unknown>>
  }
  readonly start: Workspace["start"]
  /** Whether the session's commands run in the sandbox. */
  readonly hasSandbox: () => Promise<boolean>
  readonly home: string
  readonly userHome: string
  readonly path: string
  readonly version: string
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: Partial<PoolLimits>
}

/** After this many timeouts in a row a server gets only the short wait, until it has responded once. */
const MAX_CONSECUTIVE_TIMEOUTS = 2
const SHORT_WAIT_MS = 1000
/** How many other open files are checked in mode `full`. */
const MAX_OTHER_FILES = 20

export function createLanguageDiagnostics(options: LanguageDiagnosticsOptions): LanguageDiagnostics {
  const { clock, log } = options
  const { waitMode, waitTimeout } = options.settings
  const waitMs = Math.round(waitTimeout * 1000) * (waitMode === "full" ? 2 : 1)
  const { servers, problems } = configureServers(options.settings.servers)
  for (const problem of problems) log.warning(problem)
  const modules = serverModulesDirectory(options.home)
  const finder = createServerFinder({ ...options, servers, modules })
  const broken = createBrokenServers({ file: brokenServersFile(options.home), clock, log })
  const hasSandbox = lazy(() => options.hasSandbox())
  /** Loads the protocol library with the first server that is needed. */
  const pool = lazy(async (): Promise<ServerPool> => {
    const { createServerPool } = await import("./server-pool.ts")
    return createServerPool({ ...options, modules, broken })
  })

  const acquire = async (found: FoundServer, signal: AbortSignal): Promise<PooledServer | undefined> => {
    if (found.needsSandbox && (await orAborted(hasSandbox(), signal)) !== true) return undefined
    return (await pool()).acquire(found)
  }

  /** Logs errors, which must not fail the file change. */
  const orFallback = async <T>(work: () => Promise<T>, fallback: T): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      log.warning(`cannot get diagnostics from language servers: ${errorMessage(error)}`)
      return fallback
    }
  }
  const remainingMs = (spent: number): number => Math.max(0, waitMs - spent)

  const beginEdits = async (paths: readonly string[], signal: AbortSignal): Promise<readonly Edit[]> => {
    const groups = groupByServer(paths.map(realPath), (path) => finder.find(path))
    const startedAt = clock.now()
    const edits = await Promise.all(
      groups.map(async ({ found, files }) => {
        const pooled = await acquire(found, AbortSignal.any([signal, AbortSignal.timeout(waitMs)]))
        return pooled === undefined ? [] : [createEdit(pooled, files, { found, waitMode, clock })]
      }),
    )
    await Promise.all(edits.flat().map((edit) => edit.before(remainingMs(clock.now() - startedAt), signal)))
    return edits.flat()
  }
  const collectErrors = async (
    edits: readonly Edit[],
    paths: readonly string[],
    { timeLeftMs, signal }: { readonly timeLeftMs: number; readonly signal: AbortSignal },
  ): Promise<readonly FileErrors[]> => {
    const originalPaths = new Map(paths.map((path) => [realPath(path), path]))
    const found = await Promise.all(edits.map((edit) => edit.after(new Set(originalPaths.keys()), timeLeftMs, signal)))
    return found
      .flat()
      .filter(({ errors }) => errors.length > 0)
      .map(({ path, errors }) => ({ path: originalPaths.get(path) ?? path, errors }))
  }

  return {
    before: async (paths, signal) => {
      const startedAt = clock.now()
      const edits = await orFallback(() => beginEdits(paths, signal), [])
      const timeLeftMs = remainingMs(clock.now() - startedAt)
      if (edits.length === 0) return undefined
      return {
        after: (changed, later) => orFallback(() => collectErrors(edits, changed, { timeLeftMs, signal: later }), []),
      }
    },
    close: async () => {
      await (await pool.peek())?.close()
    },
  }
}

interface EditedFile {
  readonly path: string
  readonly languageId: string
  readonly isNew: boolean
}

function groupByServer(paths: readonly string[], find: (path: string) => FoundServer | undefined) {
  const groups = new Map<string, { readonly found: FoundServer; readonly files: EditedFile[] }>()
  for (const path of new Set(paths)) {
    const found = find(path)
    if (found === undefined) continue
    const key = `${found.server.name}\0${found.root}`
    const group = groups.get(key) ?? { found, files: [] }
    groups.set(key, group)
    group.files.push({ path, languageId: found.languageId, isNew: !existsSync(path) })
  }
  return [...groups.values()]
}

interface EditOptions {
  readonly found: FoundServer
  readonly waitMode: "document" | "full"
  readonly clock: Clock
}

type Edit = ReturnType<typeof createEdit>

/** Compares the errors of one server's files before and after a change. */
function createEdit(pooled: PooledServer, files: readonly EditedFile[], { found, waitMode, clock }: EditOptions) {
  const { running, documents } = pooled
  const baseline = new Map<string, DiagnosedText>()
  const languageId = (path: string): string => found.server.languages[extname(path).toLowerCase()] ?? found.languageId
  /** Runs the work with a time limit and counts consecutive timeouts of the server. */
  const within = async <T>(
    leftMs: number,
    outer: AbortSignal,
    work: (capabilities: ServerCapabilities, signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> => {
    const ms = pooled.consecutiveTimeouts < MAX_CONSECUTIVE_TIMEOUTS ? leftMs : Math.min(leftMs, SHORT_WAIT_MS)
    const timeout = new AbortController()
    const timer = setTimeout(() => {
      timeout.abort()
    }, ms)
    const signal = AbortSignal.any([outer, timeout.signal])
    try {
      const ready = await orAborted(running.ready, signal)
      return ready?.ok === true ? await work(ready.value, signal) : undefined
    } finally {
      clearTimeout(timer)
      if (timeout.signal.aborted && ms > 0) pooled.consecutiveTimeouts += 1
    }
  }
  const diagnose = async (
    path: string,
    id: string,
    request: { readonly capabilities: ServerCapabilities; readonly signal: AbortSignal; readonly whenIdle: boolean },
  ): Promise<DiagnosedText | undefined> => {
    const document = documents.sync(path, id)
    if (document === undefined) return undefined
    const diagnostics = await fetchDiagnostics(document, { server: running, clock, ...request })
    if (diagnostics === undefined) return undefined
    pooled.consecutiveTimeouts = 0
    return { text: document.text, diagnostics }
  }
  const otherOpenFiles = (): readonly string[] => {
    if (waitMode !== "full") return []
    const edited = new Set(files.map(({ path }) => path))
    return documents
      .list()
      .map(({ path }) => path)
      .filter((path) => !edited.has(path))
      .slice(-MAX_OTHER_FILES)
  }
  return {
    before: async (leftMs: number, outer: AbortSignal): Promise<void> => {
      const known = files.filter(({ isNew }) => !isNew)
      // A file that does not exist has no errors, so there is no need to wait for its server to start.
      for (const { path, isNew } of files) if (isNew) baseline.set(path, { text: "", diagnostics: [] })
      if (known.length === 0) return
      await within(leftMs, outer, async (capabilities, signal) => {
        documents.refresh(languageId)
        documents.sendFileChanges()
        const paths = [...known, ...otherOpenFiles().map((path) => ({ path, languageId: languageId(path) }))]
        await Promise.all(
          paths.map(async (file) => {
            const found = await diagnose(file.path, file.languageId, { capabilities, signal, whenIdle: true })
            if (found !== undefined) baseline.set(file.path, found)
          }),
        )
      })
    },
    after: async (changed: ReadonlySet<string>, leftMs: number, outer: AbortSignal): Promise<readonly FileErrors[]> => {
      const errors: FileErrors[] = []
      await within(leftMs, outer, async (capabilities, signal) => {
        for (const { path } of files) documents.markChanged(path)
        documents.refresh(languageId)
        documents.sendFileChanges()
        for (const { path, languageId: id } of files) {
          const document = documents.sync(path, id)
          if (document !== undefined && capabilities.wantsSave) documents.sendSaved(document)
        }
        const changedFiles = files.filter(({ path }) => changed.has(path)).map(({ path }) => path)
        await Promise.all(
          [...changedFiles, ...otherOpenFiles()].map(async (path) => {
            const was = baseline.get(path)
            if (was === undefined) return
            // For a new file, `before` did not wait until the server was idle, so wait here.
            const whenIdle = waitMode === "full" || was.text === ""
            const now = await diagnose(path, languageId(path), { capabilities, signal, whenIdle })
            if (now !== undefined) errors.push({ path, errors: newErrors(was, now).map(toNewError) })
          }),
        )
      })
      return errors.toSorted((a, b) => (a.path < b.path ? -1 : 1))
    },
  }
}

function toNewError({ line, character, message, code, source }: Diagnostic): NewError {
  return { line: line + 1, column: character + 1, message, code, source }
}
