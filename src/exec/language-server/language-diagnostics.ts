import { dirname, extname, join } from "node:path"
import { existsSync, realpathSync } from "node:fs"

import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Workspace } from "../workspace.ts"
import { createBrokenServers } from "./broken-servers.ts"
import { newErrors } from "./diagnostic.ts"
import type { DiagnosedText, Diagnostic } from "./diagnostic.ts"
import { diagnosticsOf } from "./document-diagnostics.ts"
import { createServerFinder } from "./find-server.ts"
import type { FoundServer } from "./find-server.ts"
import { brokenFile, modulesDirectory } from "./places.ts"
import { configureServers } from "./server-settings.ts"
import type { PooledServer, PoolLimits, ServerPool } from "./server-pool.ts"
import type { ServerFacts } from "./running-server.ts"

/** Errors that a change brought into a file; places count from one. */
export interface FileErrors {
  readonly path: string
  readonly errors: readonly NewError[]
}

export interface NewError {
  readonly line: number
  readonly column: number
  readonly message: string
  /** "" where the server gives none. */
  readonly code: string
  readonly source: string
}

/** What language servers say about changes of files. Nothing here fails, and no call waits longer than the settings allow. */
export interface LanguageDiagnostics {
  /**
   * Before files are changed, new ones included: takes down what is wrong with them already. Paths are absolute. Undefined where no
   * server knows them.
   */
  before(paths: readonly string[], signal: AbortSignal): Promise<PendingDiagnostics | undefined>
  close(): Promise<void>
}

export interface PendingDiagnostics {
  /** After the change: the new errors of these files. Empty also when the servers did not answer in time. */
  after(paths: readonly string[], signal: AbortSignal): Promise<readonly FileErrors[]>
}

export interface LanguageDiagnosticsOptions {
  readonly settings: {
    readonly waitMode: "document" | "full"
    /** Seconds that one change may be held up; twice that in mode `full`. */
    readonly waitTimeout: number
    readonly servers: Readonly<Record<string, unknown>>
  }
  readonly start: Workspace["start"]
  /** Whether commands of the session run in the sandbox. */
  readonly hasWalls: () => Promise<boolean>
  readonly home: string
  readonly userHome: string
  readonly path: string
  readonly version: string
  readonly clock: Clock
  readonly log: Logger
  readonly limits?: Partial<PoolLimits>
}

/** A server that has been waited for in vain this often gets only a moment, until it has answered once. */
const MAX_FRUITLESS = 2
const MOMENT_MS = 1000
/** In mode `full`: how many other open files are looked at. */
const MAX_OTHERS = 20

