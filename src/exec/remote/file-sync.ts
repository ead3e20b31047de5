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
import { bringBack } from "./bring-back.ts"
import { packShipment } from "./sync-archive.ts"
import type { SentFile } from "./sync-archive.ts"
import { OPEN_SCRIPT, PUSH_SCRIPT } from "./sync-scripts.ts"
import type { AskPlace } from "./sync-scripts.ts"
import { hostFiles, rootsOf, wayBack } from "./synced-files.ts"
import type { HostFile, SyncedPlaces } from "./synced-files.ts"

export interface FileSyncOptions {
  readonly places: SyncedPlaces
  /** Where they are kept in the other place: `~/.hermes` there. */
  readonly base: string
  /** Tells that place from others, for the lock. */
  readonly placeName: string
  readonly ask: AskPlace
  /** How much one call can carry. */
  readonly maxInputBytes: number
  readonly clock: Clock
  readonly log: Logger
}

/** Skills, caches and registered credential files of this home, kept the same in another place. */
export interface FileSync {
  /** Before a command: sends what has changed since the last time, at most every five seconds. Never rejects. */
  push(): Promise<void>
  /** What to say about a failure, the first time there is one; then undefined. */
  takeNote(): string | undefined
  /** At the end: brings back what was changed over there. Never rejects. */
  pull(): Promise<void>
  /** Whoever leaves now waits for nothing. */
  stop(): void
}

const PUSH_EVERY_MS = 5000
const RETRY_DELAYS_MS = [2000, 4000, 8000]
const LOCK_WAIT_MS = 10_000
const MAX_PART_BYTES = 8 * 1024 * 1024

