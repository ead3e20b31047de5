import {
  createReadStream,
  createWriteStream,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
} from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"
import type { Header, Pack } from "tar-stream"
import { makeDirectories } from "../../base/make-directories.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorMessage, explainSystemError, isNotFound } from "../../base/system-error.ts"
import { homeAt, type Home } from "../home.ts"
import type { Refusal } from "../managed-home.ts"
import { existingProfile, newProfileName, profilePath, type ProfileContext } from "./profiles.ts"
import { settingsWithoutSecrets, type SettingsWithoutSecrets } from "./settings-without-secrets.ts"

export interface ExportedProfile {
  readonly files: number
  /** Settings that were left out of `config.yaml` because they contain secrets. */
  readonly removedSettings: readonly string[]
}

/** Packs a profile without its secrets into a tar.gz with one top-level directory. */
export async function exportProfile(
  context: ProfileContext,
  given: string,
  options: { readonly output: string },
): Promise<Result<ExportedProfile, Refusal>> {
  const found = existingProfile(context, given)
  if (!found.ok) return found
  const { name, home } = found.value
  const settings = await exportedSettings(home)
  if (!settings.ok) return settings
  const temporary = `${options.output}.${process.pid}.tmp`
  try {
    // A CommonJS library: in the bundle it only has a default export.
    const { pack } = (await import("tar-stream")).default
    const archive = pack()
    const members = membersOf(home)
    const written = pipeline(archive, createGzip(), createWriteStream(temporary, { mode: 0o600, flags: "wx" }))
    await Promise.all([addMembers(archive, { members, home, folder: name, settings: settings.value.text }), written])
    renameSync(temporary, options.output)
    return ok({
      files: members.filter((member) => member.stats.isFile()).length,
      removedSettings: settings.value.removed,
    })
  } catch (cause) {
    rmSync(temporary, { force: true })
    return fail({ kind: "failed", message: `cannot export profile "${name}": ${explainSystemError(cause)}` })
  }
}

async function exportedSettings(home: Home): Promise<Result<SettingsWithoutSecrets, Refusal>> {
  try {
    return ok(await settingsWithoutSecrets(readFileSync(home.file(SETTINGS), "utf8")))
  } catch (cause) {
    if (isNotFound(cause)) return ok({ text: "", removed: [] })
    const reason = cause instanceof Error && "syscall" in cause ? explainSystemError(cause) : errorMessage(cause)
    return fail({
      kind: "failed",
      message: `cannot export the profile: ${home.display(home.file(SETTINGS))} cannot be read, so its keys cannot be left out (${reason.split("\n")[0] ?? ""})`,
    })
  }
}

const SETTINGS = "config.yaml"

/** Unpacks an archive into a new profile. Entries that would be written outside its directory are refused. */
export async function importProfile(
  context: ProfileContext,
  archive: string,
  options: { readonly name?: string } = {},
): Promise<Result<Home, Refusal>> {
  const profiles = join(context.home.root, "profiles")
  let staging: string | undefined
  try {
    makeDirectories(profiles)
    staging = await mkdtemp(join(profiles, ".import-"))
    const folder = await unpack(archive, staging)
    const name = newProfileName(context, options.name ?? folder)
    if (!name.ok) return name
    renameSync(join(staging, folder), profilePath(context.home.root, name.value))
    return ok(homeAt(profilePath(context.home.root, name.value), context.environment))
  } catch (cause) {
    const reason = cause instanceof ArchiveError ? errorMessage(cause) : explainSystemError(cause)
    return fail({ kind: "failed", message: `cannot import ${archive}: ${reason}` })
  } finally {
    if (staging !== undefined) rmSync(staging, { recursive: true, force: true })
  }
}

/** The archive was refused; the message contains the reason. */
class ArchiveError extends Error {
  override readonly name = "ArchiveError"
}

/** Real profiles have megabytes; an archive that unpacks to more is damaged or malicious. */
const MAX_UNPACKED_BYTES = 4_000_000_000

const NEVER_EXPORTED =
  /^(?:\.env|auth\.json)(?:\..*|\.lock)?$|^auth\.lock$|\.(?:tmp|lock|sock)$|^gateway\.pid$|^config\.(?:yaml\..*|parsed\.json)$/
