import { spawnSync } from "node:child_process"
import { existsSync, statSync, watch } from "node:fs"
import type { FSWatcher } from "node:fs"
import { join, matchesGlob, relative, resolve, sep } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { isInside } from "../../base/is-inside.ts"
import type { Logger } from "../../base/logger.ts"
import { readRegularText } from "../../base/regular-file.ts"
import { findSafeGit, NO_PROGRAMS } from "../safe-git.ts"
import { isIgnoredName, watchDirectories } from "./directory-watch.ts"
import type { WatchState } from "./directory-watch.ts"

/** Reports external changes of the workspace to the model. */
export interface Watcher {
  /**
   * Returns the external changes since the last note, to append to the next tool result or user message. Reports each change
   * once. Costs almost nothing while there are none.
   */
  note(): string | undefined
  /** Call it when a command of the session starts; changes until the returned function is called are attributed to the command. */
  commandStarted(cwd: string): () => void
  /** Resolves when the watches are set up, or when that has failed. */
  readonly ready: Promise<WatchState>
  close(): void
}

/** What the session knows about its files, by absolute path with links resolved. The file tracker implements it. */
export interface WatcherHooks {
  /** Compares a file with its state when the model last read or wrote it; `now` is undefined for a deleted file. */
  changedSince(path: string, now: FileState | undefined): "unknown" | "unchanged" | "changed"
  /** Called when a change was reported, so that reading the file again does not count as a repeated read. */
  forgetFile(path: string): void
  /** Files that the model has read or written; polled where the system cannot watch directories. */
  knownFiles?(): Iterable<string>
}

interface FileState {
  readonly modifiedMs: number
  readonly size: number
}

export interface WatcherOptions {
  /** Absolute path with links resolved. */
  readonly root: string
  readonly settings: { readonly include: readonly string[]; readonly reportAll: boolean }
  readonly hooks: WatcherHooks
  readonly clock: Clock
  readonly log: Logger
  /** Value of the PATH variable, to find git. */
  readonly path: string
  readonly maxDirectories?: number
}

const MAX_DIRECTORIES = 20_000
const DEBOUNCE_MS = 500
const POLL_MS = 2000
const MAX_CANDIDATES = 5000
const MAX_SHOWN = 10
/** How long after a command the system may still deliver events for its last changes. */
const EVENT_DELAY_MS = 300

export function createWatcher(options: WatcherOptions): Watcher {
  const { root, clock, log } = options
  /** Maps a path to the time of its last event. */
  const candidates = new Map<string, number>()
  /** The version of each path that was reported last, to avoid reporting it again. */
  const reported = new Map<string, string>()
  const commands = createCommandWindows(clock)
  const head = watchHead(root)
  const add = (path: string): void => {
    if (candidates.size < MAX_CANDIDATES || candidates.has(path)) candidates.set(path, clock.now())
  }
  const directories = watchDirectories(root, {
    maxDirectories: options.maxDirectories ?? MAX_DIRECTORIES,
    onChange: (path) => {
      const name = path.slice(path.lastIndexOf(sep) + 1)
      if (!isIgnoredName(name, "other")) add(path)
    },
  })
  const ready = directories.ready.then((state) => {
    if (state === "too-many")
      log.warning(`${root} has too many directories to watch; external changes are not reported`)
    if (state === "unsupported") log.info(`the system cannot watch ${root}; known files are polled instead`)
    return state
  })
  let lastPoll = clock.now()
  const poll = (): void => {
    if (directories.state() !== "unsupported" || clock.now() - lastPoll < POLL_MS) return
    lastPoll = clock.now()
    for (const path of options.hooks.knownFiles?.() ?? []) candidates.set(path, lastPoll - DEBOUNCE_MS)
  }

  return {
    ready,
    commandStarted: (cwd) => (isInside(cwd, root) || isInside(root, cwd) ? commands.start() : () => undefined),
    note: () => {
      poll()
      const due = [...candidates].filter(([, at]) => clock.now() - at >= DEBOUNCE_MS)
      for (const [path] of due) candidates.delete(path)
      const newHead = head.changed((at) => commands.covers(at))
      const found = due
        .flatMap(([path, at]) => changeOf(path, { at, options, commands }))
        .filter(({ path, version }) => reported.get(path) !== version)
      const changes = found.length === 0 ? found : withoutIgnored(found, options)
      for (const { path, version } of changes) {
        options.hooks.forgetFile(path)
        reported.set(path, version)
        if (reported.size > MAX_CANDIDATES) reported.clear()
      }
      if (newHead !== undefined)
        return `[Note: the git branch was switched externally; HEAD is now ${newHead}. Files you read may differ.]`
      return changes.length === 0 ? undefined : noteText(changes)
    },
    close: () => {
      directories.close()
      head.close()
    },
  }
}

