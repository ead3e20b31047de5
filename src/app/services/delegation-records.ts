import { readdirSync, rmdirSync, rmSync } from "node:fs"
import { hostname } from "node:os"

import { z } from "zod"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { isProcessAlive, processStartTime } from "../../base/process-alive.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import type { Home } from "../../config/home.ts"

/** The directory of the home with one file for each sub-agent that runs or whose result was not delivered yet. */
const DELEGATIONS_DIRECTORY = "delegations"

const RECORD = z.object({
  version: z.literal(1),
  /** `deleg_<8 hex>` in the background, else the id of the sub-agent. */
  id: z.string().regex(/^[\w-]{1,64}$/u),
  background: z.boolean(),
  /** The number of a background task that the user started. Its result is for the user and not for the conversation. */
  task: z.number().optional(),
  /** The session that started it; a compression changes it. */
  parent_session_id: z.string(),
  subagent_id: z.string().optional(),
  child_session_id: z.string().optional(),
  goal: z.string(),
  context: z.string().optional(),
  started_at: z.number(),
  ended_at: z.number().optional(),
  status: z.enum(["running", "completed", "failed", "error", "timeout", "interrupted"]),
  summary: z.string().optional(),
  /** The whole result of a delegation in the background, as JSON text. */
  result: z.string().optional(),
  /** It was reported to the user after the process had ended. */
  reported: z.boolean(),
  /** The conversation has received the result. */
  delivered: z.boolean(),
  process: z.object({ pid: z.number(), start: z.string(), host: z.string() }),
})

export type DelegationRecord = z.infer<typeof RECORD>

/** Sub-agents on disk, so that a start after a crash can report what became of each. */
export interface DelegationRecords {
  /** Throws when the home cannot be written. */
  write(record: DelegationRecord): void
  remove(id: string): void
  /** Oldest first; files that cannot be read are left out. */
  list(): readonly DelegationRecord[]
  /** The names of files that are no records. */
  damaged(): readonly string[]
}

const MAX_RECORD_BYTES = 4_000_000
/** Delivered results in the background that are kept. */
const MAX_FINISHED = 50

export function openDelegationRecords(home: Home): DelegationRecords {
  const pathOf = (id: string): string => home.file(DELEGATIONS_DIRECTORY, `${id}.json`)
  const list = (): readonly DelegationRecord[] =>
    namesIn(home)
      .flatMap((name) => {
        const record = readRecord(home.file(DELEGATIONS_DIRECTORY, name))
        return record === undefined ? [] : [record]
      })
      .toSorted((a, b) => a.started_at - b.started_at)
  const remove = (id: string): void => {
    rmSync(pathOf(id), { force: true })
    try {
      rmdirSync(home.file(DELEGATIONS_DIRECTORY))
    } catch {
      // Others are left, or another process has removed it.
    }
  }
  return {
    list,
    remove,
    damaged: () => namesIn(home).filter((name) => readRecord(home.file(DELEGATIONS_DIRECTORY, name)) === undefined),
    write: (record) => {
      makeDirectories(home.file(DELEGATIONS_DIRECTORY))
      writeFileAtomic(pathOf(record.id), JSON.stringify(record))
      if (!record.delivered) return
      const finished = list().filter(({ delivered }) => delivered)
      for (const { id } of finished.slice(0, Math.max(0, finished.length - MAX_FINISHED))) remove(id)
    },
  }
}

export function thisProcess(): DelegationRecord["process"] {
  return { pid: process.pid, start: processStartTime(process.pid), host: hostname() }
}

/** False for a process of another machine that shares the home: whether it runs is not known. */
export function hasEnded({ process: { pid, start, host } }: Pick<DelegationRecord, "process">): boolean {
  if (host !== hostname() || pid === process.pid) return false
  return !isProcessAlive(pid) || processStartTime(pid) !== start
}

function namesIn(home: Home): readonly string[] {
  try {
    return readdirSync(home.file(DELEGATIONS_DIRECTORY)).filter((name) => /^[\w-]+\.json$/u.test(name))
  } catch {
    // There are none.
    return []
  }
}

function readRecord(path: string): DelegationRecord | undefined {
  try {
    const bytes = readRegularFile(path, { maxBytes: MAX_RECORD_BYTES }).bytes
    return RECORD.safeParse(JSON.parse(bytes.toString("utf8"))).data
  } catch {
    // Damaged, or removed in the meantime.
    return undefined
  }
}
