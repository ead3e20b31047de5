import { randomBytes } from "node:crypto"
import { createWriteStream, existsSync, renameSync, rmSync, statfsSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import type { ZipFile } from "yauzl"
import { makeDirectories } from "../../base/make-directories.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { homeAt } from "../../config/home.ts"
import { isProfileName } from "../../config/profiles/profile-name.ts"
import { writeWrapper } from "../../config/profiles/profile-wrapper.ts"
import { fileSize } from "../../base/file-size.ts"
import { failed, type AdminFailure } from "../failure.ts"
import { refuseWhileGatewayRuns } from "../gateway-process.ts"
import type { HomeContext } from "../home-context.ts"
import { ESSENTIAL_FILES, readArchive, type ArchiveContents, type ArchiveFile } from "./archive-entries.ts"

export interface RestoredBackup {
  readonly files: number
  /** Entries that were not restored, with the reason. */
  readonly refused: readonly string[]
  /** The commands that start the restored profiles. */
  readonly wrappers: readonly RestoredWrapper[]
}

export interface RestoredWrapper {
  readonly profile: string
  /** Undefined when the command could not be created; the hints have the reason. */
  readonly path: string | undefined
  readonly hints: readonly string[]
}

/**
 * Checks that a file is a backup and can be restored now. `replacesData`: the installation has data that the backup may overwrite.
 */
export async function checkRestore(
  { home, environment }: Pick<HomeContext, "home" | "environment">,
  archive: string,
): Promise<Result<{ readonly replacesData: boolean }, AdminFailure>> {
  if (statSync(archive, { throwIfNoEntry: false })?.isFile() !== true) return failed(`There is no file ${archive}.`)
  for (const used of [home, homeAt(home.root, environment)]) {
    const idle = refuseWhileGatewayRuns(used)
    if (!idle.ok) return idle
  }
  const opened = await openArchive(archive)
  if (!opened.ok) return failed(opened.error)
  opened.value.zip.close()
  return ok({ replacesData: ESSENTIAL_FILES.some((name) => existsSync(join(home.root, name))) })
}

/**
 * Unpacks a backup over an installation and creates the commands of its profiles. Unpacks everything to a staging directory
 * first, so an archive that is damaged or too large changes nothing. Files that are not in the archive stay.
 * `commands` are names that the command of a profile must not take.
 */
export async function restoreBackup(
  { home, environment }: Pick<HomeContext, "home" | "environment">,
  archive: string,
  options: { readonly commands: readonly string[]; readonly signal: AbortSignal },
): Promise<Result<RestoredBackup, AdminFailure>> {
  makeDirectories(home.root)
  const restored = await restoreFiles(archive, { root: home.root, signal: options.signal })
  if (!restored.ok) return failed(restored.error)
  const { files, refused, profiles } = restored.value
  const wrappers = profiles.filter(isProfileName).map((profile): RestoredWrapper => {
    const { path, hints } = writeWrapper(profile, { home, environment, commands: options.commands })
    return { profile, path, hints }
  })
  return ok({ files, refused, wrappers })
}

interface RestoredFiles {
  readonly files: number
  readonly refused: readonly string[]
  /** Names of the profiles in the archive. */
  readonly profiles: readonly string[]
}

async function restoreFiles(
  archive: string,
  options: { readonly root: string; readonly signal: AbortSignal },
): Promise<Result<RestoredFiles>> {
  const { root, signal } = options
  const opened = await openArchive(archive)
  if (!opened.ok) return opened
  const { zip, contents } = opened.value
  const staging = join(root, `.import-${randomBytes(6).toString("hex")}`)
  try {
    makeDirectories(staging)
    const free = freeBytes(root)
    if (contents.bytes > free)
      return fail(
        `The backup needs ${fileSize(contents.bytes)}, but only ${fileSize(free)} is free. Delete something first.`,
      )
    for (const file of contents.files) {
      signal.throwIfAborted()
      await unpack(zip, file, staging)
    }
    for (const file of contents.files) installFile(file.name, { staging, root })
    return ok({ files: contents.files.length, refused: contents.refused, profiles: profileNames(contents.files) })
  } catch (error) {
    // Aborts and system errors have their own message; any other error comes from the content of the archive.
    if (signal.aborted || (error instanceof Error && "syscall" in error)) throw error
    return fail(`${archive} is damaged (${errorMessage(error)}); nothing was changed. Use another backup.`)
  } finally {
    zip.close()
    rmSync(staging, { recursive: true, force: true })
  }
}

/** Opens an archive and reads what it contains; the caller closes it. */
async function openArchive(
  archive: string,
): Promise<Result<{ readonly zip: ZipFile; readonly contents: ArchiveContents }>> {
  // A CommonJS library: inside the bundle only its default export exists.
  const { default: yauzl } = await import("yauzl")
  let zip: ZipFile | undefined
  try {
    // `readArchive` checks each name, so that one bad entry does not prevent restoring the others.
    zip = await yauzl.openPromise(archive, { decodeStrings: false, autoClose: false })
    const contents = await readArchive(zip)
    if (contents !== undefined) return ok({ zip, contents })
    zip.close()
    return fail(`${archive} is not a backup of Hermes: it contains no config.yaml, .env or state.db.`)
  } catch (error) {
    zip?.close()
    return fail(`${archive} is not a readable zip file (${errorMessage(error)}).`)
  }
}

/** Files in a home are private: only the owner's execute bit is taken from the archive. */
async function unpack(zip: ZipFile, { entry, name }: ArchiveFile, staging: string): Promise<void> {
  const target = join(staging, name)
  makeDirectories(dirname(target))
  const executable = ((entry.externalFileAttributes >>> 16) & 0o100) !== 0
  await pipeline(
    await zip.openReadStreamPromise(entry),
    createWriteStream(target, { flags: "wx", mode: executable ? 0o700 : 0o600 }),
  )
}

const JOURNAL_SUFFIXES = ["-wal", "-shm", "-journal"]

/** Deletes the old journal files of a replaced database, which would damage the new one. */
function installFile(name: string, { staging, root }: { readonly staging: string; readonly root: string }): void {
  const target = join(root, name)
  makeDirectories(dirname(target))
  if (name.endsWith(".db")) for (const suffix of JOURNAL_SUFFIXES) rmSync(target + suffix, { force: true })
  renameSync(join(staging, name), target)
}

function profileNames(files: readonly ArchiveFile[]): readonly string[] {
  return [...new Set(files.flatMap(({ name }) => /^profiles\/([^/]+)\//.exec(name)?.[1] ?? []))].toSorted()
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}