interface FileChange {
  readonly path: string
  readonly relativePath: string
  readonly kind: "modified" | "created" | "deleted"
  readonly version: string
}

interface Candidate {
  /** Time of the last event. */
  readonly at: number
  readonly options: WatcherOptions
  readonly commands: ReturnType<typeof createCommandWindows>
}

/** Returns nothing for the session's own writes, changes by its commands, directories and files that are not to be reported. */
function changeOf(path: string, { at, options, commands }: Candidate): readonly FileChange[] {
  const { root, hooks, settings } = options
  const relativePath = relative(root, path)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory() === true) return []
  const now = found === undefined ? undefined : { modifiedMs: found.mtimeMs, size: found.size }
  const seen = hooks.changedSince(path, now)
  const isIncluded = settings.reportAll || settings.include.some((pattern) => matchesGlob(relativePath, pattern))
  if (seen === "unchanged" || (seen === "unknown" && !isIncluded)) return []
  if (found === undefined ? commands.covers(at, EVENT_DELAY_MS) : commands.covers(found.ctimeMs)) return []
  if (found === undefined) {
    // A file that was created and deleted between two notes is not reported.
    return seen === "unknown" ? [] : [{ path, relativePath, kind: "deleted", version: "" }]
  }
  const isNew = seen === "unknown" && found.birthtimeMs >= at - POLL_MS
  return [{ path, relativePath, kind: isNew ? "created" : "modified", version: `${found.mtimeMs} ${found.size}` }]
}

/** Runs git only when there are changes to report. If git fails, no file counts as ignored. */
function withoutIgnored(changes: readonly FileChange[], { root, path }: WatcherOptions): readonly FileChange[] {
  const git = existsSync(join(root, ".git")) ? findSafeGit(path) : undefined
  if (git === undefined) return changes
  const result = spawnSync(git.program, [...NO_PROGRAMS, "check-ignore", "-z", "--stdin"], {
    cwd: root,
    env: git.environment,
    input: changes.map(({ relativePath }) => relativePath).join("\0"),
    timeout: 2000,
    encoding: "utf8",
  })
  const ignored = new Set(result.status === 0 ? result.stdout.split("\0") : [])
  return changes.filter(({ relativePath }) => !ignored.has(relativePath))
}

function noteText(changes: readonly FileChange[]): string {
  const shown = changes.slice(0, MAX_SHOWN).map(({ relativePath, kind }) => `${oneLine(relativePath)} (${kind})`)
  const more = changes.length - shown.length
  return `[Note: changed externally since you last read them: ${[...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(", ")}]`
}

function oneLine(name: string): string {
  return name.replaceAll(/[\p{Cc}[\]]/gu, "?")
}

/** Records when commands ran. Changes during that time are attributed to them. */
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
/** File timestamps come from a coarser clock. */
const CLOCK_STEP_MS = 20

/** Watches HEAD of the workspace's repository. */
function watchHead(root: string) {
  const directory = resolveGitDirectory(join(root, ".git"))
  const file = join(directory, "HEAD")
  let known = readHead(file)
  let touched = false
  let watcher: FSWatcher | undefined
  if (known !== undefined) {
    try {
      watcher = watch(directory, { persistent: false }, (_event, name) => {
        if (name === "HEAD") touched = true
      })
      watcher.on("error", () => watcher?.close())
    } catch {
      // Without this watch a branch switch is not reported, only the files that it changes.
      watcher = undefined
    }
  }
  return {
    /** Returns the new HEAD if it was changed by anything but a command of the session. */
    changed: (isByCommand: (at: number) => boolean): string | undefined => {
      if (!touched) return undefined
      touched = false
      const now = readHead(file)
      if (now === undefined || now.text === known?.text) return undefined
      known = now
      return isByCommand(now.at) ? undefined : oneLine(now.text.replace(/^ref: (?:refs\/heads\/)?/u, "")).slice(0, 200)
    },
    close: () => {
      watcher?.close()
    },
  }
}

/** In a worktree `.git` is a file that contains the path of the git directory. */
function resolveGitDirectory(path: string): string {
  const [, target] = /^gitdir: (.+)$/mu.exec(readRegularText(path) ?? "") ?? []
  return target === undefined ? path : resolve(path, "..", target)
}

function readHead(file: string): { readonly text: string; readonly at: number } | undefined {
  try {
    const text = readRegularText(file)
    return text === undefined ? undefined : { text: text.trim(), at: statSync(file).ctimeMs }
  } catch {
    // There is no repository, or it stores HEAD elsewhere.
    return undefined
  }
}
