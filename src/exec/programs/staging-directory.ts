import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

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

/** Also removes the directories that killed processes left behind. */
export function createStagingDirectory(files: Readonly<Record<string, string>>, root = tmpdir()): StagingDirectory {
  removeStale(root)
  const path = mkdtempSync(join(root, PREFIX))
  const remove = (): void => {
    rmSync(path, { recursive: true, force: true })
  }
  try {
    chmodSync(path, 0o700)
    writeFileSync(join(path, OWNER_FILE), `${process.pid} ${startTokenOf(process.pid)}`, { mode: 0o600 })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text, { mode: 0o600 })
  } catch (error) {
    remove()
    throw error
  }
  return { path, remove }
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
  const [pid = "", startedAt = ""] = readFileSync(join(path, OWNER_FILE), "utf8").split(" ")
  return !isSameProcess({ pid: Number(pid), startedAt })
}