const NOT_FROM_ROOT =
  /\.db(?:-wal|-shm|-journal)?$|^(?:logs|cache|image_cache|audio_cache|document_cache|checkpoints|profiles|active_profile|state-snapshots|backups|sandboxes|node_modules|bin|node|lsp|\.worktrees|kanban)$|_cache\.(?:json|yaml)$/

interface Member {
  readonly path: string
  readonly stats: Stats
}

function membersOf(home: Home, below = ""): Member[] {
  return readdirSync(home.file(below), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .filter((entry) => !NEVER_EXPORTED.test(entry.name))
    .filter((entry) => below !== "" || home.path !== home.root || !NOT_FROM_ROOT.test(entry.name))
    .flatMap((entry): Member[] => {
      const path = below === "" ? entry.name : `${below}/${entry.name}`
      const stats = lstatSync(home.file(path))
      // Symbolic links are omitted: an archive with links is refused on import.
      if (stats.isDirectory()) return [{ path, stats }, ...membersOf(home, path)]
      return stats.isFile() ? [{ path, stats }] : []
    })
}

async function addMembers(
  archive: Pack,
  { members, home, folder, settings }: { members: readonly Member[]; home: Home; folder: string; settings: string },
): Promise<void> {
  archive.entry({ name: `${folder}/`, type: "directory", mode: 0o700 })
  for (const { path, stats } of members) {
    const header = { name: `${folder}/${path}`, mode: stats.mode & 0o777, mtime: stats.mtime }
    if (stats.isDirectory()) archive.entry({ ...header, type: "directory" })
    else if (path === SETTINGS) archive.entry(header, settings)
    else if (stats.size === 0) archive.entry({ ...header, size: 0 }, "")
    else
      await pipeline(
        createReadStream(home.file(path), { end: stats.size - 1 }),
        archive.entry({ ...header, size: stats.size }),
      )
  }
  archive.finalize()
}

/** Extracts into `staging` and returns the name of the one top-level directory. */
async function unpack(archive: string, staging: string): Promise<string> {
  const { extract } = (await import("tar-stream")).default
  const entries = extract()
  const reading = pipeline(createReadStream(archive), createGunzip(), entries)
  const folders = new Set<string>()
  let total = 0
  const writing = (async () => {
    for await (const entry of entries) {
      const segments = safeSegments(entry.header)
      folders.add(segments[0] ?? "")
      total += entry.header.size ?? 0
      if (total > MAX_UNPACKED_BYTES) throw new ArchiveError("it unpacks to more than 4 GB")
      const target = join(staging, ...segments)
      if (entry.header.type === "directory") {
        makeDirectories(target)
        entry.resume()
      } else {
        if (segments.length < 2) throw new ArchiveError("it must contain exactly one directory")
        makeDirectories(dirname(target))
        await pipeline(
          entry,
          createWriteStream(target, { flags: "wx", mode: 0o600 | ((entry.header.mode ?? 0) & 0o100) }),
        )
      }
    }
  })()
  await Promise.all([reading, writing]).catch((cause: unknown) => {
    entries.destroy()
    if (cause instanceof ArchiveError) throw cause
    const reason = isNotFound(cause) ? "there is no such file" : `it is not a readable tar.gz (${errorMessage(cause)})`
    throw new ArchiveError(reason, { cause })
  })
  const [folder, ...others] = folders
  if (folder === undefined || others.length > 0) throw new ArchiveError("it must contain exactly one directory")
  return folder
}

function safeSegments({ name, type }: Header): readonly string[] {
  if (type !== "file" && type !== "directory" && type !== "contiguous-file") {
    throw new ArchiveError(
      `it contains a ${type ?? "special"} entry (${name}); only files and directories are accepted`,
    )
  }
  const segments = name.split("/").filter((segment) => segment !== "" && segment !== ".")
  const escapes =
    name.startsWith("/") ||
    name.includes("\\") ||
    name.includes("\0") ||
    /^[A-Za-z]:/.test(name) ||
    segments.includes("..")
  if (escapes || segments.length === 0)
    throw new ArchiveError(`the entry ${JSON.stringify(name)} points outside the profile`)
  return segments
}