export function createFileSync(options: FileSyncOptions): FileSync {
  const { places, clock, log } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const lock = join(lockFolder(places.home), `${sha256Hex(options.placeName).slice(0, 16)}.lock`)
  let other: OtherPlace | undefined
  let isOurHome = false
  let pushing: Promise<void> | undefined
  let pushedAt = Number.NEGATIVE_INFINITY
  let failure: "none" | "new" | "told" = "none"

  const locked = async (work: () => Promise<void>): Promise<void> => {
    mkdirSync(lockFolder(places.home), { recursive: true, mode: 0o700 })
    await withFileLock(lock, { waitMs: LOCK_WAIT_MS, signal }, work)
  }
  const pushNow = async (): Promise<void> => {
    if (isOurHome) return
    try {
      const present = await hostFiles(places)
      await locked(async () => {
        other ??= await openPlace(options, signal)
        isOurHome = other.owner === "same"
        if (!isOurHome) other = await sendChanges(present, other, { ...options, signal })
      })
      if (failure === "new") failure = "none"
    } catch (error) {
      if (signal.aborted) return
      if (failure === "none") {
        failure = "new"
        log.warning(`files of this home could not be sent to ${options.placeName}: ${errorMessage(error)}`)
      }
    }
  }
  return {
    push: async () => {
      if (pushing === undefined && clock.now() - pushedAt < PUSH_EVERY_MS) return
      pushing ??= pushNow().finally(() => {
        pushedAt = clock.now()
        pushing = undefined
      })
      await pushing
    },
    takeNote: () => {
      if (failure !== "new") return undefined
      failure = "told"
      return `Skills and attachments of this home could not be copied to ${options.base} there; the log says why.`
    },
    pull: async () => {
      await pushing
      if (other === undefined || isOurHome || signal.aborted) return
      const { sent, before, owner } = other
      for (const delay of [...RETRY_DELAYS_MS, undefined]) {
        try {
          await locked(() => bringBack({ ...options, sent, before, takesNew: owner === "free", signal }))
          return
        } catch (error) {
          if (signal.aborted) return
          if (delay === undefined) {
            log.warning(`changed files could not be fetched from ${options.placeName}: ${errorMessage(error)}`)
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

/** What the other place has of ours. */
interface OtherPlace {
  readonly owner: "same" | "taken" | "free"
  readonly sent: ReadonlyMap<string, SentFile>
  /** What was there before we came, whoever put it there. */
  readonly before: ReadonlySet<string>
}

/** A file of this home that exists for a moment shows whether the other place is this very home. */
async function openPlace({ places, base, ask }: FileSyncOptions, signal: AbortSignal): Promise<OtherPlace> {
  const token = randomHex(12)
  const file = join(lockFolder(places.home), token)
  writeFileSync(file, "")
  try {
    const answer = await ask(OPEN_SCRIPT, [base, listName(places.home), token, ...rootsOf(places)], { signal })
    const [owner = "", list = "", ...files] = answer.toString("utf8").split("\0")
    const before = new Set(files.filter((path) => path !== ""))
    // What was removed over there is sent again; what is not asked for any more is still to be removed.
    const isThere = (path: string): boolean => before.has(path) || wayBack(path, places) === "never"
    return {
      owner: owner === "same" || owner === "taken" ? owner : "free",
      sent: new Map([...readList(list)].filter(([path]) => isThere(path))),
      before,
    }
  } finally {
    rmSync(file, { force: true })
  }
}

async function sendChanges(
  present: readonly HostFile[],
  other: OtherPlace,
  options: FileSyncOptions & { readonly signal: AbortSignal },
): Promise<OtherPlace> {
  const { places, base, ask, log, signal } = options
  const isForeign = ({ path }: HostFile): boolean =>
    other.owner === "taken" && other.before.has(path) && !other.sent.has(path)
  const foreign = present.filter(isForeign)
  const changed = present.filter((file) => !isForeign(file) && !isSame(file, other.sent.get(file.path)))
  const names = new Set(present.map(({ path }) => path))
  const removed = [...other.sent.keys()].filter((path) => !names.has(path))
  if (changed.length === 0 && removed.length === 0) return other
  const sent = new Map([...other.sent].filter(([path]) => names.has(path)))
  const stage = `stage-${randomHex(8)}`
  const list = (all: ReadonlyMap<string, SentFile>): string => JSON.stringify(Object.fromEntries(all))
  const partBytes = Math.min(options.maxInputBytes, MAX_PART_BYTES)
  let held: Uint8Array | undefined
  const send = async (part: Uint8Array, which: "more" | "last"): Promise<void> => {
    await ask(PUSH_SCRIPT, [base, listName(places.home), stage, which], { stdin: part, signal })
  }
  for await (const part of packShipment({ home: places.home, changed, removed, list }, { sent, partBytes })) {
    if (held !== undefined) await send(held, "more")
    held = part
  }
  await send(held ?? new Uint8Array(), "last")
  log.info(`${changed.length} files sent to ${options.placeName}, ${removed.length} removed there`)
  if (foreign.length > 0) {
    log.info(`${foreign.length} files of ${base} there belong to another Hermes and were left as they are`)
  }
  return { ...other, sent }
}

function isSame(file: HostFile, sent: SentFile | undefined): boolean {
  return sent !== undefined && sent.size === file.size && sent.modifiedMs === file.modifiedMs
}

/** Several homes may send files to the same account; each has a list of its own there. */
function listName(home: string): string {
  return sha256Hex(`${hostname()}\0${home}`).slice(0, 16)
}

function lockFolder(home: string): string {
  return join(home, "cache", "remote-sync")
}

function readList(text: string): ReadonlyMap<string, SentFile> {
  const list = parseJson(text)
  if (!isRecord(list)) return new Map()
  return new Map(
    Object.entries(list).flatMap(([path, value]): readonly (readonly [string, SentFile])[] => {
      if (!isRecord(value)) return []
      const { size, modifiedMs, hash } = value
      const isWhole = typeof size === "number" && typeof modifiedMs === "number" && typeof hash === "string"
      return isWhole ? [[path, { size, modifiedMs, hash }]] : []
    }),
  )
}
