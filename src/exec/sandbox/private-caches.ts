import { existsSync, lstatSync, mkdirSync, realpathSync, unlinkSync } from "node:fs"
import { join } from "node:path"

/**
 * Caches in the user's home that sandboxed commands see as directories of their own: much in them is executed later, outside
 * the sandbox (`npx`, hook environments, compiled objects, prompts of shells), and nothing tells such files from data. The shared parts are
 * downloads that would take long to get again; the readable parts are programs that commands start and never need to change.
 */
const CACHES = [
  { name: ".npm", shared: ["_cacache"], readable: [] },
  {
    name: ".cache",
    shared: ["pip", "yarn", "pnpm", "huggingface/hub", "torch/hub/checkpoints"],
    readable: ["ms-playwright", "puppeteer", "Cypress", "electron"],
  },
]

/**
 * In temporary directories: what Node, and older tools with a package of that name, compiled of the user's programs. They run it without
 * comparing it with the program, for example the next time that the user starts `npm` or `yarn`.
 */
const compiledCaches = (): readonly string[] => ["node-compile-cache", `v8-compile-cache-${process.getuid?.() ?? ""}`]

/** Where mounts take the private caches from. Commands write there, although the rest of the home is hidden from them. */
export function privateCachesIn(hermesHome: string): string {
  return join(hermesHome, "cache", "sandbox", "private")
}

/** A directory that commands see in another one's position. */
export interface PrivateDirectory {
  readonly path: string
  readonly source: string
}

export interface PrivateCaches {
  readonly directories: readonly PrivateDirectory[]
  readonly shared: readonly string[]
  readonly readOnly: readonly string[]
}

/**
 * Creates the directories in `sources`. They are empty at first and stay for later conversations. With `mounts`, in a home without caches, an
 * empty directory is created for each as a mount point: package managers fail if they cannot create their cache. The same is done in
 * `temporary`, directories that commands can write: there a command could create what is missing.
 */
export function privateCaches({
  userHome,
  temporary,
  sources,
  mounts,
}: {
  readonly userHome: string
  readonly temporary: readonly string[]
  readonly sources: string
  readonly mounts: boolean
}): PrivateCaches {
  mkdirSync(sources, { recursive: true, mode: 0o700 })
  const owner = lstatSync(sources)
  // The temporary directory may belong to everybody.
  if (!owner.isDirectory() || owner.uid !== (process.getuid?.() ?? owner.uid))
    throw new Error(`${sources} belongs to another user or is not a directory`)
  const caches = CACHES.flatMap((cache) => {
    const named = join(userHome, cache.name)
    const path = mounts ? directoryAt(named) : named
    if (path === undefined) return []
    return [{ ...cache, path, source: sourceIn(sources, cache.name.slice(1)) }]
  })
  const compiled = temporary.flatMap((directory) =>
    compiledCaches().flatMap((name) => {
      const named = join(directory, name)
      const path = mounts ? ownDirectoryAt(named) : named
      return path === undefined ? [] : [{ path, source: sourceIn(sources, name) }]
    }),
  )
  return {
    directories: [...caches, ...compiled],
    shared: caches.flatMap(({ path, shared }) => shared.map((name) => join(path, name))),
    readOnly: caches.flatMap(({ path, readable }) => readable.map((name) => join(path, name))),
  }
}

function sourceIn(sources: string, name: string): string {
  const source = join(sources, name)
  // Where commands can write `sources`, one may have put a link there.
  if (lstatSync(source, { throwIfNoEntry: false })?.isSymbolicLink() === true) unlinkSync(source)
  mkdirSync(source, { recursive: true, mode: 0o700 })
  return source
}

/** A mount cannot cover a link, which a command could replace. */
function ownDirectoryAt(path: string): string | undefined {
  try {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    if (facts?.isDirectory() === true) return path
    if (facts !== undefined) unlinkSync(path)
    mkdirSync(path)
    return path
  } catch {
    // The temporary directory does not exist, or the link belongs to another user: commands cannot replace it either.
    return undefined
  }
}

function directoryAt(path: string): string | undefined {
  try {
    if (!existsSync(path)) mkdirSync(path, { mode: 0o700 })
    return realpathSync.native(path)
  } catch {
    // The home does not exist or cannot be written.
    return undefined
  }
}
