import { lstatSync, readdirSync, type Stats } from "node:fs"
import { join, relative, sep } from "node:path"

export interface BackupFile {
  readonly kind: "file"
  readonly path: string
  /** Path relative to the root, with `/` as separator. */
  readonly name: string
  readonly stats: Stats
  readonly isDatabase: boolean
}

/** A directory that cannot be read. */
export interface UnreadableDirectory {
  readonly kind: "unreadable"
  readonly name: string
}

/** Directories that can be recreated, contain copies, or belong to other tools. */
const SKIPPED_DIRECTORIES = new Set(["backups", "checkpoints", ".git", "node_modules"])
/** A checkout of the program, which some installations keep in the home. */
const SKIPPED_AT_ROOT = new Set(["hermes-agent"])
const SKIPPED_FILES = /(?:\.db-(?:wal|shm|journal)|\.pid|\.lock|\.import-[0-9a-f]+)$/
/**
 * Below the home of each profile: compiled code, installed language servers, fetched lists and markers of running processes. Other
 * caches stay in the backup, because conversations refer to their files.
 */
const SKIPPED_IN_HOMES =
  /^(?:profiles\/[^/]+\/)?(?:lsp|cache\/(?:code|remote-sync|open-sessions|config\.parsed\.json|model_catalog\.json|model_lists\.json))$/

/** Yields every file of an installation that belongs in a backup, except the backup itself (`output`). */
export function* backupFiles(
  root: string,
  options: { readonly output: string },
): Generator<BackupFile | UnreadableDirectory, void> {
  yield* walk(root, { ...options, root })
}

function* walk(
  directory: string,
  context: { readonly root: string; readonly output: string },
): Generator<BackupFile | UnreadableDirectory, void> {
  const { root } = context
  const entries = readEntries(directory)
  if (entries === undefined) {
    yield { kind: "unreadable", name: relativeName(root, directory) }
    return
  }
  for (const entry of entries) {
    const path = join(directory, entry.name)
    if (SKIPPED_IN_HOMES.test(relativeName(root, path))) continue
    if (entry.isDirectory()) {
      const skipped = SKIPPED_DIRECTORIES.has(entry.name) || (directory === root && SKIPPED_AT_ROOT.has(entry.name))
      if (!skipped && !SKIPPED_FILES.test(entry.name)) yield* walk(path, context)
    } else if (entry.isFile() && !SKIPPED_FILES.test(entry.name) && !path.startsWith(context.output)) {
      const stats = lstatSync(path, { throwIfNoEntry: false })
      const name = relativeName(root, path)
      if (stats !== undefined) yield { kind: "file", path, name, stats, isDatabase: entry.name.endsWith(".db") }
    }
  }
}

function relativeName(root: string, path: string): string {
  return relative(root, path).split(sep).join("/")
}

function readEntries(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    // One unreadable directory must not prevent the rest from being saved; the caller reports it.
    return undefined
  }
}
