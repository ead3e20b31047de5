import { randomHex } from "../../base/random-and-hash.ts"
import { chmodSync, copyFileSync, cpSync, existsSync, lstatSync, readdirSync, renameSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { makeDirectories } from "../../base/make-directories.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { loadDotenv } from "../dotenv.ts"
import { homeAt, type Home } from "../home.ts"
import type { Refusal } from "../managed-home.ts"
import { migrateConfig } from "../migration/migrate.ts"
import { describeProfile } from "./profile-description.ts"
import { writeWrapper } from "./profile-wrapper.ts"
import { existingProfile, newProfileName, profilePath, systemResult, type ProfileContext } from "./profiles.ts"

export interface CreateProfileOptions {
  readonly name: string
  readonly clone: "nothing" | "settings" | "everything"
  /** Profile to copy from; default: the current one. */
  readonly cloneFrom?: string
  readonly alias: boolean
  readonly skills: boolean
  readonly description?: string
  /** Text of a fresh `SOUL.md`. */
  readonly soul: string
  /** Names that a wrapper must not use. */
  readonly commands: readonly string[]
  /** Copies the bundled skills into the new home. */
  readonly seedSkills: (home: Home) => Promise<void>
}

export interface CreatedProfile {
  readonly home: Home
  readonly wrapper?: string
  readonly hints: readonly string[]
}

/** Creates a profile; its directory gets its final name only when it is complete. */
export async function createProfile(
  context: ProfileContext,
  options: CreateProfileOptions,
): Promise<Result<CreatedProfile, Refusal>> {
  const clone = options.cloneFrom !== undefined && options.clone === "nothing" ? "settings" : options.clone
  if (!options.skills && clone !== "nothing") {
    return fail({ kind: "invalid", message: "--no-skills cannot be combined with cloning; leave one of them out" })
  }
  const name = newProfileName(context, options.name)
  if (!name.ok) return name
  const source =
    options.cloneFrom === undefined ? ok({ home: context.home }) : existingProfile(context, options.cloneFrom)
  if (!source.ok) return source
  const path = profilePath(context.home.root, name.value)
  const built = systemResult(`cannot create profile "${name.value}"`, () =>
    buildUnder(path, (staging) => fill(staging, { source: source.value.home, clone, options })),
  )
  if (!built.ok) return built
  return await finish(homeAt(path, context.environment), { context, clone, options })
}

/** Runs `build` on a temporary directory and renames it to the target; a failure removes it. */
function buildUnder(path: string, build: (staging: string) => void): void {
  const staging = join(dirname(path), `.${basename(path)}.${randomHex(4)}.tmp`)
  makeDirectories(staging)
  try {
    build(staging)
    renameSync(staging, path)
  } catch (cause) {
    rmSync(staging, { recursive: true, force: true })
    throw cause
  }
}

const DIRECTORIES = ["memories", "sessions", "skills", "skins", "logs", "plans", "workspace", "cron", "home"]
const SETTINGS_FILES = ["config.yaml", ".env", "SOUL.md", "memories/MEMORY.md", "memories/USER.md", "skills"]
const EMPTY_DOTENV = "# Keys of this profile, one NAME=value per line.\n"

function fill(
  staging: string,
  { source, clone, options }: { source: Home; clone: CreateProfileOptions["clone"]; options: CreateProfileOptions },
): void {
  if (clone === "everything") copyEverything(source, staging)
  for (const directory of DIRECTORIES) makeDirectories(join(staging, directory))
  if (clone === "settings") copySettings(source, staging)
  if (existsSync(join(staging, ".env"))) chmodSync(join(staging, ".env"), 0o600)
  else writeFileAtomic(join(staging, ".env"), EMPTY_DOTENV)
  if (!existsSync(join(staging, "SOUL.md"))) writeFileAtomic(join(staging, "SOUL.md"), options.soul)
  if (!options.skills) writeFileAtomic(join(staging, ".no-bundled-skills"), "")
}

function copySettings(source: Home, staging: string): void {
  for (const name of SETTINGS_FILES) {
    const from = source.file(name)
    if (!existsSync(from)) continue
    if (name === "skills") cpSync(from, join(staging, name), { recursive: true, verbatimSymlinks: true })
    else copyFileSync(from, join(staging, name))
  }
}

const HISTORY = /^(?:state\.db.*|sessions|backups|state-snapshots|checkpoints)$/
const RUNTIME = /^(?:gateway\.pid|gateway\.lock|gateway_state\.json|processes\.json|runtime)$|\.(?:tmp|lock|sock)$/
const ROOT_ONLY = /^(?:profiles|active_profile|\.worktrees|bin|node_modules|kanban|kanban\.db.*)$/

/** Copies everything but history, files of running processes, and what the root stores for all profiles. */
function copyEverything(source: Home, staging: string): void {
  for (const name of readdirSync(source.path)) {
    const from = source.file(name)
    if (isExcluded(from, source)) continue
    cpSync(from, join(staging, name), { recursive: true, verbatimSymlinks: true, filter: isCopied })
  }
}

function isExcluded(path: string, source: Home): boolean {
  const name = basename(path)
  if (HISTORY.test(name)) return true
  if (source.path !== source.root) return false
  return ROOT_ONLY.test(name) || existsSync(join(path, ".git"))
}

/** Sockets and pipes cannot be copied; lock and process files belong to other processes. */
function isCopied(path: string): boolean {
  const stats = lstatSync(path)
  return (stats.isFile() || stats.isDirectory() || stats.isSymbolicLink()) && !RUNTIME.test(basename(path))
}

async function finish(
  home: Home,
  {
    context,
    clone,
    options,
  }: { context: ProfileContext; clone: CreateProfileOptions["clone"]; options: CreateProfileOptions },
): Promise<Result<CreatedProfile, Refusal>> {
  const hints: string[] = []
  if (clone === "settings") {
    const migrated = await migrateConfig({ home, environment: loadDotenv(home, context.environment).environment })
    hints.push(...(migrated.ok ? migrated.value.warnings : [migrated.error.message]))
  }
  if (clone === "nothing" && options.skills) await options.seedSkills(home)
  if (options.description !== undefined) {
    const described = await describeProfile(
      home.path,
      { description: options.description, auto: false },
      { overwrite: true },
    )
    if (!described.ok) return described
  }
  if (!options.alias) return ok({ home, hints })
  const { path, hints: more } = writeWrapper(home.profile, { ...context, commands: options.commands })
  return ok({ home, hints: [...hints, ...more], ...(path === undefined ? {} : { wrapper: path }) })
}