export function createLanguageDiagnostics(options: LanguageDiagnosticsOptions): LanguageDiagnostics {
  const { clock, log } = options
  const { waitMode, waitTimeout } = options.settings
  const waitMs = Math.round(waitTimeout * 1000) * (waitMode === "full" ? 2 : 1)
  const { servers, problems } = configureServers(options.settings.servers)
  for (const problem of problems) log.warning(problem)
  const modules = modulesDirectory(options.home)
  const finder = createServerFinder({ ...options, servers, modules })
  const broken = createBrokenServers({ file: brokenFile(options.home), clock, log })
  let walls: Promise<boolean> | undefined
  let opening: Promise<ServerPool> | undefined
  /** What speaks the protocol is loaded with the first server that is needed. */
  const openPool = async (): Promise<ServerPool> => {
    const { createServerPool } = await import("./server-pool.ts")
    return createServerPool({ ...options, modules, broken })
  }

  const take = async (found: FoundServer, signal: AbortSignal): Promise<PooledServer | undefined> => {
    if (found.needsWalls && (await orAborted((walls ??= options.hasWalls()), signal)) !== true) return undefined
    return (await (opening ??= openPool())).take(found)
  }

  /** Whatever goes wrong here, the write that it is about goes on. */
  const orNothing = async <T>(work: () => Promise<T>, nothing: T): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      log.warning(`language servers could not be asked: ${errorMessage(error)}`)
      return nothing
    }
  }
  const leftOf = (spent: number): number => Math.max(0, waitMs - spent)

  const editsOf = async (paths: readonly string[], signal: AbortSignal): Promise<readonly Edit[]> => {
    const groups = groupByServer(paths.map(realOrSame), (path) => finder.find(path))
    const begun = clock.now()
    const edits = await Promise.all(
      groups.map(async ({ found, files }) => {
        const pooled = await take(found, AbortSignal.any([signal, AbortSignal.timeout(waitMs)]))
        return pooled === undefined ? [] : [createEdit(pooled, files, { found, waitMode, clock })]
      }),
    )
    await Promise.all(edits.flat().map((edit) => edit.before(leftOf(clock.now() - begun), signal)))
    return edits.flat()
  }
  const errorsOf = async (
    edits: readonly Edit[],
    paths: readonly string[],
    { left, signal }: { readonly left: number; readonly signal: AbortSignal },
  ): Promise<readonly FileErrors[]> => {
    const real = new Map(paths.map((path) => [realOrSame(path), path]))
    const found = await Promise.all(edits.map((edit) => edit.after(new Set(real.keys()), left, signal)))
    return found
      .flat()
      .filter(({ errors }) => errors.length > 0)
      .map(({ path, errors }) => ({ path: real.get(path) ?? path, errors }))
  }

  return {
    before: async (paths, signal) => {
      const begun = clock.now()
      const edits = await orNothing(() => editsOf(paths, signal), [])
      const left = leftOf(clock.now() - begun)
      if (edits.length === 0) return undefined
      return {
        after: (changed, later) => orNothing(() => errorsOf(edits, changed, { left, signal: later }), []),
      }
    },
    close: async () => {
      await (await opening)?.close()
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

/** One change of files of one server: what was wrong before it, and what is after it. */
function createEdit(pooled: PooledServer, files: readonly EditedFile[], { found, waitMode, clock }: EditOptions) {
  const { running, documents } = pooled
  const baseline = new Map<string, DiagnosedText>()
  const languageId = (path: string): string => found.server.languages[extname(path).toLowerCase()] ?? found.languageId
  /** Gives the server the time that is left, and remembers whether that was of any use. */
  const within = async <T>(
    leftMs: number,
    outer: AbortSignal,
    work: (facts: ServerFacts, signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> => {
    const ms = pooled.fruitless < MAX_FRUITLESS ? leftMs : Math.min(leftMs, MOMENT_MS)
    const enough = new AbortController()
    const timer = setTimeout(() => {
      enough.abort()
    }, ms)
    const signal = AbortSignal.any([outer, enough.signal])
    try {
      const ready = await orAborted(running.ready, signal)
      return ready?.ok === true ? await work(ready.value, signal) : undefined
    } finally {
      clearTimeout(timer)
      if (enough.signal.aborted && ms > 0) pooled.fruitless += 1
    }
  }
  const diagnose = async (
    path: string,
    id: string,
    asked: { readonly facts: ServerFacts; readonly signal: AbortSignal; readonly whenIdle: boolean },
  ): Promise<DiagnosedText | undefined> => {
    const document = documents.sync(path, id)
    if (document === undefined) return undefined
    const diagnostics = await diagnosticsOf(document, { server: running, clock, ...asked })
    if (diagnostics === undefined) return undefined
    pooled.fruitless = 0
    return { text: document.text, diagnostics }
  }
  const others = (): readonly string[] => {
    if (waitMode !== "full") return []
    const edited = new Set(files.map(({ path }) => path))
    return documents
      .list()
      .map(({ path }) => path)
      .filter((path) => !edited.has(path))
      .slice(-MAX_OTHERS)
  }
  return {
    before: async (leftMs: number, outer: AbortSignal): Promise<void> => {
      const known = files.filter(({ isNew }) => !isNew)
      // Nothing is wrong with a file that does not exist; its server may go on starting meanwhile.
      for (const { path, isNew } of files) if (isNew) baseline.set(path, { text: "", diagnostics: [] })
      if (known.length === 0) return
      await within(leftMs, outer, async (facts, signal) => {
        documents.refresh(languageId)
        documents.tellChanges()
        const paths = [...known, ...others().map((path) => ({ path, languageId: languageId(path) }))]
        await Promise.all(
          paths.map(async (file) => {
            const found = await diagnose(file.path, file.languageId, { facts, signal, whenIdle: true })
            if (found !== undefined) baseline.set(file.path, found)
          }),
        )
      })
    },
    after: async (changed: ReadonlySet<string>, leftMs: number, outer: AbortSignal): Promise<readonly FileErrors[]> => {
      const errors: FileErrors[] = []
      await within(leftMs, outer, async (facts, signal) => {
        for (const { path } of files) documents.noteChange(path)
        documents.refresh(languageId)
        documents.tellChanges()
        for (const { path, languageId: id } of files) {
          const document = documents.sync(path, id)
          if (document !== undefined && facts.wantsSave) documents.saved(document)
        }
        const wanted = files.filter(({ path }) => changed.has(path)).map(({ path }) => path)
        await Promise.all(
          [...wanted, ...others()].map(async (path) => {
            const was = baseline.get(path)
            if (was === undefined) return
            // A file of its own that is new is looked at with the whole project, as one that was there.
            const whenIdle = waitMode === "full" || was.text === ""
            const now = await diagnose(path, languageId(path), { facts, signal, whenIdle })
            if (now !== undefined) errors.push({ path, errors: newErrors(was, now).map(shown) })
          }),
        )
      })
      return errors.toSorted((one, other) => (one.path < other.path ? -1 : 1))
    },
  }
}

function shown({ line, character, message, code, source }: Diagnostic): NewError {
  return { line: line + 1, column: character + 1, message, code, source }
}

/** A server knows a file by the place it really lies in; one that is still to be written is known by its directory. */
function realOrSame(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realOrSame(parent), path.slice(parent.length + (parent.endsWith("/") ? 0 : 1)))
  }
}
