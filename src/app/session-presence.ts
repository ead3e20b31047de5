import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"

import { isRecord, parseJson } from "../base/json.ts"
import { makeDirectories } from "../base/make-directories.ts"
import { isProcessAlive, processStart } from "../base/process-alive.ts"
import type { Home } from "../config/home.ts"
import type { SessionId } from "../protocol/identifiers.ts"

/** That this process works on a session, for others that are about to. */
export interface Presence {
  /** From now on others can see it. */
  show(): void
  /** The conversation goes on under another id. */
  follow(id: SessionId): void
  leave(): void
}

/** A sign in the home. It is a courtesy, not a lock: where it cannot be written nobody is kept from talking. */
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
      if (!isShown) return
      write(home, path)
      remove(former)
    },
    leave: () => {
      if (isShown) remove(path)
    },
  }
}

/** Another living process of this machine that has the session open. Signs of processes that were killed are removed. */
export function openElsewhere(home: Home, id: SessionId): number | undefined {
  for (const name of signsOf(home, id)) {
    const path = home.file(...FOLDER, name)
    const sign = readSign(path)
    if (sign === undefined || sign.host !== hostname() || sign.pid === process.pid) continue
    if (isProcessAlive(sign.pid) && processStart(sign.pid) === sign.start) return sign.pid
    remove(path)
  }
  return undefined
}

const FOLDER = ["cache", "open-sessions"] as const

function signsOf(home: Home, id: SessionId): readonly string[] {
  try {
    return readdirSync(home.file(...FOLDER)).filter((name) => name.startsWith(`${fileName(id)}.`))
  } catch {
    // Nobody has ever left a sign.
    return []
  }
}

function pathOf(home: Home, id: SessionId): string {
  return home.file(...FOLDER, `${fileName(id)}.${process.pid}.json`)
}

function fileName(id: SessionId): string {
  return id.replaceAll(/[^\w-]/g, "_")
}

function write(home: Home, path: string): void {
  try {
    makeDirectories(home.file(...FOLDER))
    const sign = { pid: process.pid, start: processStart(process.pid), host: hostname() }
    writeFileSync(path, JSON.stringify(sign), { mode: 0o600 })
  } catch {
    // A home that cannot be written: others then do not hear of this one.
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It was never written, for the same reason.
  }
}

function readSign(path: string): { readonly pid: number; readonly start: string; readonly host: string } | undefined {
  let sign: unknown
  try {
    sign = parseJson(readFileSync(path, "utf8"))
  } catch {
    // Nobody is there.
    return undefined
  }
  if (!isRecord(sign)) return undefined
  const { pid, start, host } = sign
  return typeof pid === "number" && typeof start === "string" && typeof host === "string"
    ? { pid, start, host }
    : undefined
}
