import { realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { SandboxPrefix } from "../local/local-shell-state.ts"
import { errorMessage } from "../../base/system-error.ts"
import { hiddenPaths } from "./hidden-paths.ts"
import { listeningSockets } from "./listening-sockets.ts"
import { openBubblewrap } from "./open-bubblewrap.ts"
import { ALLOW_NETWORK_HINT, probeSandbox, usesSandboxRuntime } from "./probe-sandbox.ts"
import type { RenderWalls, SandboxSettings } from "./sandbox-settings.ts"
import { findRepositories } from "../project/git-repositories.ts"
import { privateCaches, privateCachesIn } from "./private-caches.ts"
import type { PrivateCaches } from "./private-caches.ts"
import { createNameLookup } from "../project/name-lookup.ts"
import { executedFiles, isUpdatedByGit, projectDirectories, runsPrograms } from "../project/project-protection.ts"

export type SandboxChoice =
  | { readonly kind: "off" }
  /** Commands run without a sandbox; the note is for the log. */
  | { readonly kind: "unavailable"; readonly note: string }
  | { readonly kind: "on"; readonly prefix: SandboxPrefix }

/** Decides whether local commands run in the sandbox. Fails when the settings require a sandbox or no network and none is available. */
export async function chooseSandbox(settings: SandboxSettings): Promise<Result<SandboxChoice>> {
  if (settings.mode === "off") return ok({ kind: "off" })
  const { mode, network, path, signal, loadRuntime } = settings
  const hasMounts = !usesSandboxRuntime(loadRuntime)
  const opened = await openWalls(settings, hasMounts)
  if (!opened.ok) return opened
  const render = opened.value
  const repositories: string[] = []
  const prefix = render === undefined ? undefined : openPrefix(render, { settings, hasMounts, repositories })
  if (prefix?.ok === false) return prefix
  // Start-up files do not change repositories, and no other command runs before.
  const [isProven, inside] = await Promise.all([
    prefix === undefined ? false : settings.trial?.(prefix.value),
    prefix === undefined ? [] : findRepositories(resolveLinks(settings.writable[0] ?? "/")),
  ])
  repositories.push(...inside)
  if (prefix !== undefined && isProven === true) return ok({ kind: "on", prefix: prefix.value })
  const alternative = mode === "required" || network === true ? {} : { alternative: ALLOW_NETWORK_HINT }
  const found = await probeSandbox({ path, signal, loadRuntime, ...alternative })
  if (found.ok && prefix !== undefined) return ok({ kind: "on", prefix: prefix.value })
  const reason = found.ok ? "what it needs was installed only just now; try again" : found.error
  if (mode === "required") return fail(`commands must run in the sandbox, but ${reason}`)
  if (network !== true) {
    return fail(`terminal.sandbox_network is ${network}, which needs the sandbox, but ${reason}`)
  }
  return ok({ kind: "unavailable", note: `Commands run without a sandbox: ${reason}.` })
}

/** Undefined when what the sandbox needs is not installed. Fails when it cannot be prepared: commands would have fewer walls. */
async function openWalls(settings: SandboxSettings, hasMounts: boolean): Promise<Result<RenderWalls | undefined>> {
  if (hasMounts) return await openBubblewrap(settings)
  const { openSandboxRuntime } = await import("./seatbelt/open-sandbox-runtime.ts")
  return await openSandboxRuntime(settings)
}

interface PrefixSources {
  readonly settings: SandboxSettings
  readonly hasMounts: boolean
  readonly repositories: readonly string[]
}

/** Prepares what each command needs. Fails when the Hermes home cannot be written. */
function openPrefix(render: RenderWalls, { settings, hasMounts, repositories }: PrefixSources): Result<SandboxPrefix> {
  const homes = {
    userHome: resolveLinks(settings.homes.userHome),
    hermesHome: resolveLinks(settings.homes.hermesHome),
    hermesRoot: resolveLinks(settings.homes.hermesRoot),
  }
  // Resolved once, before the first command: a link that a command creates later must not make its target writable.
  const writable = settings.writable.map(resolveLinks)
  const isHomeWritable = writable.some((root) => isWithin(homes.userHome, root))
  try {
    // Without mounts, commands need write access to the directory itself, and the Hermes home must not have such a hole.
    const sources = hasMounts
      ? privateCachesIn(homes.hermesHome)
      : join(resolveLinks(tmpdir()), `hermes-cache-${process.getuid?.() ?? ""}`)
    // Other programs of the user may run without the variable TMPDIR.
    const temporary = [...new Set([tmpdir(), "/tmp"].map(resolveLinks))].filter((path) =>
      writable.some((root) => isWithin(path, root)),
    )
    const caches = privateCaches({ userHome: homes.userHome, temporary, sources, mounts: hasMounts })
    return ok(prefixWith(render, { ...settings, homes }, { caches, writable, repositories, isHomeWritable }))
  } catch (error) {
    return fail(`the sandbox cannot be prepared: ${errorMessage(error)}`)
  }
}

interface PreparedSandbox {
  readonly caches: PrivateCaches
  readonly writable: readonly string[]
  /** Repositories inside the workspace. Filled before the first command. */
  readonly repositories: readonly string[]
  readonly isHomeWritable: boolean
}

function prefixWith(render: RenderWalls, settings: SandboxSettings, prepared: PreparedSandbox): SandboxPrefix {
  const { homes, network } = settings
  const { caches, repositories, isHomeWritable } = prepared
  // A name such as /var/run/docker.sock is another one for a path that is hidden.
  const sockets = (settings.sockets ?? []).map(resolveLinks)
  const isAllowedSocket = (path: string): boolean => sockets.length > 0 && sockets.includes(resolveLinks(path))
  /** With a socket that commands may use, the filter lets all of them through. Those in the workspace belong to the project. */
  const otherSockets = (): readonly string[] =>
    sockets.length === 0 ? [] : listeningSockets().filter((path) => !isWithin(path, prepared.writable[0] ?? "/"))
  const isPrivate = (path: string): boolean =>
    caches.directories.some((cache) => isWithin(path, cache.path)) &&
    !caches.shared.some((shared) => isWithin(path, shared))
  const writable = [...prepared.writable.filter((path) => !isPrivate(path)), ...caches.shared]
  /** Hermes has created it, in a directory that commands cannot write. */
  const resolvedState = lastResult(resolveLinks)
  return ({ cwd, stateDirectory, hasTerminal, confinement = {} }) => {
    // Computed for each command, because the visible directories of a home and the protected files of a project may change.
    const { hidden, shown, fixed } = hiddenPaths(homes)
    const own = resolvedState(stateDirectory)
    const isReadOnly = confinement.readOnly === true
    const open = (confinement.open ?? []).filter((path) => !runsPrograms(path, homes.userHome))
    const granted = (confinement.granted ?? []).map(resolveLinks)
    const directories = projectDirectories(cwd, { writable: prepared.writable, repositories })
    const opensInstructions = confinement.opensInstructions === true
    const executed = executedFiles(directories, createNameLookup(), {
      withHookFiles: !opensInstructions,
      userHome: homes.userHome,
    }).filter((path) => !opensInstructions || !isUpdatedByGit(path))
    return render({
      writable: isReadOnly ? [own] : [...writable, own],
      readOnly: [
        ...(settings.readOnly ?? []),
        ...caches.readOnly,
        ...(isHomeWritable ? fixed.filter((path) => !isPrivate(path) && !writable.includes(path)) : []),
        ...executed.filter((path) => !open.includes(path) && !granted.some((root) => isWithin(path, root))),
      ],
      hidden: [...hidden, ...(settings.hidden ?? []), ...otherSockets()].filter(
        (path) => !isAllowedSocket(path) && !isPrivate(path),
      ),
      shown: [...shown, ...sockets, ...(settings.shown?.() ?? []).map(resolveLinks)],
      replaced: isReadOnly ? [] : caches.directories,
      network: network !== false && !isReadOnly,
      cwd,
      keepTerminal: hasTerminal,
    })
  }
}

/** Remembers the result for the last argument. */
function lastResult(resolve: (path: string) => string): (path: string) => string {
  let last: { readonly path: string; readonly resolved: string } | undefined
  return (path) => {
    if (last?.path !== path) last = { path, resolved: resolve(path) }
    return last.resolved
  }
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
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
