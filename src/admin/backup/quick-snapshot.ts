import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { unusedPath } from "../../base/kept-copies.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { ok, type Result } from "../../base/result.ts"
import type { Home } from "../../config/home.ts"
import { backupDatabase } from "../../state/sqlite/backup.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { checkHomeExists } from "./full-backup.ts"

const FILES = ["state.db", "config.yaml", ".env", "auth.json", "cron/jobs.json", "gateway_state.json", "processes.json"]
const DIRECTORIES = ["pairing", "platforms/pairing"]
const MAX_SNAPSHOTS = 20

export interface HomeSnapshot {
  readonly id: string
  readonly path: string
  readonly files: number
  readonly bytes: number
}

/** Copies the essential files to `state-snapshots/<id>/` and keeps the newest twenty snapshots. */
export async function takeSnapshot(
  { home, clock, progress }: Pick<HomeContext, "home" | "clock" | "progress">,
  { label }: { readonly label: string | undefined },
): Promise<Result<HomeSnapshot, AdminFailure>> {
  const exists = checkHomeExists(home)
  if (!exists.ok) return exists
  const directory = home.file("state-snapshots")
  const id = basename(unusedPath(join(directory, snapshotName(clock.now(), label))))
  const staging = join(directory, `.${id}.partial`)
  makeDirectories(staging)
  try {
    const sizes: Record<string, number> = {}
    for (const name of snapshotNames(home)) {
      const target = join(staging, name)
      makeDirectories(dirname(target))
      if (name.endsWith(".db")) await backupDatabase(home.file(name), target, progress)
      else copyFileSync(home.file(name), target)
      sizes[name] = statSync(target).size
    }
    const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0)
    const manifest = {
      id,
      timestamp: new Date(clock.now()).toISOString(),
      label: label ?? null,
      file_count: Object.keys(sizes).length,
      total_size: bytes,
      files: sizes,
    }
    writeFileAtomic(join(staging, "manifest.json"), `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(staging, join(directory, id))
    deleteOldest(directory)
    return ok({ id, path: join(directory, id), files: manifest.file_count, bytes })
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function snapshotNames(home: Home): readonly string[] {
  const channels = namesIn(home.path).filter((name) => /^channel_.*\.json$/.test(name))
  const inDirectories = DIRECTORIES.flatMap((directory) =>
    namesIn(home.file(directory)).map((name) => `${directory}/${name}`),
  )
  return [...FILES, ...channels, ...inDirectories].filter(
    (name) => statSync(home.file(name), { throwIfNoEntry: false })?.isFile() === true,
  )
}

function snapshotName(now: number, label: string | undefined): string {
  const stamp = new Date(now).toISOString().replaceAll(/[-:]/g, "").replace("T", "-").slice(0, 15)
  const suffix = (label ?? "")
    .replaceAll(/[^A-Za-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 40)
  return suffix === "" ? stamp : `${stamp}-${suffix}`
}

function deleteOldest(directory: string): void {
  const snapshots = namesIn(directory).filter((name) => /^\d{8}-\d{6}/.test(basename(name)))
  for (const name of snapshots.toSorted().slice(0, -MAX_SNAPSHOTS))
    rmSync(join(directory, name), { recursive: true, force: true })
}

function namesIn(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : []
}
