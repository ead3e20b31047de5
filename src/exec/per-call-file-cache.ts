import type { FileFacts, FileSystem, PathLookup, Workspace } from "./workspace.ts"

/** Larger files are not fetched together with their facts, only when they are read. */
const MAX_PREFETCHED_BYTES = 256 * 1024

/**
 * Returns the workspace with a file cache for the duration of one tool call. In a remote workspace each file lookup is a round trip, and
 * dispatch, policy and tool make the same ones. The cache is invalidated when the call itself changes something. Create a new one for
 * each call, so that it sees what others changed in between. A workspace without round trips is returned unchanged.
 */
export function withPerCallFileCache(workspace: Workspace): Workspace {
  const { lookup, readWithFacts } = workspace.files
  if (lookup === undefined || readWithFacts === undefined) return workspace
  const { files, clear } = cachedFiles(workspace.files, { lookup, readWithFacts })
  return {
    ...workspace,
    files,
    run: (command, options) => {
      clear()
      return workspace.run(command, options)
    },
    start: async (command, options) => {
      clear()
      return await workspace.start(command, options)
    },
  }
}

type RoundTripSavers = Required<Pick<FileSystem, "lookup" | "readWithFacts">>

function cachedFiles(files: FileSystem, { lookup, readWithFacts }: RoundTripSavers) {
  const lookups = new Map<string, Promise<PathLookup>>()
  const knownFacts = new Map<string, FileFacts | undefined>()
  const contents = new Map<string, Uint8Array>()
  /** A write does not change links, so lookups stay valid. */
  const clearFiles = (): void => {
    knownFacts.clear()
    contents.clear()
  }
  const clear = (): void => {
    lookups.clear()
    clearFiles()
  }
  const lookUpOnce = async (path: string): Promise<PathLookup> => {
    const known = lookups.get(path)
    if (known !== undefined) return await known
    const started = lookup(path)
    lookups.set(path, started)
    return await started
  }
  const cached: FileSystem = {
    ...files,
    realPath: async (path) => (await lookUpOnce(files.resolve(path))).realPath,
    stat: async (given) => {
      const path = files.resolve(given)
      if (knownFacts.has(path)) return knownFacts.get(path)
      const seen = (await lookups.get(path)?.catch(() => undefined))?.facts
      if (seen?.kind === "directory") return seen
      // A plain stat joins the batch of its tick. A file that was looked up before is probably about to be read: fetch its content too.
      if (seen?.kind !== "file") return await files.stat(path)
      const reading = await readWithFacts(path, MAX_PREFETCHED_BYTES).catch(() => undefined)
      if (reading === undefined) return await files.stat(path)
      knownFacts.set(path, reading.facts)
      if (reading.content !== undefined) contents.set(path, reading.content)
      return reading.facts
    },
    read: async (given) => {
      const path = files.resolve(given)
      const content = contents.get(path)
      contents.delete(path)
      return content ?? (await files.read(path))
    },
    write: async (path, data) => {
      clearFiles()
      const written = await files.write(path, data)
      if (written.facts !== undefined) knownFacts.set(files.resolve(path), written.facts)
      return written
    },
    remove: async (path) => {
      clear()
      await files.remove(path)
    },
    rename: async (from, to) => {
      clear()
      await files.rename(from, to)
    },
  }
  return { files: cached, clear }
}
