import { existsSync, lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { readRegularFile } from "../../base/regular-file.ts"
import { inVerified, openVerified } from "../local/verified-path.ts"
import { isSameProcess, startTokenOf } from "../process-tree.ts"

/** A private directory for the files of one script. The code that creates it must remove it. */
export interface StagingDirectory {
  readonly path: string
  remove(): void
}

const PREFIX = "hermes_sandbox_"
/** Names the process that created the directory. */
const OWNER_FILE = ".owner"
/** A directory without an owner may be one that another process is just creating. */
const CREATION_MS = 60_000

const MAX_OWNER_BYTES = 1000

/** Also removes the directories that killed processes left behind. */
export function createStagingDirectory(files: Readonly<Record<string, string>>, root = tmpdir()): StagingDirectory {
  removeStale(root)
  const path = mkdtempSync(join(realpathSync(root), PREFIX))
  const remove = (): void => {
    rmSync(path, { recursive: true, force: true })
  }
  try {
    writeFiles(path, { [OWNER_FILE]: `${process.pid} ${startTokenOf(process.pid)}`, ...files })
  } catch (error) {
    remove()
    throw error
  }
  return { path, remove }
}

/** A command that still runs may replace the directory or a file with a link, which is not followed. */
function writeFiles(directory: string, files: Readonly<Record<string, string>>): void {
  const opened = openVerified(directory, "directory")
  try {
    inVerified(opened, directory, (path) => {
      for (const [name, text] of Object.entries(files))
        writeFileSync(join(path, name), text, { mode: 0o600, flag: "wx" })
    })
  } finally {
    opened.close()
  }
}

function removeStale(root: string): void {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(root, name)
    try {
      if (isStale(path)) rmSync(path, { recursive: true, force: true })
    } catch {
      // It belongs to another user, or another process has just removed it.
    }
  }
}

function isStale(path: string): boolean {
  const facts = lstatSync(path)
  if (!facts.isDirectory() || facts.uid !== process.getuid?.()) return false
  if (!existsSync(join(path, OWNER_FILE))) return Date.now() - facts.mtimeMs > CREATION_MS
  // A command may have put a pipe there, on which a plain read would wait forever.
  const { bytes } = readRegularFile(join(path, OWNER_FILE), { maxBytes: MAX_OWNER_BYTES })
  const [pid = "", startedAt = ""] = bytes.toString("utf8").split(" ")
  return !isSameProcess({ pid: Number(pid), startedAt })
}
