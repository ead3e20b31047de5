import { existsSync } from "node:fs"
import { basename, dirname, extname, isAbsolute, join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { isProgram, programDirectories } from "../../base/find-program.ts"
import { isInside } from "../../base/is-inside.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { realPath } from "../../base/real-path.ts"
import { readRegularText } from "../../base/regular-file.ts"
import type { ConfiguredServer } from "./server-settings.ts"
import type { ServerProgram } from "./server-table.ts"

/** A server that can be started for a file. */
export interface FoundServer {
  readonly server: ConfiguredServer
  /** Absolute path of the program, and its arguments. */
  readonly command: readonly string[]
  readonly from: "settings" | "home" | "path"
  /** It may run only inside the sandbox, because it executes project code (see `runsProjectCode`). */
  readonly needsSandbox: boolean
  /** The directory that the server opens as its workspace. */
  readonly root: string
  readonly languageId: string
}

export interface ServerSearchPaths {
  readonly servers: readonly ConfiguredServer[]
  /** Where `hermes lsp install` installs packages. */
  readonly modules: string
  /** Value of the PATH variable. */
  readonly path: string
  readonly userHome: string
}

/** How long a missing program is cached as missing; it may be installed meanwhile. */
const RETRY_MISSING_MS = 60_000

/** Finds the server of a file. Caches its lookups, so that files without a server cost almost nothing. */
export function createServerFinder(options: ServerSearchPaths & { readonly clock: Clock }) {
  const programs = new Map<string, { readonly at: number; readonly found: LocatedProgram | undefined }>()
  const trees = new Map<string, string | undefined>()
  const locate = (server: ConfiguredServer, tree: string): LocatedProgram | undefined => {
    const key = `${server.name}\0${tree}`
    const known = programs.get(key)
    if (known !== undefined && (known.found !== undefined || options.clock.now() - known.at < RETRY_MISSING_MS)) {
      return known.found
    }
    const found = locateProgram(server, { ...options, tree })
    programs.set(key, { at: options.clock.now(), found })
    return found
  }
  return {
    /** Takes an absolute path with links resolved. Returns undefined outside a git work tree or if no server is installed. */
    find: (path: string): FoundServer | undefined => {
      const server = serverFor(path, options.servers)
      if (server === undefined) return undefined
      const directory = dirname(path)
      if (!trees.has(directory)) trees.set(directory, findWorkTree(directory))
      const tree = trees.get(directory)
      const program = tree === undefined ? undefined : locate(server, tree)
      if (tree === undefined || program === undefined) return undefined
      const languageId = languageOf(path, server) ?? server.name
      return { server, ...program, root: rootOf(directory, tree, server.rootMarkers), languageId }
    },
  }
}

export function serverFor(path: string, servers: readonly ConfiguredServer[]): ConfiguredServer | undefined {
  return servers.find((server) => languageOf(path, server) !== undefined)
}

function languageOf(path: string, { languages }: ConfiguredServer): string | undefined {
  return languages[basename(path)] ?? languages[extname(path).toLowerCase()]
}

/** Returns the root of the git work tree that contains a directory; in a linked work tree `.git` is a file. */
export function findWorkTree(directory: string): string | undefined {
  for (let ancestor = directory; ; ancestor = dirname(ancestor)) {
    if (existsSync(join(ancestor, ".git"))) return ancestor
    if (dirname(ancestor) === ancestor) return undefined
  }
}

function rootOf(directory: string, tree: string, markers: readonly string[]): string {
  for (let ancestor = directory; ancestor !== tree; ancestor = dirname(ancestor)) {
    if (markers.some((marker) => existsSync(join(ancestor, marker)))) return ancestor
  }
  return tree
}

export type LocatedProgram = Pick<FoundServer, "command" | "from" | "needsSandbox">

/**
 * Finds a server's program in the settings, among the packages that Hermes has installed, or on the PATH. Never finds it in the
 * project: running a project's program is the user's decision, not the repository's.
 */
export function locateProgram(
  server: ConfiguredServer,
  locations: Omit<ServerSearchPaths, "servers"> & { readonly tree: string },
): LocatedProgram | undefined {
  const { command } = server
  const needsSandbox = server.runsProjectCode === true && !server.trusted
  if (command !== undefined) {
    const [program = "", ...args] = command
    const expanded = program.startsWith("~/") ? join(locations.userHome, program.slice(2)) : program
    const found = isAbsolute(expanded) ? [expanded].find(isProgram) : findOnPath(expanded, locations)
    return found === undefined ? undefined : { command: [found, ...args], from: "settings", needsSandbox }
  }
  for (const candidate of server.programs) {
    const installed = join(locations.modules, ".bin", candidate.program)
    const found = isUsable(installed, candidate) ? installed : findOnPath(candidate.program, locations, candidate)
    if (found === undefined) continue
    return {
      command: [found, ...candidate.args],
      from: found === installed ? "home" : "path",
      needsSandbox: needsSandbox || (candidate.runsProjectCode === true && !server.trusted),
    }
  }
  return undefined
}

function findOnPath(
  name: string,
  { path, tree }: { readonly path: string; readonly tree: string },
  program?: ServerProgram,
): string | undefined {
  return programDirectories(path)
    .map((directory) => join(directory, name))
    .find((file) => isUsable(file, program) && !isInside(realPath(file), tree) && !isInside(file, tree))
}

function isUsable(file: string, program?: ServerProgram): boolean {
  if (!isProgram(file)) return false
  return program?.since === undefined || isAtLeast(file, program.since)
}

/** Checks the version of the npm package that contains the program; false for a program outside any package. */
function isAtLeast(file: string, since: NonNullable<ServerProgram["since"]>): boolean {
  let directory = dirname(realPath(file))
  for (let steps = 0; steps < 3; steps += 1, directory = dirname(directory)) {
    const manifest = readManifest(join(directory, "package.json"))
    if (manifest === undefined) continue
    return manifest.name === since.package && Number.parseInt(manifest.version, 10) >= since.major
  }
  return false
}

function readManifest(file: string): { readonly name: string; readonly version: string } | undefined {
  const manifest = parseJson(readRegularText(file) ?? "")
  if (!isRecord(manifest)) return undefined
  const { name, version } = manifest
  return typeof name === "string" && typeof version === "string" ? { name, version } : undefined
}
