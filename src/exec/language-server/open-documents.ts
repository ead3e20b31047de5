import { readFileSync, statSync } from "node:fs"
import { pathToFileURL } from "node:url"

import type { RunningServer } from "./running-server.ts"

/** A file as the server was last told about it. */
export interface OpenDocument {
  readonly path: string
  readonly uri: string
  readonly version: number
  readonly text: string
  /** Its place in the order of everything sent and received. */
  readonly order: number
  readonly stamp: string
}

/** Larger files are left to the compiler. */
const MAX_DOCUMENT_BYTES = 1_000_000
/** What a server holds open costs it memory; the one that was touched longest ago goes first. */
const MAX_OPEN = 30

const MAX_TOUCHED = 5000
const CREATED = 1
const CHANGED = 2
const DELETED = 3

/** The documents that one server has open, kept equal to the files on the disk. */
export function createOpenDocuments(server: RunningServer, nextOrder: () => number) {
  const open = new Map<string, OpenDocument>()
  const touched = new Set<string>()
  const tell = (path: string, file: FileOnDisk, languageId: string): OpenDocument => {
    const known = open.get(path)
    open.delete(path)
    const { text, stamp } = file
    if (known?.text === text) {
      const same = { ...known, stamp }
      open.set(path, same)
      return same
    }
    const uri = pathToFileURL(path).href
    const order = nextOrder()
    const document = { path, uri, version: order, text, order, stamp }
    if (known === undefined) {
      server.notify("textDocument/didOpen", { textDocument: { uri, languageId, version: order, text } })
    } else {
      server.notify("textDocument/didChange", { textDocument: { uri, version: order }, contentChanges: [{ text }] })
    }
    open.set(path, document)
    return document
  }
  const list = (): readonly OpenDocument[] => [...open.values()]
  const close = (path: string): void => {
    const known = open.get(path)
    if (known === undefined) return
    open.delete(path)
    server.notify("textDocument/didClose", { textDocument: { uri: known.uri } })
  }
  return {
    /** Opens a file, or tells what became of it. Undefined for one that is not there or is too large; a server is not shown it. */
    sync: (path: string, languageId: string): OpenDocument | undefined => {
      const file = readDisk(path)
      if (file === undefined) {
        close(path)
        return undefined
      }
      const document = tell(path, file, languageId)
      const [oldest] = open.keys()
      if (open.size > MAX_OPEN && oldest !== undefined) close(oldest)
      return document
    },
    /** Somebody else may have changed what is open: commands, the person, another session. */
    refresh: (languageId: (path: string) => string): void => {
      for (const document of list()) {
        if (stampOf(document.path) === document.stamp) continue
        const file = readDisk(document.path)
        if (file === undefined) close(document.path)
        else tell(document.path, file, languageId(document.path))
      }
    },
    /** A file on the disk may have come, changed or gone. */
    noteChange: (path: string): void => {
      if (touched.size < MAX_TOUCHED) touched.add(path)
    },
    /** Tells the server of the files that were noted, if it asked to hear of them. */
    tellChanges: (): void => {
      const changes = [...touched].flatMap((path) => {
        const uri = pathToFileURL(path).href
        // Whether it is new nobody has kept; a server that hears both does what either needs.
        return stampOf(path) === undefined
          ? [{ uri, type: DELETED }]
          : [CREATED, CHANGED].map((type) => ({ uri, type }))
      })
      touched.clear()
      if (changes.length > 0 && server.watchesFiles()) {
        server.notify("workspace/didChangeWatchedFiles", { changes })
      }
    },
    saved: (document: OpenDocument): void => {
      server.notify("textDocument/didSave", { textDocument: { uri: document.uri } })
    },
    list,
  }
}

export type OpenDocuments = ReturnType<typeof createOpenDocuments>

interface FileOnDisk {
  readonly text: string
  readonly stamp: string
}

function readDisk(path: string): FileOnDisk | undefined {
  const stamp = stampOf(path)
  if (stamp === undefined) return undefined
  try {
    const bytes = readFileSync(path)
    if (bytes.length > MAX_DOCUMENT_BYTES) return undefined
    return { text: new TextDecoder("utf-8").decode(bytes), stamp }
  } catch {
    // It has gone since, or is not ours to read.
    return undefined
  }
}

/** Undefined for what is no regular file. */
function stampOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() === true ? `${found.mtimeMs} ${found.size} ${found.ino}` : undefined
}
