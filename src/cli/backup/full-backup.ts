import { createReadStream, createWriteStream, renameSync, rmSync } from "node:fs"
import { open } from "node:fs/promises"
import { once } from "node:events"
import { pipeline } from "node:stream/promises"
import type { ZipFile } from "yazl"
import { explainSystemError } from "../../base/system-error.ts"
import { StoreError } from "../../state/store.ts"
import { backupDatabase } from "../../state/sqlite/backup.ts"
import { backupFiles, type BackupFile } from "./backup-files.ts"

export interface BackupReport {
  readonly files: number
  readonly bytes: number
  /** What could not be saved, with the reason. */
  readonly skipped: readonly string[]
}

export interface BackupOptions {
  readonly root: string
  /** Appears only when it is complete; readable by the owner alone. */
  readonly output: string
  readonly signal: AbortSignal
  /** Called with the number of files so far. */
  readonly progress: (files: number) => void
}

const PROGRESS_EVERY = 500

/** Packs an installation with all its profiles. Databases are copied by SQLite itself, so that a running agent does no harm. */
export async function writeFullBackup(options: BackupOptions): Promise<BackupReport> {
  const { output, signal } = options
  // A CommonJS library: inside the bundle only its default export exists.
  const { default: yazl } = await import("yazl")
  const zip = new yazl.ZipFile()
  const partial = `${output}.partial-${process.pid}`
  const temporaries: string[] = []
  const broken = Promise.withResolvers<never>()
  zip.on("error", broken.reject)
  try {
    const written = pipeline(zip.outputStream, createWriteStream(partial, { mode: 0o600, flags: "wx" }), { signal })
    const added = addFiles(zip, { ...options, partial, temporaries })
    // All three are watched: a full disk shows in the one, a file that breaks while it is read in the others.
    const [, report] = await Promise.race([Promise.all([written, added]), broken.promise])
    renameSync(partial, output)
    return report
  } finally {
    for (const path of [partial, ...temporaries]) rmSync(path, { force: true })
  }
}

interface Packing extends BackupOptions {
  readonly partial: string
  /** Copies of databases that must not stay behind. */
  readonly temporaries: string[]
}

async function addFiles(zip: ZipFile, packing: Packing): Promise<BackupReport> {
  const { root, output, signal, progress } = packing
  const skipped: string[] = []
  let files = 0
  let bytes = 0
  for (const file of backupFiles(root, { output, unreadable: (name) => skipped.push(`${name}: cannot be opened`) })) {
    signal.throwIfAborted()
    try {
      await (file.database ? addDatabase(zip, file, packing) : addFile(zip, file))
      files += 1
      bytes += file.stats.size
      if (files % PROGRESS_EVERY === 0) progress(files)
    } catch (error) {
      // The copy of a database lies beside the output: when it does not fit, neither will the rest.
      if (signal.aborted || (error instanceof StoreError && error.kind === "disk-full")) throw error
      skipped.push(`${file.name}: ${error instanceof StoreError ? error.message : explainSystemError(error)}`)
    }
  }
  zip.end()
  return { files, bytes, skipped }
}

/** One file at a time: the stream is open before the entry exists, so a file that cannot be read leaves no empty entry. */
async function addFile(zip: ZipFile, file: BackupFile & { readonly source?: string }): Promise<void> {
  const handle = await open(file.source ?? file.path, "r")
  const stream = createReadStream("", { fd: handle })
  zip.addReadStream(stream, file.name, { mtime: file.stats.mtime, mode: file.stats.mode & 0o100777 })
  await once(stream, "close")
}

async function addDatabase(zip: ZipFile, file: BackupFile, packing: Packing): Promise<void> {
  const copy = `${packing.partial}-${packing.temporaries.length}.db`
  packing.temporaries.push(copy)
  await backupDatabase(file.path, copy)
  await addFile(zip, { ...file, source: copy })
  rmSync(copy, { force: true })
}
