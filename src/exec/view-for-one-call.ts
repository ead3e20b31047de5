import type { FileFacts, FileLook, FileSystem, Workspace } from "./workspace.ts"

/** More is not brought along with a look at a file; it is read when it is asked for. */
const MOST_BROUGHT_ALONG = 256 * 1024

/**
 * The workspace as one tool call sees it. Where files are far away, each question is a journey, and the door, the policy and the tool ask
 * the same ones: so what was found out is remembered until the call itself changes something. A view is not kept for the next call, which
 * must see what others did meanwhile. Where files are near, it is the workspace itself.
 */
export function viewForOneCall(workspace: Workspace): Workspace {
  const { look, readWithFacts } = workspace.files
  if (look === undefined || readWithFacts === undefined) return workspace
  const { files, forget } = rememberingFiles(workspace.files, { look, readWithFacts })
  return {
    ...workspace,
    files,
    run: (command, options) => {
      forget()
      return workspace.run(command, options)
    },
    start: async (command, options) => {
      forget()
      return await workspace.start(command, options)
    },
  }
}

type Together = Required<Pick<FileSystem, "look" | "readWithFacts">>

function rememberingFiles(files: FileSystem, { look, readWithFacts }: Together) {
  const looks = new Map<string, Promise<FileLook>>()
  const known = new Map<string, FileFacts | undefined>()
  const contents = new Map<string, Uint8Array>()
  /** Links stay as they are when a file is written; everything else may be new. */
  const forgetFiles = (): void => {
    known.clear()
    contents.clear()
  }
  const forget = (): void => {
    looks.clear()
    forgetFiles()
  }
  const lookAt = async (path: string): Promise<FileLook> => {
    const before = looks.get(path)
    if (before !== undefined) return await before
    const asked = look(path)
    looks.set(path, asked)
    return await asked
  }
  const view: FileSystem = {
    ...files,
    realPath: async (path) => (await lookAt(files.resolve(path))).realPath,
    stat: async (given) => {
      const path = files.resolve(given)
      if (known.has(path)) return known.get(path)
      const seen = (await looks.get(path)?.catch(() => undefined))?.facts
      if (seen?.kind === "directory") return seen
      // Several at once travel together; one that was looked at before is about to be read.
      if (seen?.kind !== "file") return await files.stat(path)
      const reading = await readWithFacts(path, MOST_BROUGHT_ALONG).catch(() => undefined)
      if (reading === undefined) return await files.stat(path)
      known.set(path, reading.facts)
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
      forgetFiles()
      const written = await files.write(path, data)
      if (written.facts !== undefined) known.set(files.resolve(path), written.facts)
      return written
    },
    remove: async (path) => {
      forget()
      await files.remove(path)
    },
    rename: async (from, to) => {
      forget()
      await files.rename(from, to)
    },
  }
  return { files: view, forget }
}
