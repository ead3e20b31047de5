import { mkdtempSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { isProcessAlive } from "../../base/process-alive.ts"

const IN_MEMORY = "/dev/shm"
/** A shared place may also hold the directories of processes that cannot be seen from here. */
const LEFT_BEHIND_AFTER_MS = 24 * 3600_000

/**
 * In memory where the system has such a place: writing to a disk can take longer than the command. In a sandbox nothing else of that
 * place is seen, so that no command finds what belongs to another, which it could change.
 */
export function makeMemoryDirectory(purpose: "shell" | "pipes"): string {
  const name = `hermes-${purpose}-${processNamespace()}-${process.pid}-`
  try {
    return mkdtempSync(join(IN_MEMORY, name))
  } catch {
    // There is no such place, or it is not ours to write; the disk will do.
  }
  return mkdtempSync(join(tmpdir(), name))
}

/** Also removes, from the same place, what processes that were killed have left behind. */
export function removeMemoryDirectory(directory: string, now: number): void {
  // Something may still be put there while it goes.
  rmSync(directory, { recursive: true, force: true, maxRetries: 3, retryDelay: 5 })
  const place = join(directory, "..")
  const namespace = processNamespace()
  for (const name of namesIn(place)) {
    const { owner, pid } = NAME.exec(name)?.groups ?? {}
    if (owner === undefined || isProcessAlive(Number(pid))) continue
    removeFrom(join(place, name), owner === namespace ? 0 : LEFT_BEHIND_AFTER_MS, now)
  }
}

/** Tells whose process numbers these are: a container has its own. */
function processNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid").replaceAll(/\D/gu, "") || "0"
  } catch {
    // This system has one for all.
    return "0"
  }
}

function namesIn(place: string): readonly string[] {
  try {
    return readdirSync(place)
  } catch {
    // A temporary place that went before us took everything along.
    return []
  }
}

const NAME = /^hermes-(?:shell|pipes)-(?<owner>\d+)-(?<pid>\d+)-\w+$/u

function removeFrom(directory: string, age: number, now: number): void {
  try {
    if (age === 0 || now - statSync(directory).mtimeMs > age) rmSync(directory, { recursive: true, force: true })
  } catch {
    // Somebody else's, or somebody else was quicker.
  }
}
