import { existsSync, mkdirSync, readFileSync, realpathSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { SandboxPrefix, SandboxTrial } from "../local/local-shell-state.ts"
import { errorMessage } from "../../base/system-error.ts"
import { hiddenPaths } from "./hidden-paths.ts"
import type { SandboxHomes } from "./hidden-paths.ts"
import type { NetworkAccess } from "./network/network-access.ts"
import { ALLOW_NETWORK_HINT, locateBubblewrap, probeSandbox } from "./probe-sandbox.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"
import { findRepositories } from "./git-repositories.ts"
import { privateCaches } from "./private-caches.ts"
import type { PrivateCaches } from "./private-caches.ts"
import { executedFiles, projectDirectories, runsPrograms } from "./project-protection.ts"
import { seccompFilter } from "./seccomp-filter.ts"
import type { SeccompOptions } from "./seccomp-filter.ts"

export interface SandboxSettings {
  /** `terminal.sandbox`. A permission rule that demands the sandbox makes it `required`. */
  readonly mode: "auto" | "off" | "required"
  readonly network: boolean | "list"
  /** The network of commands with `list`. */
  readonly access?: NetworkAccess | undefined
  /** The workspace root, temporary directories and `terminal.sandbox_write`. */
  readonly writable: readonly string[]
  /** Read-only even inside a writable directory. A writable path inside one of these stays writable. */
  readonly readOnly?: readonly string[]
  /** Paths to hide in addition to those that are hidden on every machine. */
  readonly hidden?: readonly string[]
  /** Unix sockets that commands may use. With any, Unix sockets are not refused in general. */
  readonly sockets?: readonly string[]
  readonly homes: SandboxHomes
  /** The PATH to search for bubblewrap. */
  readonly path: string
  /** Work that has to be done in the sandbox anyway. Its success proves that the sandbox works and saves a probe. */
  readonly trial?: SandboxTrial | undefined
  readonly signal: AbortSignal
}

export type SandboxChoice =
  | { readonly kind: "off" }
  /** Commands run without a sandbox; the note is for the log. */
  | { readonly kind: "unavailable"; readonly note: string }
  | { readonly kind: "on"; readonly prefix: SandboxPrefix }

/** Decides whether local commands run in the sandbox. Fails when the settings require a sandbox or no network and none is available. */
export async function chooseSandbox(settings: SandboxSettings): Promise<Result<SandboxChoice>> {
  if (settings.mode === "off") return ok({ kind: "off" })
  const program = locateBubblewrap(settings.path)
  const { mode, network, path, signal } = settings
  const networkPrefix = program === undefined ? ok([]) : await openNetwork(program, settings)
  if (!networkPrefix.ok) return networkPrefix
  const repositories: string[] = []
  const prefix =
    program === undefined
      ? undefined
      : openPrefix(program, { settings, networkPrefix: networkPrefix.value, repositories })
  if (prefix?.ok === false) return prefix
  // Start-up files do not change repositories, and no other command runs before.
  const [isProven, inside] = await Promise.all([
    prefix === undefined ? false : settings.trial?.(prefix.value),
    prefix === undefined ? [] : findRepositories(resolveLinks(settings.writable[0] ?? "/")),
  ])
  repositories.push(...inside)
  if (prefix !== undefined && isProven === true) return ok({ kind: "on", prefix: prefix.value })
  const alternative = mode === "required" || network === true ? {} : { alternative: ALLOW_NETWORK_HINT }
  const found = await probeSandbox({ path, signal, ...alternative })
  if (found.ok && prefix !== undefined) return ok({ kind: "on", prefix: prefix.value })
  const reason = found.ok ? "bubblewrap was installed only just now; try again" : found.error
  if (mode === "required") return fail(`commands must run in the sandbox, but ${reason}`)
  if (network !== true) {
    return fail(`terminal.sandbox_network is ${network}, which needs the sandbox, but ${reason}`)
  }
  return ok({ kind: "unavailable", note: `Commands run without a sandbox: ${reason}.` })
}

/** With a list of hosts, commands get a network of their own. Without it they would have none, so a failure is an error. */
async function openNetwork(program: string, { network, access }: SandboxSettings): Promise<Result<readonly string[]>> {
  if (network !== "list" || access === undefined) return ok([])
  try {
    return ok(await access.open(program))
  } catch (error) {
    return fail(`terminal.sandbox_network is list, but ${errorMessage(error)}; ${ALLOW_NETWORK_HINT}`)
  }
}

/** Prepares what each command needs. Fails when the Hermes home cannot be written: without the filter, commands would have fewer walls. */
function openPrefix(
  program: string,
  {
    settings,
    networkPrefix,
    repositories,
  }: { readonly settings: SandboxSettings } & Pick<PreparedSandbox, "networkPrefix" | "repositories">,
): Result<SandboxPrefix> {
  const { sockets = [] } = settings
  const homes = {
    userHome: resolveLinks(settings.homes.userHome),
    hermesHome: resolveLinks(settings.homes.hermesHome),
    hermesRoot: resolveLinks(settings.homes.hermesRoot),
  }
  // Resolved once, before the first command: a link that a command creates later must not make its target writable.
  const writable = settings.writable.map(resolveLinks)
  const isHomeWritable = writable.some((root) => isWithin(homes.userHome, root))
  try {
    const seccompFile = writeSeccompFile(homes.hermesHome, { unixSockets: sockets.length > 0 })
    const caches = privateCaches(homes)
    return ok(
      prefixWith(
        program,
        { ...settings, homes },
        { networkPrefix, seccompFile, caches, writable, repositories, isHomeWritable },
      ),
    )
  } catch (error) {
    return fail(`the sandbox cannot be prepared: ${errorMessage(error)}`)
  }
}

interface PreparedSandbox {
  readonly networkPrefix: readonly string[]
  readonly seccompFile: string | undefined
  readonly caches: PrivateCaches
  readonly writable: readonly string[]
  /** Repositories inside the workspace. Filled before the first command. */
  readonly repositories: readonly string[]
  readonly isHomeWritable: boolean
}

function prefixWith(program: string, settings: SandboxSettings, prepared: PreparedSandbox): SandboxPrefix {
  const { homes, network, sockets = [] } = settings
  const { caches, repositories, isHomeWritable } = prepared
  const isPrivate = (path: string): boolean =>
    caches.directories.some((cache) => isWithin(path, cache.path)) &&
    !caches.shared.some((shared) => isWithin(path, shared))
  const writable = [...prepared.writable.filter((path) => !isPrivate(path)), ...caches.shared]
  return ({ cwd, stateDirectory, hasTerminal, confinement = {} }) => {
    // Computed for each command, because the visible directories of a home and the protected files of a project may change.
    const { hidden, shown, fixed } = hiddenPaths(homes)
    const own = resolveLinks(stateDirectory)
    const isReadOnly = confinement.readOnly === true
    const open = (confinement.open ?? []).filter((path) => !runsPrograms(path, homes.userHome))
    const granted = (confinement.granted ?? []).map(resolveLinks)
    const executed = executedFiles(projectDirectories(cwd, { writable: prepared.writable, repositories }))
    return sandboxArguments({
      program,
      writable: isReadOnly ? [own] : [...writable, own],
      readOnly: [
        ...(settings.readOnly ?? []),
        ...caches.readOnly,
        ...(isHomeWritable ? fixed.filter((path) => !isPrivate(path) && !writable.includes(path)) : []),
        ...executed.filter((path) => !open.includes(path) && !granted.some((root) => isWithin(path, root))),
      ],
      hidden: [...hidden, ...(settings.hidden ?? [])].filter((path) => !sockets.includes(path) && !isPrivate(path)),
      shown: [...shown, ...sockets],
      replaced: isReadOnly ? [] : caches.directories,
      seccompFile: prepared.seccompFile,
      network: network !== false && !isReadOnly,
      networkPrefix: isReadOnly ? [] : prepared.networkPrefix,
      cwd,
      keepTerminal: hasTerminal,
    })
  }
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

/** In the home, which commands in the sandbox cannot see. Undefined on a processor that the filter is not written for. */
function writeSeccompFile(hermesHome: string, options: SeccompOptions): string | undefined {
  const filter = seccompFilter(options)
  if (filter === undefined) return undefined
  const name = options.unixSockets === true ? "seccomp-with-sockets.bpf" : "seccomp.bpf"
  const path = join(hermesHome, "cache", "sandbox", name)
  if (existsSync(path) && readFileSync(path).equals(filter)) return path
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileAtomic(path, filter)
  return path
}

/** Resolves links in the existing part of a path. */
function resolveLinks(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // The path does not exist yet.
    return dirname(path) === path ? path : join(resolveLinks(dirname(path)), basename(path))
  }
}
