import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"

import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { randomHex, sha256Hex } from "../../base/random-and-hash.ts"
import { errorMessage } from "../../base/system-error.ts"
import { downloadChanges } from "./download-changes.ts"
import { packUpload } from "./sync-archive.ts"
import type { UploadedFile } from "./sync-archive.ts"
import { INSPECT_SCRIPT, UPLOAD_SCRIPT } from "./sync-scripts.ts"
import type { RunSyncScript } from "./sync-scripts.ts"
import { isSynced, listLocalFiles, syncedRoots } from "./synced-files.ts"
import type { LocalFile, SyncedPaths } from "./synced-files.ts"

export interface FileSyncOptions {
  readonly paths: SyncedPaths
  /** Leaves provided files in the remote workspace when it closes. */
  readonly keepsProvided?: boolean
  /** The remote directory that holds the copies, `~/.hermes`. */
  readonly base: string
  /** Identifies the workspace, for the lock and the log. */
  readonly workspaceName: string
  readonly runScript: RunSyncScript
  /** How much input one script can receive. */
  readonly maxInputBytes: number
  readonly clock: Clock
  readonly log: Logger
}

/** Keeps copies of this home's skills, caches and configured credential files in a remote workspace. */
export interface FileSync {
  /** Call it before a command: uploads what has changed, at most every five seconds. Never rejects. */
  upload(): Promise<void>
  /** Uploads these files too, before the next command. */
  provide(paths: readonly string[]): void
  /** Returns a message about a failed upload once, then undefined. */
  takeNote(): string | undefined
  /**
   * Call it when the workspace closes: downloads caches and credentials that were changed remotely, and removes provided files there.
   * Never rejects.
   */
  download(): Promise<void>
  /** Aborts transfers, for a process that is about to exit. */
  stop(): void
}

const UPLOAD_INTERVAL_MS = 5000
const RETRY_DELAYS_MS = [2000, 4000, 8000]
const LOCK_WAIT_MS = 10_000
const MAX_PART_BYTES = 8 * 1024 * 1024

export function createFileSync(options: FileSyncOptions): FileSync {
  const { clock, log } = options
  let { paths } = options
  /** Provided files that were not looked up in the remote workspace yet. */
  let unseen: readonly string[] = []
  const stopping = new AbortController()
  const { signal } = stopping
  const lock = join(lockDirectory(paths.home), `${sha256Hex(options.workspaceName).slice(0, 16)}.lock`)
  let copy: RemoteCopy | undefined
  let isSameHome = false
  let uploading: Promise<void> | undefined
  let uploadedAt = Number.NEGATIVE_INFINITY
  let failure: "none" | "new" | "reported" = "none"

  const locked = async (work: () => Promise<void>): Promise<void> => {
    mkdirSync(lockDirectory(paths.home), { recursive: true, mode: 0o700 })
    await withFileLock(lock, { waitMs: LOCK_WAIT_MS, signal }, work)
  }
  /** Files that a skill provides later are looked up when they appear: one that is there already is not ours. */
  const inspected = async (known: RemoteCopy | undefined): Promise<RemoteCopy> => {
    if (known !== undefined && unseen.length === 0) return known
    const lookedUp = known === undefined ? paths : { ...paths, directories: [], caches: [], files: [] }
    const found = await inspectCopy({ ...options, paths: lookedUp }, signal)
    unseen = []
    if (known === undefined) return found
    return { ...known, preexisting: new Set([...known.preexisting, ...found.preexisting]) }
  }
  const uploadNow = async (): Promise<void> => {
    if (isSameHome || (copy === undefined && syncedRoots(paths).length === 0)) return
    try {
      const files = await listLocalFiles(paths)
      await locked(async () => {
        copy = await inspected(copy)
        isSameHome = copy.owner === "same"
        if (!isSameHome) copy = await uploadChanges(files, copy, { ...options, paths, signal })
      })
      if (failure === "new") failure = "none"
    } catch (error) {
      if (signal.aborted) return
      if (failure === "none") {
        failure = "new"
        log.warning(`cannot upload files of this home to ${options.workspaceName}: ${errorMessage(error)}`)
      }
    }
  }
  return {
    upload: async () => {
      if (uploading === undefined && clock.now() - uploadedAt < UPLOAD_INTERVAL_MS) return
      uploading ??= uploadNow().finally(() => {
        if (unseen.length === 0) uploadedAt = clock.now()
        uploading = undefined
      })
      await uploading
    },
    provide: (given) => {
      const added = given.filter((path) => !paths.provided.includes(path))
      paths = { ...paths, provided: [...paths.provided, ...added] }
      unseen = [...unseen, ...added]
      uploadedAt = Number.NEGATIVE_INFINITY
    },
    takeNote: () => {
      if (failure !== "new") return undefined
      failure = "reported"
      return `Skills and attachments of this home could not be copied to ${options.base} in the workspace; see the log for the reason.`
    },
    download: async () => {
      await uploading
      if (paths.provided.length > 0 && options.keepsProvided !== true) {
        paths = { ...paths, provided: [] }
        await uploadNow()
      }
      if (copy === undefined || isSameHome || signal.aborted) return
      const { uploaded, preexisting, owner } = copy
      for (const delay of [...RETRY_DELAYS_MS, undefined]) {
        try {
          await locked(() =>
            downloadChanges({ ...options, uploaded, preexisting, includeNew: owner === "free", signal }),
          )
          return
        } catch (error) {
          if (signal.aborted) return
          if (delay === undefined) {
            log.warning(`cannot download changed files from ${options.workspaceName}: ${errorMessage(error)}`)
          } else await pause(delay)
        }
      }
    },
    stop: () => {
      stopping.abort()
    },
  }

  async function pause(ms: number): Promise<void> {
    try {
      await clock.sleep(ms, { signal })
    } catch (error) {
      if (!isAbort(error)) throw error
    }
  }
}

