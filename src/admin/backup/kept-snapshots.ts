import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join, sep } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { Home } from "../../config/home.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { takeSnapshot } from "./quick-snapshot.ts"

export interface KeptSnapshot {
  readonly id: string
  readonly files: number
  readonly bytes: number
  readonly names: readonly string[]
}

/** The snapshots of a home, newest first. */
export function listSnapshots(home: Home): readonly KeptSnapshot[] {
  const directory = home.file("state-snapshots")
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((name) => /^\d{8}-\d{6}/u.test(name))
    .toSorted()
    .toReversed()
    .flatMap((id): readonly KeptSnapshot[] => {
      const sizes = readManifest(join(directory, id, "manifest.json"))
      if (sizes === undefined) return []
      const names = Object.keys(sizes)
      return [{ id, names, files: names.length, bytes: Object.values(sizes).reduce((sum, size) => sum + size, 0) }]
    })
}

export interface RestoredSnapshot {
  readonly files: readonly string[]
  /** Databases are open while Hermes runs, so they are not replaced. */
  readonly databases: readonly string[]
  /** The snapshot with the files that were replaced. */
  readonly saved: string
}

/** Puts the files of a snapshot back, except databases, after it has saved those that they replace. */
export async function restoreSnapshot(
  context: Pick<HomeContext, "home" | "clock">,
  id: string,
): Promise<Result<RestoredSnapshot, AdminFailure>> {
  const { home } = context
  const snapshot = listSnapshots(home).find((kept) => kept.id === id)
  if (snapshot === undefined)
    return fail({ kind: "failed", message: `There is no snapshot ${id}. /snapshot lists them.` })
  const saved = await takeSnapshot(context, { label: "before-restore" })
  if (!saved.ok) return saved
  const databases = snapshot.names.filter((name) => name.endsWith(".db"))
  const files = snapshot.names.filter((name) => !databases.includes(name) && isInside(name))
  for (const name of files) {
    const target = home.file(...name.split("/"))
    makeDirectories(join(target, ".."))
    writeFileAtomic(target, readFileSync(join(home.file("state-snapshots"), id, name), "utf8"), { mode: 0o600 })
  }
  return ok({ files, databases, saved: saved.value.id })
}

/** Removes all but the newest. Returns how many were removed. */
export function pruneSnapshots(home: Home, keep: number): number {
  const removed = listSnapshots(home).slice(keep)
  for (const { id } of removed) rmSync(join(home.file("state-snapshots"), id), { recursive: true, force: true })
  return removed.length
}

/** A manifest that was changed must not write outside the home. */
function isInside(name: string): boolean {
  return !name.startsWith("/") && !name.split(/[/\\]/u).includes("..") && !name.includes(`..${sep}`)
}

function readManifest(path: string): Readonly<Record<string, number>> | undefined {
  try {
    const manifest = parseJson(readFileSync(path, "utf8"))
    const files = isRecord(manifest) ? manifest["files"] : undefined
    if (!isRecord(files)) return undefined
    return Object.fromEntries(
      Object.entries(files).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
    )
  } catch {
    // A folder without a readable manifest is not a complete snapshot.
    return undefined
  }
}
