import { randomBytes } from "node:crypto"
import { createWriteStream, renameSync, rmSync, statfsSync } from "node:fs"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import type { ZipFile } from "yauzl"
import { makeDirectories } from "../../base/make-directories.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { fileSize } from "../file-size.ts"
import { readArchive, type ArchiveFile } from "./archive-entries.ts"

export interface Restored {
  readonly files: number
  readonly refused: readonly string[]
  /** Profiles that were in the archive. */
  readonly profiles: readonly string[]
}

const SIDE_FILES = ["-wal", "-shm", "-journal"]

/**
 * Unpacks a backup over an installation. Everything is unpacked beside it first, so an archive that is damaged or does not
 * fit on the disk changes nothing. Files that the archive does not hold stay.
 */
export async function restoreBackup(
  archive: string,
  options: { readonly root: string; readonly signal: AbortSignal },
): Promise<Result<Restored>> {
  // A CommonJS library: inside the bundle only its default export exists.
  const { default: yauzl } = await import("yauzl")
  const { root, signal } = options
  let zip: ZipFile
  try {
    // Names are checked one by one here, so that one bad entry does not hide all others.
    zip = await yauzl.openPromise(archive, { decodeStrings: false, autoClose: false })
  } catch (error) {
    return fail(`${archive} is not a readable zip file (${errorMessage(error)}).`)
  }
  const staging = join(root, `.import-${randomBytes(6).toString("hex")}`)
  try {
    const contents = await readArchive(zip)
    if (contents === undefined)
      return fail(`${archive} is not a backup of Hermes: it holds no config.yaml, .env or state.db.`)
    makeDirectories(staging)
    const free = freeBytes(root)
    if (contents.bytes > free)
      return fail(`The backup needs ${fileSize(contents.bytes)}, and only ${fileSize(free)} are free.`)
    for (const file of contents.files) {
      signal.throwIfAborted()
      await unpack(zip, file, staging)
    }
    for (const file of contents.files) moveIntoPlace(file.name, { staging, root })
    return ok({ files: contents.files.length, refused: contents.refused, profiles: profileNames(contents.files) })
  } catch (error) {
    // What the disk or the person did is told as such; anything else comes from the bytes of the archive.
    if (signal.aborted || (error instanceof Error && "syscall" in error)) throw error
    return fail(`${archive} is damaged (${errorMessage(error)}); nothing was changed.`)
  } finally {
    zip.close()
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Everything in a home is private; only the owner's own execute bit is kept from the archive. */
async function unpack(zip: ZipFile, { entry, name }: ArchiveFile, staging: string): Promise<void> {
  const target = join(staging, name)
  makeDirectories(dirname(target))
  const executable = ((entry.externalFileAttributes >>> 16) & 0o100) !== 0
  await pipeline(
    await zip.openReadStreamPromise(entry),
    createWriteStream(target, { flags: "wx", mode: executable ? 0o700 : 0o600 }),
  )
}

/** A database and its side files belong together: old side files beside a new database would damage it. */
function moveIntoPlace(name: string, { staging, root }: { readonly staging: string; readonly root: string }): void {
  const target = join(root, name)
  makeDirectories(dirname(target))
  if (name.endsWith(".db")) for (const side of SIDE_FILES) rmSync(target + side, { force: true })
  renameSync(join(staging, name), target)
}

function profileNames(files: readonly ArchiveFile[]): readonly string[] {
  return [...new Set(files.flatMap(({ name }) => /^profiles\/([^/]+)\//.exec(name)?.[1] ?? []))].toSorted()
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}
