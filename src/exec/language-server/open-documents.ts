import { statSync } from "node:fs"
import { pathToFileURL } from "node:url"

import { readRegularFile } from "../../base/regular-file.ts"
import type { RunningServer } from "./running-server.ts"

/** A file in the state last sent to the server. */
export interface OpenDocument {
  readonly path: string
  readonly uri: string
  readonly version: number
  readonly text: string
  /** Sequence number among all messages sent and received. */
  readonly order: number
  /** Changes when the file on disk changes. */
  readonly stamp: string
}

/** Larger files are not sent to the server. */
const MAX_DOCUMENT_BYTES = 1_000_000
/** Open documents cost the server memory; beyond this number the least recently used one is closed. */
const MAX_OPEN = 30

const MAX_CHANGED = 5000
/** File change types of the protocol. */
const CREATED = 1
const CHANGED = 2
const DELETED = 3

/** Manages the documents that one server has open and keeps them in sync with the files on disk. */
export function createOpenDocuments(server: RunningServer, nextOrder: () => number) {
  const open = new Map<string, OpenDocument>()
  const changed = new Set<string>()
  const sendContent = (path: string, file: FileOnDisk, languageId: string): OpenDocument => {
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
    /** Opens a document or sends its new content. Closes it and returns undefined if the file is missing or too large. */
    sync: (path: string, languageId: string): OpenDocument | undefined => {
      const file = readFromDisk(path)
      if (file === undefined) {
        close(path)
        return undefined
      }
      const document = sendContent(path, file, languageId)
      const [oldest] = open.keys()
      if (open.size > MAX_OPEN && oldest !== undefined) close(oldest)
      return document
    },
    /** Sends the new content of all open documents whose files have changed on disk. */
    refresh: (languageId: (path: string) => string): void => {
      for (const document of list()) {
        if (stampOf(document.path) === document.stamp) continue
        const file = readFromDisk(document.path)
        if (file === undefined) close(document.path)
        else sendContent(document.path, file, languageId(document.path))
      }
    },
    /** Records that a file on disk may have been created, changed or deleted. */
    markChanged: (path: string): void => {
      if (changed.size < MAX_CHANGED) changed.add(path)
    },
    /** Notifies the server of the recorded changes, if it has registered for them. */
    sendFileChanges: (): void => {
      const changes = [...changed].flatMap((path) => {
        const uri = pathToFileURL(path).href
        // It is not known whether the file is new, so the server gets both events.
        return stampOf(path) === undefined
          ? [{ uri, type: DELETED }]
          : [CREATED, CHANGED].map((type) => ({ uri, type }))
      })
      changed.clear()
      if (changes.length > 0 && server.watchesFiles()) {
        server.notify("workspace/didChangeWatchedFiles", { changes })
      }
    },
    sendSaved: (document: OpenDocument): void => {
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

function readFromDisk(path: string): FileOnDisk | undefined {
  const stamp = stampOf(path)
  if (stamp === undefined) return undefined
  try {
    const { bytes } = readRegularFile(path, { maxBytes: MAX_DOCUMENT_BYTES })
    return { text: new TextDecoder("utf-8").decode(bytes), stamp }
  } catch {
    // The file was deleted or replaced meanwhile, is too large or not readable.
    return undefined
  }
}

/** Returns undefined for anything but a regular file. */
function stampOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() === true ? `${found.mtimeMs} ${found.size} ${found.ino}` : undefined
}
