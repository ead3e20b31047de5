import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { Script } from "node:vm"

import { engineFlagsHaveChanged } from "../../base/engine-memory.ts"

type Exports = Record<string, unknown>

export interface ChunkLoader {
  /** Returns the exports of a chunk (`./name.js`) or of any other module. */
  readonly load: (id: string) => Exports
  /** Stores the compiled code of chunks that are not cached, or of all chunks when the cache is old. Only the first call has an effect. Never fails. */
  readonly save: () => void
  /** The process has run long enough, or to its end: the cache did not crash it. */
  readonly finishStart: () => void
}

export interface ChunkLoaderOptions {
  /** Ends in a slash. */
  readonly directory: string
  /** The directory for compiled code; undefined disables the cache. */
  readonly cacheDirectory: string | undefined
  readonly require: (id: string) => Exports
}

/** These are loaded on first use, because many runs never need them. */
const LAZY_MODULES = ["node:child_process", "node:fs/promises"]

const REFRESH_AFTER_MS = 3_600_000
/** A build has more than 300 chunks, of which a home uses most in time. */
const MAX_FILES = 500

/**
 * Loads the chunks of the build and caches their compiled code. Node's own compile cache stores a file before it has run, when V8
 * has compiled hardly any of its functions, so that every process compiles them again; that took a quarter of the time of a one-shot.
 * This loader stores a chunk after a run, with the functions that the run has called. The name of a chunk contains a hash of its
 * content, so cached code never becomes stale.
 */
export function createChunkLoader({
  directory,
  cacheDirectory: configuredCache,
  require,
}: ChunkLoaderOptions): ChunkLoader {
  const cache = configuredCache === undefined || isWritableByOthers(configuredCache) ? undefined : configuredCache
  const marker = cache === undefined ? undefined : beginStart(cache)
  const modules = new Map<string, { readonly exports: Exports }>()
  const scripts = new Map<string, Script>()
  const uncached = new Set<string>()
  let saved = cache === undefined

  const load = (id: string): Exports => {
    if (!id.startsWith("./")) return LAZY_MODULES.includes(id) ? lazyModule(() => require(id)) : require(id)
    const name = id.slice(2)
    const known = modules.get(name)
    if (known !== undefined) return known.exports
    const module = { exports: {} }
    modules.set(name, module)
    const filename = directory + name
    const stored = cache === undefined ? undefined : readCode(cachedPath(cache, name))
    const script = new Script(readWrapped(filename), {
      filename,
      ...(stored === undefined ? {} : { cachedData: stored }),
    })
    scripts.set(name, script)
    if (stored === undefined || script.cachedDataRejected === true) uncached.add(name)
    try {
      script.runInThisContext()(module.exports, load, module, filename, directory.slice(0, -1))
    } catch (error) {
      // The next load must fail again instead of returning a half-initialised module.
      modules.delete(name)
      throw error
    }
    return module.exports
  }

  const save = (): void => {
    if (saved || cache === undefined || engineFlagsHaveChanged()) return
    saved = true
    try {
      // Later runs call other functions, so from time to time all chunks are stored again with everything compiled by then.
      const all = [...scripts.keys()]
      const refreshAll = all.some((name) => isOld(cachedPath(cache, name)))
      const names = all.filter((name) => refreshAll || uncached.has(name))
      if (names.length === 0) return
      createDirectory(cache)
      for (const name of names) writeCode(cachedPath(cache, name), scripts.get(name)?.createCachedData())
      removeOldest(cache)
    } catch {
      // Without the cache, for example on a full disk, the next start is only some milliseconds slower.
    }
  }

  return {
    load,
    save,
    finishStart: () => {
      if (marker !== undefined) rmSync(marker, { force: true })
    },
  }
}

const PREFIX = Buffer.from("(function(exports,require,module,__filename,__dirname){")
const SUFFIX = Buffer.from("\n})")

/** Joins bytes and not strings, because V8 would copy a joined string once more, on the heap. */
function readWrapped(path: string): string {
  return Buffer.concat([PREFIX, readFileSync(path), SUFFIX]).toString()
}

const MARKER = "starting-"
const LONGEST_START_MS = 60_000

/**
 * Leaves a file that exists while this process starts. One of a process that died then means that the cached code may have crashed
 * it, so the cache is emptied. The comparison in `readCode` makes that nearly impossible; without this, it would happen at every start.
 */
function beginStart(cache: string): string | undefined {
  try {
    const names = readdirSync(cache)
    if (names.some((name) => name.startsWith(MARKER) && hasDied(cache, name))) {
      for (const name of names) rmSync(`${cache}/${name}`, { force: true })
    }
    const marker = `${cache}/${MARKER}${process.pid}`
    writeFileSync(marker, "", { mode: 0o600 })
    return marker
  } catch {
    // There is no cache yet, or the home cannot be written.
    return undefined
  }
}

function hasDied(cache: string, marker: string): boolean {
  const found = statSync(`${cache}/${marker}`, { throwIfNoEntry: false })
  if (found === undefined) return false
  if (Date.now() - found.mtimeMs > LONGEST_START_MS) return true
  try {
    process.kill(Number(marker.slice(MARKER.length)), 0)
    return false
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH"
  }
}

/** Code from a directory that other accounts can write to must not be run. */
function isWritableByOthers(path: string): boolean {
  try {
    const found = process.getuid === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
    return found !== undefined && (found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0)
  } catch {
    // The home cannot be entered, which the command reports.
    return true
  }
}

/** V8 rejects code that another release compiled, so each Node version has its own files. */
function cachedPath(cache: string, name: string): string {
  return `${cache}/${name}.${process.version}-${process.arch}`
}

/** Does not create parents: `hermes --version` must not create a home. */
function createDirectory(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
}

/** Returns a proxy that loads the module when one of its exports is read. */
function lazyModule(open: () => Exports): Exports {
  return new Proxy({}, { get: (_, name) => Reflect.get(open(), name) })
}

/**
 * V8 does not check the code it is given, and crashes on a changed byte. So a file contains the code twice: comparing two buffers
 * takes a tenth of a millisecond, while loading a module with a hash function takes two.
 */
function readCode(path: string): Buffer | undefined {
  try {
    const file = readFileSync(path)
    const code = file.subarray(0, file.length / 2)
    return code.equals(file.subarray(code.length)) ? code : undefined
  } catch {
    return undefined
  }
}

function isOld(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && Date.now() - found.mtimeMs > REFRESH_AFTER_MS
}

/** Other processes may be reading the file, so it is replaced by a rename, and only when the disk has its content. */
function writeCode(path: string, code: Buffer | undefined): void {
  if (code === undefined) return
  const temporary = `${path}.${process.pid}`
  const file = openSync(temporary, "w", 0o600)
  try {
    writeFileSync(file, Buffer.concat([code, code]))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
}

/** Removes chunks of earlier builds and temporary files of killed processes. */
function removeOldest(directory: string): void {
  const files = readdirSync(directory).map((name) => ({ name, at: statSync(`${directory}/${name}`).mtimeMs }))
  for (const { name } of files.toSorted((a, b) => b.at - a.at).slice(MAX_FILES)) rmSync(`${directory}/${name}`)
}
