import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

import { withFileLock } from "../../base/file-lock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import type { Logger } from "../../base/logger.ts"
import { errorMessage, isNotFound } from "../../base/system-error.ts"
import { isSameProcess, startTokenOf } from "../process-tree.ts"

const LOCK_WAIT_MS = 5000

/** An entry of `processes.json`. The field names are those of the Python edition; `keeper` is an addition. */
export interface StoredProcess {
  readonly session_id: string
  readonly command: string
  readonly cwd: string
  readonly pid: number
  readonly host_start_time: number
  /** Seconds since the epoch. */
  readonly started_at: number
  readonly task_id: string
  readonly notify_on_complete: boolean
  /** The Hermes process and registry that manage this process. */
  readonly keeper?: Keeper
}

export type ProcessRecord = Omit<StoredProcess, "keeper">

/** A process id can be reused, so the start time identifies the Hermes process together with it. */
interface Keeper {
  readonly pid: number
  readonly start: string
  readonly registry: string
}

export interface ProcessFile {
  /** Writes the current entries; calls made during a write share the next one. Never rejects. */
  save(): Promise<void>
  /** Returns entries whose Hermes process has exited. The next `save` drops those that this registry has not adopted. */
  orphans(): readonly StoredProcess[]
}

/** Manages the entries of one registry in the file. An unreadable file only prevents recovery. */
export function openProcessFile(
  { file, log }: { readonly file: string; readonly log: Logger },
  entries: () => readonly ProcessRecord[],
): ProcessFile {
  const keeper: Keeper = { pid: process.pid, start: startTokenOf(process.pid), registry: randomHex(6) }
  let current: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  const write = async (before: Promise<void>): Promise<void> => {
    await before
    next = undefined
    try {
      await replaceEntries(file, keeper, entries)
    } catch (error) {
      log.warning(`cannot record background processes in ${file}: ${errorMessage(error)}`)
    }
  }
  return {
    save: () => {
      next ??= write(current)
      current = next
      return next
    },
    orphans: () => {
      try {
        return readEntries(file).filter((entry) => !isKeptByAnother(entry, keeper) && !isKeptBy(entry, keeper))
      } catch (error) {
        log.warning(`cannot read ${file}: ${errorMessage(error)}`)
        return []
      }
    },
  }
}

/** The processes whose Hermes process was killed and that still run. Adopts none of them. An unreadable file has none. */
export function findSurvivors(file: string): readonly Pick<StoredProcess, "command" | "pid">[] {
  try {
    return readEntries(file).filter(
      ({ pid, host_start_time, keeper }) =>
        (keeper === undefined || !isSameProcess({ pid: keeper.pid, startedAt: keeper.start })) &&
        isSameProcess({ pid, startedAt: String(host_start_time) }),
    )
  } catch {
    // The registry reports it when it is opened.
    return []
  }
}

/**
 * Preserves entries of other registries while their Hermes process runs. Does not fsync: the file serves recovery after Hermes was
 * killed, and a power failure ends the background processes too.
 */
async function replaceEntries(file: string, keeper: Keeper, own: () => readonly ProcessRecord[]): Promise<void> {
  makeDirectories(dirname(file))
  await withFileLock(`${file}.lock`, { waitMs: LOCK_WAIT_MS }, () => {
    const others = readEntries(file).filter((entry) => isKeptByAnother(entry, keeper))
    write(file, [...others, ...own().map((entry) => ({ ...entry, keeper }))])
  })
}

function isKeptBy(entry: StoredProcess, keeper: Keeper): boolean {
  return entry.keeper?.registry === keeper.registry && entry.keeper.pid === keeper.pid
}

function isKeptByAnother(entry: StoredProcess, keeper: Keeper): boolean {
  const other = entry.keeper
  return other !== undefined && !isKeptBy(entry, keeper) && isSameProcess({ pid: other.pid, startedAt: other.start })
}

function write(file: string, entries: readonly StoredProcess[]): void {
  const temporary = `${file}.${process.pid}.${randomHex(4)}.tmp`
  writeFileSync(temporary, JSON.stringify(entries, undefined, 1), { mode: 0o600 })
  renameSync(temporary, file)
}

function readEntries(file: string): readonly StoredProcess[] {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
  const entries = parseJson(text)
  return Array.isArray(entries) ? entries.flatMap((entry: unknown) => parseEntry(entry) ?? []) : []
}

/** Returns undefined for an invalid entry, which could not be recovered anyway. */
function parseEntry(entry: unknown): StoredProcess | undefined {
  if (!isRecord(entry)) return undefined
  const { session_id, command, cwd, pid, host_start_time, started_at, task_id, notify_on_complete, keeper } = entry
  if (typeof session_id !== "string" || typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 1)
    return undefined
  const parsed = parseKeeper(keeper)
  return {
    session_id,
    pid,
    command: typeof command === "string" ? command : "",
    cwd: typeof cwd === "string" ? cwd : "",
    host_start_time: typeof host_start_time === "number" ? host_start_time : -1,
    started_at: typeof started_at === "number" ? started_at : 0,
    task_id: typeof task_id === "string" ? task_id : "",
    notify_on_complete: notify_on_complete === true,
    ...(parsed !== undefined && { keeper: parsed }),
  }
}

function parseKeeper(value: unknown): Keeper | undefined {
  if (!isRecord(value)) return undefined
  const { pid, start, registry } = value
  if (typeof pid !== "number" || typeof start !== "string" || typeof registry !== "string") return undefined
  return { pid, start, registry }
}
