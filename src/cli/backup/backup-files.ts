import { lstatSync, readdirSync, type Stats } from "node:fs"
import { join, relative, sep } from "node:path"

export interface BackupFile {
  readonly path: string
  /** Relative to the root, with `/`. */
  readonly name: string
  readonly stats: Stats
  readonly database: boolean
}

/** Folders that can be made again, hold copies of copies, or belong to other tools. */
const SKIPPED_DIRECTORIES = new Set(["backups", "checkpoints", ".git", "node_modules"])
/** A checkout of the program, which some installations keep in the home. */
const SKIPPED_AT_ROOT = new Set(["hermes-agent"])
const SKIPPED_FILES = /(?:\.db-(?:wal|shm|journal)|\.pid|\.import-[0-9a-f]+)$/

/** Every file of an installation that belongs in a backup; `unreadable` gets the folders that cannot be opened. */
export function* backupFiles(
  root: string,
  options: { readonly output: string; readonly unreadable: (name: string) => void },
): Generator<BackupFile, void> {
  yield* walk(root, { ...options, root })
}

function* walk(
  directory: string,
  context: { readonly root: string; readonly output: string; readonly unreadable: (name: string) => void },
): Generator<BackupFile, void> {
  const { root } = context
  for (const entry of entriesOf(directory, context)) {
    const path = join(directory, entry.name)
    const name = relative(root, path).split(sep).join("/")
    if (entry.isDirectory()) {
      const skipped = SKIPPED_DIRECTORIES.has(entry.name) || (directory === root && SKIPPED_AT_ROOT.has(entry.name))
      if (!skipped && !SKIPPED_FILES.test(entry.name)) yield* walk(path, context)
    } else if (entry.isFile() && !SKIPPED_FILES.test(entry.name) && !path.startsWith(context.output)) {
      const stats = lstatSync(path, { throwIfNoEntry: false })
      if (stats !== undefined) yield { path, name, stats, database: entry.name.endsWith(".db") }
    }
  }
}

function entriesOf(
  directory: string,
  { root, unreadable }: { readonly root: string; readonly unreadable: (name: string) => void },
): ReturnType<typeof readEntries> {
  try {
    return readEntries(directory)
  } catch {
    // One closed folder must not keep everything else from being saved; it is named at the end.
    unreadable(relative(root, directory).split(sep).join("/"))
    return []
  }
}

function readEntries(directory: string) {
  return readdirSync(directory, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
