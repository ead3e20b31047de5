import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"

import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { isProcessAlive, processStartTime } from "../../base/process-alive.ts"
import type { Home } from "../../config/home.ts"
import type { SessionId } from "../../protocol/identifiers.ts"

/**
 * Shows other processes that this one has a session open. It must be shown before this process stores anything that looks unfinished,
 * such as a tool call without a result: others complete what no process has open.
 */
export interface Presence {
  show(): void
  /** The conversation continues under this id. */
  follow(id: SessionId): void
  leave(): void
}

/** Writes a marker file into the home. It is advisory, not a lock: a home that cannot be written keeps no session from running. */
export function createPresence(home: Home, id: SessionId): Presence {
  let path = pathOf(home, id)
  let isShown = false
  return {
    show: () => {
      if (!isShown) write(home, path)
      isShown = true
    },
    follow: (next) => {
      const former = path
      path = pathOf(home, next)
      if (!isShown || path === former) return
      write(home, path)
      remove(former)
    },
    leave: () => {
      if (isShown) remove(path)
    },
  }
}

/**
 * The pid of another process of this machine, of either edition, that has the session open. Removes markers of processes that were
 * killed.
 */
export function findOtherProcess(home: Home, id: SessionId): number | undefined {
  return findMarker(home, id) ?? findPythonProcess(home, id)
}

function findMarker(home: Home, id: SessionId): number | undefined {
  for (const name of markersOf(home, id)) {
    const path = home.file(...MARKER_DIRECTORY, name)
    const marker = readMarker(path)
    if (marker === undefined || marker.host !== hostname() || marker.pid === process.pid) continue
    if (isProcessAlive(marker.pid) && processStartTime(marker.pid) === marker.start) return marker.pid
    remove(path)
  }
  return undefined
}

/** Recent Python versions register every open session. This edition registers only when `max_concurrent_sessions` is set. */
function findPythonProcess(home: Home, id: SessionId): number | undefined {
  let registry: unknown
  try {
    registry = parseJson(readFileSync(home.file("runtime", "active_sessions.json"), "utf8"))
  } catch {
    // Nothing is registered.
    return undefined
  }
  const entries = isRecord(registry) && Array.isArray(registry["entries"]) ? registry["entries"].filter(isRecord) : []
  return entries
    .flatMap(({ session_id: session, pid }) => (session === id && typeof pid === "number" ? [pid] : []))
    .find((pid) => pid !== process.pid && isProcessAlive(pid))
}

const MARKER_DIRECTORY = ["cache", "open-sessions"] as const

function markersOf(home: Home, id: SessionId): readonly string[] {
  try {
    return readdirSync(home.file(...MARKER_DIRECTORY)).filter((name) => name.startsWith(`${fileName(id)}.`))
  } catch {
    // No session has left a marker yet.
    return []
  }
}

function pathOf(home: Home, id: SessionId): string {
  return home.file(...MARKER_DIRECTORY, `${fileName(id)}.${process.pid}.json`)
}

function fileName(id: SessionId): string {
  return id.replaceAll(/[^\w-]/g, "_")
}

function write(home: Home, path: string): void {
  try {
    makeDirectories(home.file(...MARKER_DIRECTORY))
    const marker = { pid: process.pid, start: processStartTime(process.pid), host: hostname() }
    writeFileSync(path, JSON.stringify(marker), { mode: 0o600 })
  } catch {
    // The home cannot be written; other processes then do not see this one.
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It was never written, for the same reason.
  }
}

function readMarker(path: string): { readonly pid: number; readonly start: string; readonly host: string } | undefined {
  let marker: unknown
  try {
    marker = parseJson(readFileSync(path, "utf8"))
  } catch {
    // The other process has removed its marker.
    return undefined
  }
  if (!isRecord(marker)) return undefined
  const { pid, start, host } = marker
  return typeof pid === "number" && typeof start === "string" && typeof host === "string"
    ? { pid, start, host }
    : undefined
}
