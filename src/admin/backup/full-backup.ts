import { createReadStream, createWriteStream, renameSync, rmSync, statSync } from "node:fs"
import { open } from "node:fs/promises"
import { once } from "node:events"
import { join, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import type { ZipFile } from "yazl"
import { Channel } from "../../base/channel.ts"
import type { ReportProgress } from "../../base/progress.ts"
import { unusedPath } from "../../base/kept-copies.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import { backupDatabase } from "../../state/sqlite/backup.ts"
import { StoreError } from "../../state/store.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { backupFiles, type BackupFile } from "./backup-files.ts"

export interface BackupReport {
  readonly output: string
  readonly files: number
  readonly bytes: number
  /** Files that could not be saved, with the reason. */
  readonly skipped: readonly string[]
}

/** The last event is `end`; an aborted backup throws instead. */
export type BackupEvent =
  | { readonly type: "progress"; readonly files: number }
  | { readonly type: "end"; readonly result: Result<BackupReport, AdminFailure> }

const PROGRESS_EVERY = 500

/**
 * Packs an installation with all its profiles into a zip file. SQLite copies the databases, so an agent may run meanwhile.
 * The file appears only when it is complete; only its owner can read it.
 */
export async function* writeFullBackup(
  { home, clock, progress: report }: Pick<HomeContext, "home" | "clock" | "progress">,
  options: { readonly output: string | undefined; readonly signal: AbortSignal },
): AsyncGenerator<BackupEvent, void> {
  const exists = checkHomeExists(home)
  if (!exists.ok) {
    yield { type: "end", result: exists }
    return
  }
  const output = outputPath(options.output, { home, now: clock.now() })
  const progress = new Channel<BackupEvent>()
  const abandoned = new AbortController()
  const signal = AbortSignal.any([options.signal, abandoned.signal])
  const writing = settle(writeArchive({ root: home.root, output, signal, progress, report }))
  try {
    yield* progress
    const written = await writing
    if (written.ok) yield { type: "end", result: ok({ output, ...written.value }) }
    else if (signal.aborted) throw written.error
    else yield { type: "end", result: failed(`Cannot write ${home.display(output)}: ${reason(written.error)}.`) }
  } finally {
    abandoned.abort()
    await writing
  }
}

/** Fails when there is no home to back up. */
export function checkHomeExists(home: Home): Result<undefined, AdminFailure> {
  if (isDirectory(home.root)) return ok(undefined)
  return failed(`There is nothing to back up: ${home.display(home.root)} does not exist.`)
}

/** Turns a rejection into a value, because the promise is awaited only after all progress was read. */
async function settle<T>(promise: Promise<T>): Promise<Result<T, unknown>> {
  try {
    return ok(await promise)
  } catch (error) {
    return fail(error)
  }
}

function reason(error: unknown): string {
  return error instanceof StoreError ? "no space left on the disk" : explainSystemError(error)
}

/** The given file, a file with the time in its name inside a given directory, or one in the user's home directory. */
function outputPath(given: string | undefined, { home, now }: { readonly home: Home; readonly now: number }): string {
  const name = `hermes-backup-${localTimestamp(new Date(now))}`
  if (given === undefined) return unusedPath(join(home.userHome, name), ".zip")
  const path = resolve(given)
  if (isDirectory(path)) return unusedPath(join(path, name), ".zip")
  return path.endsWith(".zip") ? path : `${path}.zip`
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Local time as `YYYY-MM-DD-HHMMSS`. */
function localTimestamp(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0")
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-")
  return `${day}-${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`
}

type ArchiveReport = Omit<BackupReport, "output">

interface ArchiveOptions {
  readonly root: string
  readonly output: string
  readonly signal: AbortSignal
  /** Closed when the archive is written or has failed. */
  readonly progress: Channel<BackupEvent>
  /** For the copy of a large database. */
  readonly report: ReportProgress | undefined
}

async function writeArchive(options: ArchiveOptions): Promise<ArchiveReport> {
  const { output, signal, progress } = options
  const partial = `${output}.partial-${process.pid}`
  const temporaries: string[] = []
  try {
    // A CommonJS library: inside the bundle only its default export exists.
    const { default: yazl } = await import("yazl")
    const zip = new yazl.ZipFile()
    const broken = Promise.withResolvers<never>()
    zip.on("error", broken.reject)
    const written = pipeline(zip.outputStream, createWriteStream(partial, { mode: 0o600, flags: "wx" }), { signal })
    const added = addFiles(zip, { ...options, partial, temporaries })
    // Each of the three can fail first: the output when the disk is full, the others when a file breaks while it is read.
    const [, report] = await Promise.race([Promise.all([written, added]), broken.promise])
    renameSync(partial, output)
    return report
  } finally {
    progress.close()
    for (const path of [partial, ...temporaries]) rmSync(path, { force: true })
  }
}

interface Packing extends ArchiveOptions {
  readonly partial: string
  /** Copies of databases, deleted at the end. */
  readonly temporaries: string[]
}

async function addFiles(zip: ZipFile, packing: Packing): Promise<ArchiveReport> {
  const { root, output, signal, progress } = packing
  const skipped: string[] = []
  let files = 0
  let bytes = 0
  for (const file of backupFiles(root, { output })) {
    if (file.kind === "unreadable") {
      skipped.push(`${file.name}: cannot be opened`)
      continue
    }
    signal.throwIfAborted()
    try {
      await (file.isDatabase ? addDatabase(zip, file, packing) : addFile(zip, file))
      files += 1
      bytes += file.stats.size
      if (files % PROGRESS_EVERY === 0) progress.push({ type: "progress", files })
    } catch (error) {
      // Copies of databases are written next to the output: when one does not fit, neither will the archive.
      if (signal.aborted || (error instanceof StoreError && error.kind === "disk-full")) throw error
      skipped.push(`${file.name}: ${error instanceof StoreError ? error.message : explainSystemError(error)}`)
    }
  }
  zip.end()
  return { files, bytes, skipped }
}

/** Opens the stream before it creates the entry, so that an unreadable file leaves no empty entry. */
async function addFile(zip: ZipFile, file: BackupFile & { readonly source?: string }): Promise<void> {
  const handle = await open(file.source ?? file.path, "r")
  const stream = createReadStream("", { fd: handle })
  zip.addReadStream(stream, file.name, { mtime: file.stats.mtime, mode: file.stats.mode & 0o100777 })
  await once(stream, "close")
}

async function addDatabase(zip: ZipFile, file: BackupFile, packing: Packing): Promise<void> {
  const copy = `${packing.partial}-${packing.temporaries.length}.db`
  packing.temporaries.push(copy)
  await backupDatabase(file.path, copy, packing.report)
  await addFile(zip, { ...file, source: copy })
  rmSync(copy, { force: true })
}