/** The copy of this home's files in the remote workspace. */
interface RemoteCopy {
  /** `same`: the directory is this very home. `taken`: it is the home of another Hermes. */
  readonly owner: "same" | "taken" | "free"
  readonly uploaded: ReadonlyMap<string, UploadedFile>
  /** Files that existed before the first upload of this session, from any source. */
  readonly preexisting: ReadonlySet<string>
}

/** A temporary file in this home shows whether the remote directory is this very home. */
async function inspectCopy({ paths, base, runScript }: FileSyncOptions, signal: AbortSignal): Promise<RemoteCopy> {
  const token = randomHex(12)
  const file = join(lockDirectory(paths.home), token)
  writeFileSync(file, "")
  try {
    const args = [base, manifestName(paths.home), token, ...syncedRoots(paths)]
    const output = await runScript(INSPECT_SCRIPT, args, { signal })
    const [owner = "", manifest = "", ...files] = output.toString("utf8").split("\0")
    const preexisting = new Set(files.filter((path) => path !== ""))
    // A file that was removed remotely is uploaded again. A file that is no longer synced stays listed, so that it is removed remotely.
    const isKnown = (path: string): boolean => preexisting.has(path) || !isSynced(path, paths)
    return {
      owner: owner === "same" || owner === "taken" ? owner : "free",
      uploaded: new Map([...parseManifest(manifest)].filter(([path]) => isKnown(path))),
      preexisting,
    }
  } finally {
    rmSync(file, { force: true })
  }
}

async function uploadChanges(
  files: readonly LocalFile[],
  copy: RemoteCopy,
  options: FileSyncOptions & { readonly signal: AbortSignal },
): Promise<RemoteCopy> {
  const { paths, base, runScript, log, signal } = options
  const isForeign = ({ path }: LocalFile): boolean =>
    (copy.owner === "taken" || paths.provided.includes(path)) && copy.preexisting.has(path) && !copy.uploaded.has(path)
  const foreign = files.filter(isForeign)
  const changed = files.filter((file) => !isForeign(file) && !isUnchanged(file, copy.uploaded.get(file.path)))
  const present = new Set(files.map(({ path }) => path))
  const removed = [...copy.uploaded.keys()].filter((path) => !present.has(path))
  if (changed.length === 0 && removed.length === 0) return copy
  const uploaded = new Map([...copy.uploaded].filter(([path]) => present.has(path)))
  const stage = `stage-${randomHex(8)}`
  const manifest = (all: ReadonlyMap<string, UploadedFile>): string => JSON.stringify(Object.fromEntries(all))
  const partBytes = Math.min(options.maxInputBytes, MAX_PART_BYTES)
  let held: Uint8Array | undefined
  const send = async (part: Uint8Array, position: "more" | "last"): Promise<void> => {
    await runScript(UPLOAD_SCRIPT, [base, manifestName(paths.home), stage, position], { stdin: part, signal })
  }
  for await (const part of packUpload({ home: paths.home, changed, removed, manifest }, { uploaded, partBytes })) {
    if (held !== undefined) await send(held, "more")
    held = part
  }
  await send(held ?? new Uint8Array(), "last")
  log.info(`uploaded ${changed.length} files to ${options.workspaceName}, removed ${removed.length} there`)
  if (foreign.length > 0) {
    log.info(`left ${foreign.length} files in ${base} there unchanged: they belong to another Hermes`)
  }
  return { ...copy, uploaded }
}

function isUnchanged(file: LocalFile, uploaded: UploadedFile | undefined): boolean {
  return uploaded !== undefined && uploaded.size === file.size && uploaded.modifiedMs === file.modifiedMs
}

/** Several homes may upload to the same account, so each has its own manifest. */
function manifestName(home: string): string {
  return sha256Hex(`${hostname()}\0${home}`).slice(0, 16)
}

function lockDirectory(home: string): string {
  return join(home, "cache", "remote-sync")
}

function parseManifest(text: string): ReadonlyMap<string, UploadedFile> {
  const manifest = parseJson(text)
  if (!isRecord(manifest)) return new Map()
  return new Map(
    Object.entries(manifest).flatMap(([path, value]): readonly (readonly [string, UploadedFile])[] => {
      if (!isRecord(value)) return []
      const { size, modifiedMs, hash } = value
      const isComplete = typeof size === "number" && typeof modifiedMs === "number" && typeof hash === "string"
      return isComplete ? [[path, { size, modifiedMs, hash }]] : []
    }),
  )
}
