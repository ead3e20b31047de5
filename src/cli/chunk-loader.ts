import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { Script } from "node:vm"

type Exports = Record<string, unknown>

export interface ChunkLoader {
  /** The exports of a chunk (`./name.js`), or of a module that is no chunk of ours. */
  readonly load: (id: string) => Exports
  /** Stores what was compiled, where that is not known yet or long ago; the first call only. Never fails. */
  readonly save: () => void
}

export interface ChunkLoaderOptions {
  /** Ends in a slash. */
  readonly folder: string
  /** Where compiled code is kept; undefined keeps none. */
  readonly cache: string | undefined
  readonly require: (id: string) => Exports
}

/** Node loads these when they are asked for; a run that starts no process and opens no file slowly never needs them. */
const LATE_MODULES = ["node:child_process", "node:fs/promises"]

const RENEW_AFTER_MS = 3_600_000
const KEPT_FILES = 100

/**
 * Loads the chunks of the build and keeps what V8 made of them. Node's own compile cache stores a file before it has run, when
 * hardly a function of it is compiled, so that every process compiles what it calls; that was a quarter of a one-shot. Here a chunk
 * is stored after a run, with the functions the run needed. A chunk's name says its content, so what is stored never goes stale.
 */
export function createChunkLoader({ folder, cache: wanted, require }: ChunkLoaderOptions): ChunkLoader {
  const cache = wanted === undefined || isForeign(wanted) ? undefined : wanted
  const modules = new Map<string, { readonly exports: Exports }>()
  const scripts = new Map<string, Script>()
  const incomplete = new Set<string>()
  let saved = cache === undefined

  const load = (id: string): Exports => {
    if (!id.startsWith("./")) return LATE_MODULES.includes(id) ? onFirstUse(() => require(id)) : require(id)
    const name = id.slice(2)
    const known = modules.get(name)
    if (known !== undefined) return known.exports
    const module = { exports: {} }
    modules.set(name, module)
    const filename = folder + name
    const stored = cache === undefined ? undefined : readIfThere(storedAt(cache, name))
    const script = new Script(
      `(function(exports,require,module,__filename,__dirname){${readFileSync(filename, "utf8")}\n})`,
      { filename, ...(stored === undefined ? {} : { cachedData: stored }) },
    )
    scripts.set(name, script)
    if (stored === undefined || script.cachedDataRejected === true) incomplete.add(name)
    try {
      script.runInThisContext()(module.exports, load, module, filename, folder.slice(0, -1))
    } catch (error) {
      // Whoever asks for it again is told again, instead of getting half of it.
      modules.delete(name)
      throw error
    }
    return module.exports
  }

  const save = (): void => {
    if (saved || cache === undefined) return
    saved = true
    try {
      // A later run calls other functions: now and then all is stored anew, old and new together.
      const renews = isOld(cache)
      const names = [...scripts.keys()].filter((name) => renews || incomplete.has(name))
      if (names.length === 0) return
      makeFolder(cache)
      for (const name of names) replace(storedAt(cache, name), scripts.get(name)?.createCachedData())
      dropOldest(cache)
    } catch {
      // A disk that is full or read-only costs the next start some milliseconds, nothing else.
    }
  }

  return { load, save }
}

/** Whoever else can write there would decide what we run: another account, or everybody. */
function isForeign(path: string): boolean {
  const found = process.getuid === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  return found !== undefined && (found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0)
}

/** V8 refuses what another release of it has made; two releases on one home keep theirs side by side. */
function storedAt(cache: string, name: string): string {
  return `${cache}/${name}.${process.version}-${process.arch}`
}

/** Its parent must be there: a home that is not in use yet does not come to be by `hermes --version`. */
function makeFolder(path: string): void {
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
}

/** Stands for a module without loading it. */
function onFirstUse(open: () => Exports): Exports {
  return new Proxy({}, { get: (_, name) => Reflect.get(open(), name) })
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

function isOld(folder: string): boolean {
  const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? { mtimeMs: 0 }
  return Date.now() - mtimeMs > RENEW_AFTER_MS
}

/** Whole or not at all: another process may be reading it. */
function replace(path: string, data: Buffer | undefined): void {
  if (data === undefined) return
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, data, { mode: 0o600 })
  renameSync(draft, path)
}

/** Chunks of earlier builds, and drafts of processes that were killed. */
function dropOldest(folder: string): void {
  const files = readdirSync(folder).map((name) => ({ name, at: statSync(`${folder}/${name}`).mtimeMs }))
  for (const { name } of files.toSorted((a, b) => b.at - a.at).slice(KEPT_FILES)) rmSync(`${folder}/${name}`)
}
