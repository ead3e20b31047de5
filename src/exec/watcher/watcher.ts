import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, statSync, watch } from "node:fs"
import type { FSWatcher } from "node:fs"
import { isAbsolute, join, matchesGlob, relative, resolve, sep } from "node:path"

import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { isIgnoredName, watchDirectories } from "./directory-watch.ts"
import type { WatchState } from "./directory-watch.ts"

/** Tells the model what changed in the workspace without it. */
export interface Watcher {
  /**
   * What changed outside since the last note, for the end of the next tool result or user message; each change is told once.
   * Costs nothing while nothing changed.
   */
  note(): string | undefined
  /** A command of the session begins; what changes until the returned function is called belongs to it. */
  commandStarted(cwd: string): () => void
  /** Resolves when changes are noticed. */
  readonly ready: Promise<WatchState>
  close(): void
}

/** What the session knows about its files, by absolute path without links; its file tracker is one. */
export interface WatcherHooks {
  /** Whether a file is as the model last saw or wrote it; `now` is undefined for a file that is gone. */
  changedSince(path: string, now: Seen | undefined): "unknown" | "unchanged" | "changed"
  /** The change was told: reading the file again is no repetition. */
  forgetFile(path: string): void
  /** Files the model has read or written; looked at where the system can watch no directories. */
  knownFiles?(): Iterable<string>
}

interface Seen {
  readonly modifiedMs: number
  readonly size: number
}

export interface WatcherOptions {
  /** Absolute, without links. */
  readonly root: string
  readonly settings: { readonly include: readonly string[]; readonly reportAll: boolean }
  readonly hooks: WatcherHooks
  readonly clock: Clock
  readonly log: Logger
  /** Where git is looked for. */
  readonly path: string
  readonly maxDirectories?: number
}

const MAX_DIRECTORIES = 20_000
const DEBOUNCE_MS = 500
const POLL_MS = 2000
const MAX_CANDIDATES = 5000
const MAX_SHOWN = 10
/** How late the system may tell of what a command did last. */
const EVENT_DELAY_MS = 300

export function createWatcher(options: WatcherOptions): Watcher {
  const { root, clock, log } = options
  /** Path to the time of its last event. */
  const candidates = new Map<string, number>()
  /** What was told last of a path: the same is not told again. */
  const said = new Map<string, string>()
  const commands = createCommandWindows(clock)
  const head = watchHead(root)
  const add = (path: string): void => {
    if (candidates.size < MAX_CANDIDATES || candidates.has(path)) candidates.set(path, clock.now())
  }
  const native = watchDirectories(root, {
    maxDirectories: options.maxDirectories ?? MAX_DIRECTORIES,
    onChange: (path) => {
      const name = path.slice(path.lastIndexOf(sep) + 1)
      if (!isIgnoredName(name, "other")) add(path)
    },
  })
  const ready = native.ready.then((state) => {
    if (state === "too-many") log.warning(`${root} has too many directories to watch; changes outside are not told`)
    if (state === "unsupported") log.info(`${root} cannot be watched by the system; known files are looked at instead`)
    return state
  })
  let polled = clock.now()
  const poll = (): void => {
    if (native.state() !== "unsupported" || clock.now() - polled < POLL_MS) return
    polled = clock.now()
    for (const path of options.hooks.knownFiles?.() ?? []) candidates.set(path, polled - DEBOUNCE_MS)
  }

  return {
    ready,
    commandStarted: (cwd) => (isInside(cwd, root) || isInside(root, cwd) ? commands.start() : () => undefined),
    note: () => {
      poll()
      const due = [...candidates].filter(([, at]) => clock.now() - at >= DEBOUNCE_MS)
      for (const [path] of due) candidates.delete(path)
      const moved = head.changed((at) => commands.covers(at))
      const found = due
        .flatMap(([path, at]) => changeOf(path, { at, options, commands }))
        .filter(({ path, version }) => said.get(path) !== version)
      const told = found.length === 0 ? found : withoutIgnored(found, options)
      for (const { path, version } of told) {
        options.hooks.forgetFile(path)
        said.set(path, version)
        if (said.size > MAX_CANDIDATES) said.clear()
      }
      if (moved !== undefined)
        return `[Note: the git branch was switched outside; HEAD is now ${moved}. Files you read may differ.]`
      return told.length === 0 ? undefined : noteText(told)
    },
    close: () => {
      native.close()
      head.close()
    },
  }
}

interface FileChange {
  readonly path: string
  readonly shown: string
  readonly what: "modified" | "created" | "deleted"
  readonly version: string
}

interface Looking {
  readonly at: number
  readonly options: WatcherOptions
  readonly commands: ReturnType<typeof createCommandWindows>
}

