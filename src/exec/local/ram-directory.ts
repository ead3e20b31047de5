import { mkdtempSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { isProcessAlive } from "../../base/process-alive.ts"

const IN_MEMORY = "/dev/shm"
/** A shared directory may also hold the directories of live processes in other PID namespaces, which cannot be checked from here. */
const STALE_AFTER_MS = 24 * 3600_000

/**
 * Creates a private directory in memory (tmpfs) where the system has one: writing to a disk can take longer than the command. A sandbox
 * exposes nothing else of that file system, so commands cannot find or change another session's directory.
 */
export function createMemoryDirectory(purpose: "shell" | "pipes"): string {
  const name = `hermes-${purpose}-${pidNamespace()}-${process.pid}-`
  try {
    return mkdtempSync(join(IN_MEMORY, name))
  } catch {
    // The system has no /dev/shm, or it is not writable: use the disk.
  }
  return mkdtempSync(join(tmpdir(), name))
}

/** Removes the directory, and directories next to it that killed processes have left behind. */
export function removeMemoryDirectory(directory: string, now: number): void {
  // Retries because a process may still create files in it meanwhile.
  rmSync(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 5 })
  const parent = join(directory, "..")
  const namespace = pidNamespace()
  for (const name of namesIn(parent)) {
    const { owner, pid } = NAME.exec(name)?.groups ?? {}
    if (owner === undefined || isProcessAlive(Number(pid))) continue
    removeIfOlder(join(parent, name), owner === namespace ? 0 : STALE_AFTER_MS, now)
  }
}

/** Identifies the PID namespace, because process ids of another container mean nothing here. */
function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid").replaceAll(/\D/gu, "") || "0"
  } catch {
    // This system has only one.
    return "0"
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    // A temporary parent directory has been removed with everything in it.
    return []
  }
}

const NAME = /^hermes-(?:shell|pipes)-(?<owner>\d+)-(?<pid>\d+)-\w+$/u

function removeIfOlder(directory: string, ageMs: number, now: number): void {
  try {
    if (ageMs === 0 || now - statSync(directory).mtimeMs > ageMs) rmSync(directory, { recursive: true, force: true })
  } catch {
    // It belongs to another user, or another process has removed it.
  }
}
