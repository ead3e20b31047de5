import { existsSync, readFileSync, realpathSync } from "node:fs"
import { basename, dirname, extname, isAbsolute, join, relative, sep } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { isProgram, programDirectories } from "../../base/find-program.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { ConfiguredServer } from "./server-settings.ts"
import type { ServerProgram } from "./server-table.ts"

/** A server that can be started for a file. */
export interface FoundServer {
  readonly server: ConfiguredServer
  /** Program, as an absolute path, and arguments. */
  readonly command: readonly string[]
  readonly from: "settings" | "home" | "path"
  /** It may run only inside the sandbox: see the table. */
  readonly needsWalls: boolean
  /** The directory that the server is to look at. */
  readonly root: string
  readonly languageId: string
}

export interface ServerPlaces {
  readonly servers: readonly ConfiguredServer[]
  /** Where `hermes lsp install` puts packages. */
  readonly modules: string
  readonly path: string
  readonly userHome: string
}

/** A program that was not there may have been installed since. */
const LOOK_AGAIN_MS = 60_000

/** Finds the server of a file. What was looked up is remembered: files without a server cost next to nothing. */
export function createServerFinder(places: ServerPlaces & { readonly clock: Clock }) {
  const programs = new Map<string, { readonly at: number; readonly found: LocatedProgram | undefined }>()
  const trees = new Map<string, string | undefined>()
  const locate = (server: ConfiguredServer, tree: string): LocatedProgram | undefined => {
    const key = `${server.name}\0${tree}`
    const known = programs.get(key)
    if (known !== undefined && (known.found !== undefined || places.clock.now() - known.at < LOOK_AGAIN_MS)) {
      return known.found
    }
    const found = locateProgram(server, { ...places, tree })
    programs.set(key, { at: places.clock.now(), found })
    return found
  }
  return {
    /** The path is absolute and free of links. Undefined outside a git work tree, and where no server is installed. */
    find: (path: string): FoundServer | undefined => {
      const server = serverFor(path, places.servers)
      if (server === undefined) return undefined
      const directory = dirname(path)
      if (!trees.has(directory)) trees.set(directory, workTreeOf(directory))
      const tree = trees.get(directory)
      const program = tree === undefined ? undefined : locate(server, tree)
      if (tree === undefined || program === undefined) return undefined
      const languageId = languageOf(path, server) ?? server.name
      return { server, ...program, root: rootOf(directory, tree, server.roots), languageId }
    },
  }
}

export function serverFor(path: string, servers: readonly ConfiguredServer[]): ConfiguredServer | undefined {
  return servers.find((server) => languageOf(path, server) !== undefined)
}

function languageOf(path: string, { languages }: ConfiguredServer): string | undefined {
  return languages[basename(path)] ?? languages[extname(path).toLowerCase()]
}

/** The root of the git work tree that a directory lies in; a linked work tree has a file in place of the folder. */
export function workTreeOf(directory: string): string | undefined {
  for (let place = directory; ; place = dirname(place)) {
    if (existsSync(join(place, ".git"))) return place
    if (dirname(place) === place) return undefined
  }
}

function rootOf(directory: string, tree: string, markers: readonly string[]): string {
  for (let place = directory; place !== tree; place = dirname(place)) {
    if (markers.some((marker) => existsSync(join(place, marker)))) return place
  }
  return tree
}

export type LocatedProgram = Pick<FoundServer, "command" | "from" | "needsWalls">

/**
 * Where a server's program is. It is looked for in the settings, among the packages of Hermes and on the PATH, never in the project:
 * whether a program of a project may run is the person's decision, and a repository is not the person.
 */
export function locateProgram(
  server: ConfiguredServer,
  places: Omit<ServerPlaces, "servers"> & { readonly tree: string },
): LocatedProgram | undefined {
  const { command } = server
  const needsWalls = server.runsProject === true && !server.trusted
  if (command !== undefined) {
    const [program = "", ...args] = command
    const named = program.startsWith("~/") ? join(places.userHome, program.slice(2)) : program
    const found = isAbsolute(named) ? [named].find(isProgram) : onPath(named, places)
    return found === undefined ? undefined : { command: [found, ...args], from: "settings", needsWalls }
  }
  const own = join(places.modules, ".bin")
  for (const one of server.programs) {
    const installed = join(own, one.program)
    const found = usable(installed, one) ? installed : onPath(one.program, places, one)
    if (found === undefined) continue
    return {
      command: [found, ...one.args],
      from: found === installed ? "home" : "path",
      needsWalls: needsWalls || (one.runsProject === true && !server.trusted),
    }
  }
  return undefined
}

function onPath(
  name: string,
  { path, tree }: { readonly path: string; readonly tree: string },
  program?: ServerProgram,
): string | undefined {
  return programDirectories(path)
    .map((directory) => join(directory, name))
    .find((file) => usable(file, program) && !isInside(realOf(file), tree) && !isInside(file, tree))
}

function usable(file: string, program?: ServerProgram): boolean {
  if (!isProgram(file)) return false
  return program?.since === undefined || isSince(file, program.since)
}

/** By the package that the program is part of; a program that belongs to no package is not taken for a new one. */
function isSince(file: string, since: NonNullable<ServerProgram["since"]>): boolean {
  let directory = dirname(realOf(file))
  for (let steps = 0; steps < 3; steps += 1, directory = dirname(directory)) {
    const facts = packageAt(join(directory, "package.json"))
    if (facts === undefined) continue
    return facts.name === since.package && Number.parseInt(facts.version, 10) >= since.major
  }
  return false
}

function packageAt(file: string): { readonly name: string; readonly version: string } | undefined {
  try {
    const facts = parseJson(readFileSync(file, "utf8"))
    if (!isRecord(facts)) return undefined
    const { name, version } = facts
    return typeof name === "string" && typeof version === "string" ? { name, version } : undefined
  } catch {
    // Not in this directory.
    return undefined
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path)
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