/** Nothing for an own write, a command's doing, a directory, or a file nobody asked about. */
function changeOf(path: string, { at, options, commands }: Looking): readonly FileChange[] {
  const { root, hooks, settings } = options
  const shown = relative(root, path)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return []
  const now = found === undefined ? undefined : { modifiedMs: found.mtimeMs, size: found.size }
  const seen = hooks.changedSince(path, now)
  const isAsked = settings.reportAll || settings.include.some((pattern) => matchesGlob(shown, pattern))
  if (seen === "unchanged" || (seen === "unknown" && !isAsked)) return []
  if (found === undefined ? commands.covers(at, EVENT_DELAY_MS) : commands.covers(found.ctimeMs)) return []
  if (found === undefined) {
    // A file that came and went between two notes is not worth a word.
    return seen === "unknown" ? [] : [{ path, shown, what: "deleted", version: "" }]
  }
  const isNew = seen === "unknown" && found.birthtimeMs >= at - POLL_MS
  return [{ path, shown, what: isNew ? "created" : "modified", version: `${found.mtimeMs} ${found.size}` }]
}

/** Asked only when there is something to tell. A repository that cannot be asked ignores nothing. */
function withoutIgnored(changes: readonly FileChange[], { root, path }: WatcherOptions): readonly FileChange[] {
  if (!existsSync(join(root, ".git"))) return changes
  const asked = spawnSync("git", [...NO_HOOKS, "check-ignore", "-z", "--stdin"], {
    cwd: root,
    env: { PATH: path, LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0", ...NO_FETCH },
    input: changes.map(({ shown }) => shown).join("\0"),
    timeout: 2000,
    encoding: "utf8",
  })
  const ignored = new Set(asked.status === 0 ? asked.stdout.split("\0") : [])
  return changes.filter(({ shown }) => !ignored.has(shown))
}

/** The repository is the person's, or a stranger's: asking it must not start a program that it names. */
const NO_HOOKS = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]

/** A missing object would be fetched in the way that the repository's settings name, which may be a program. */
const NO_FETCH = { GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "" }

function noteText(changes: readonly FileChange[]): string {
  const shown = changes.slice(0, MAX_SHOWN).map(({ shown: name, what }) => `${oneLine(name)} (${what})`)
  const more = changes.length - shown.length
  return `[Note: changed externally since you last read them: ${[...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(", ")}]`
}

function oneLine(name: string): string {
  return name.replaceAll(/[\p{Cc}[\]]/gu, "?")
}

/** When commands ran. Changes in such a time are theirs. */
function createCommandWindows(clock: Clock) {
  const windows: { from: number; to: number }[] = []
  return {
    start: (): (() => void) => {
      const window = { from: clock.now(), to: Number.POSITIVE_INFINITY }
      windows.push(window)
      if (windows.length > MAX_WINDOWS) windows.shift()
      return () => {
        window.to = clock.now()
      }
    },
    covers: (at: number, lateMs = CLOCK_STEP_MS): boolean =>
      windows.some(({ from, to }) => at >= from - CLOCK_STEP_MS && at <= to + lateMs),
  }
}

const MAX_WINDOWS = 50
/** File times come from a coarser clock than ours. */
const CLOCK_STEP_MS = 20

/** Which commit or branch the repository of the workspace is on. */
function watchHead(root: string) {
  const folder = gitFolder(join(root, ".git"))
  const file = join(folder, "HEAD")
  let known = readHead(file)
  let touched = false
  let watcher: FSWatcher | undefined
  if (known !== undefined) {
    try {
      watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name === "HEAD") touched = true
      })
      watcher.on("error", () => watcher?.close())
    } catch {
      // Without a watch a switch of branch is not told; the files that it changes are.
      watcher = undefined
    }
  }
  return {
    /** The new head, when somebody else than a command of ours moved it. */
    changed: (isOurs: (at: number) => boolean): string | undefined => {
      if (!touched) return undefined
      touched = false
      const now = readHead(file)
      if (now === undefined || now.text === known?.text) return undefined
      known = now
      return isOurs(now.at) ? undefined : oneLine(now.text.replace(/^ref: (?:refs\/heads\/)?/u, "")).slice(0, 200)
    },
    close: () => {
      watcher?.close()
    },
  }
}

/** In a worktree `.git` is a file that names the folder. */
function gitFolder(path: string): string {
  try {
    const [, named] = /^gitdir: (.+)$/mu.exec(readFileSync(path, "utf8")) ?? []
    return named === undefined ? path : resolve(path, "..", named)
  } catch {
    // It is the folder itself, or there is none.
    return path
  }
}

function readHead(file: string): { readonly text: string; readonly at: number } | undefined {
  try {
    return { text: readFileSync(file, "utf8").trim(), at: statSync(file).ctimeMs }
  } catch {
    // No repository, or one of a kind that keeps its head elsewhere.
    return undefined
  }
}

function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path)
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
