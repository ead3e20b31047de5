import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import type { Environment } from "../environment.ts"
import { homeAt, readActiveProfile, type Home } from "../home.ts"
import type { Refusal } from "../managed-home.ts"
import { readProfileDescription } from "./profile-description.ts"
import { isProfileName, isReservedProfileName, normalizeProfileName } from "./profile-name.ts"
import { removeWrapper, wrapperOf, writeWrapper } from "./profile-wrapper.ts"

export interface ProfileContext {
  /** Any home of the installation; it determines the root. */
  readonly home: Home
  readonly environment: Environment
}

export interface ProfileSummary {
  readonly name: string
  readonly path: string
  /** Whether `hermes` without -p uses this profile. */
  readonly active: boolean
  readonly hasConfig: boolean
  readonly hasSecrets: boolean
  readonly description: string
  /** The executable that starts this profile, if there is one. */
  readonly wrapper?: string
}

/** Refuses while a background process, such as a gateway, uses the profile. */
export type RefuseWhileRunning = (home: Home) => Result<undefined, Refusal>

/** The default profile first, the others by name. */
export async function listProfiles(context: ProfileContext): Promise<readonly ProfileSummary[]> {
  const names = profileNames(context.home.root)
  return await Promise.all(["default", ...names].map(async (name) => await summarize(name, context)))
}

export async function showProfile(context: ProfileContext, given: string): Promise<Result<ProfileSummary, Refusal>> {
  const found = existingProfile(context, given)
  return found.ok ? ok(await summarize(found.value.name, context)) : found
}

/** Makes this the profile that `hermes` without -p uses. */
export function useProfile(context: ProfileContext, given: string): Result<Home, Refusal> {
  const found = existingProfile(context, given)
  if (!found.ok) return found
  return systemResult("cannot change the active profile", () => {
    setActive(context.home.root, found.value.name)
    return found.value.home
  })
}

/** Renames the directory and the wrapper, and updates `active_profile`. */
export async function renameProfile(
  context: ProfileContext,
  names: { readonly from: string; readonly to: string },
  ports: { readonly refuseWhileRunning: RefuseWhileRunning; readonly commands: readonly string[] },
): Promise<Result<{ readonly home: Home; readonly hints: readonly string[] }, Refusal>> {
  const source = changeableProfile(context, names.from)
  if (!source.ok) return source
  const target = newProfileName(context, names.to)
  if (!target.ok) return target
  const idle = ports.refuseWhileRunning(source.value.home)
  if (!idle.ok) return idle
  const { root } = context.home
  return systemResult(`cannot rename profile "${source.value.name}"`, () => {
    renameSync(source.value.home.path, profilePath(root, target.value))
    if (readActiveProfile(root) === source.value.name) setActive(root, target.value)
    const hints = removeWrapper(source.value.name, context)
      ? writeWrapper(target.value, { ...context, commands: ports.commands }).hints
      : []
    return { home: homeAt(profilePath(root, target.value), context.environment), hints }
  })
}

/** Deletes a profile permanently; the caller has asked for confirmation. */
export async function deleteProfile(
  context: ProfileContext,
  given: string,
  ports: { readonly refuseWhileRunning: RefuseWhileRunning },
): Promise<Result<string, Refusal>> {
  const found = changeableProfile(context, given)
  if (!found.ok) return found
  const { name, home } = found.value
  const idle = ports.refuseWhileRunning(home)
  if (!idle.ok) return idle
  return systemResult(`cannot delete profile "${name}"`, () => {
    if (readActiveProfile(context.home.root) === name) setActive(context.home.root, "default")
    removeWrapper(name, context)
    rmSync(home.path, { recursive: true, force: true })
    return name
  })
}

export function profilePath(root: string, name: string): string {
  return name === "default" ? root : join(root, "profiles", name)
}

export function existingProfile(
  { home, environment }: ProfileContext,
  given: string,
): Result<{ readonly name: string; readonly home: Home }, Refusal> {
  const name = normalizeProfileName(given)
  if (name !== "default" && (!isProfileName(name) || !isDirectory(profilePath(home.root, name)))) {
    const message = `there is no profile "${given}"; run hermes profile list to see them, or hermes profile create to create one`
    return fail({ kind: "failed", message })
  }
  return ok({ name, home: homeAt(profilePath(home.root, name), environment) })
}

/** Checks the name of a new profile: valid, not reserved, not in use. */
export function newProfileName({ home }: ProfileContext, given: string): Result<string, Refusal> {
  const name = normalizeProfileName(given)
  if (!isProfileName(name)) {
    const message = `"${given}" is not a profile name; use 1 to 64 lower-case letters, digits, - and _, starting with a letter or digit`
    return fail({ kind: "invalid", message })
  }
  if (isReservedProfileName(name))
    return fail({ kind: "failed", message: `the name "${name}" is reserved; choose another` })
  if (existsSync(profilePath(home.root, name))) {
    return fail({ kind: "failed", message: `profile "${name}" already exists; choose another name or delete it first` })
  }
  return ok(name)
}

/** Runs file operations and turns a system error into one sentence. */
export function systemResult<T>(what: string, work: () => T): Result<T, Refusal> {
  try {
    return ok(work())
  } catch (cause) {
    return fail({ kind: "failed", message: `${what}: ${explainSystemError(cause)}` })
  }
}

function changeableProfile(context: ProfileContext, given: string): ReturnType<typeof existingProfile> {
  if (normalizeProfileName(given) === "default") {
    return fail({ kind: "failed", message: "the default profile cannot be renamed or deleted" })
  }
  return existingProfile(context, given)
}

function profileNames(root: string): readonly string[] {
  try {
    const entries = readdirSync(join(root, "profiles"), { withFileTypes: true })
    const names = entries.filter(
      (entry) => isProfileName(entry.name) && isDirectory(join(root, "profiles", entry.name)),
    )
    return names.map((entry) => entry.name).toSorted()
  } catch (cause) {
    if (isNotFound(cause)) return []
    throw cause
  }
}

async function summarize(name: string, context: ProfileContext): Promise<ProfileSummary> {
  const path = profilePath(context.home.root, name)
  const wrapper = wrapperOf(name, context)
  const summary = {
    name,
    path,
    active: (readActiveProfile(context.home.root) ?? "default") === name,
    hasConfig: existsSync(join(path, "config.yaml")),
    hasSecrets: existsSync(join(path, ".env")),
    description: (await readProfileDescription(path)).description,
  }
  return wrapper === undefined ? summary : { ...summary, wrapper }
}

/** For the default profile the file is removed. */
function setActive(root: string, name: string): void {
  const path = join(root, "active_profile")
  if (name === "default") rmSync(path, { force: true })
  else writeFileAtomic(path, `${name}\n`, { mode: 0o644 })
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
