import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { makeDirectories } from "../../base/make-directories.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import type { Home } from "../../config/home.ts"
import { backupDatabase } from "../../state/sqlite/backup.ts"

const FILES = ["state.db", "config.yaml", ".env", "auth.json", "cron/jobs.json", "gateway_state.json", "processes.json"]
const FOLDERS = ["pairing", "platforms/pairing"]
const KEPT = 20

export interface Snapshot {
  readonly id: string
  readonly path: string
  readonly files: number
  readonly bytes: number
}

/** Copies what matters most to `state-snapshots/<id>/` and forgets all but the newest twenty. */
export async function takeSnapshot(
  home: Home,
  options: { readonly clock: Clock; readonly label: string | undefined },
): Promise<Snapshot> {
  const folder = home.file("state-snapshots")
  const id = freeName(folder, snapshotName(options.clock.now(), options.label))
  const staging = join(folder, `.${id}.partial`)
  makeDirectories(staging)
  try {
    const sizes: Record<string, number> = {}
    for (const name of snapshotNames(home)) {
      const target = join(staging, name)
      makeDirectories(dirname(target))
      if (name.endsWith(".db")) await backupDatabase(home.file(name), target)
      else copyFileSync(home.file(name), target)
      sizes[name] = statSync(target).size
    }
    const bytes = Object.values(sizes).reduce((sum, size) => sum + size, 0)
    const manifest = {
      id,
      timestamp: new Date(options.clock.now()).toISOString(),
      label: options.label ?? null,
      file_count: Object.keys(sizes).length,
      total_size: bytes,
      files: sizes,
    }
    writeFileAtomic(join(staging, "manifest.json"), `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: 0o600 })
    renameSync(staging, join(folder, id))
    forgetOldest(folder)
    return { id, path: join(folder, id), files: manifest.file_count, bytes }
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function snapshotNames(home: Home): readonly string[] {
  const channels = namesIn(home.path).filter((name) => /^channel_.*\.json$/.test(name))
  const inFolders = FOLDERS.flatMap((folder) => namesIn(home.file(folder)).map((name) => `${folder}/${name}`))
  return [...FILES, ...channels, ...inFolders].filter(
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

/** Two snapshots within one second are two snapshots. */
function freeName(folder: string, wanted: string): string {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? wanted : `${wanted}-${count}`
    if (!existsSync(join(folder, name))) return name
  }
}

function forgetOldest(folder: string): void {
  const snapshots = namesIn(folder).filter((name) => /^\d{8}-\d{6}/.test(basename(name)))
  for (const name of snapshots.toSorted().slice(0, -KEPT)) rmSync(join(folder, name), { recursive: true, force: true })
}

function namesIn(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : []
}
