import { appendFileSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"

import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import type { Home } from "../../config/home.ts"
import type { SessionId } from "../../protocol/identifiers.ts"

/** Keeps the text of a reply on disk while it is streamed. A process that is killed leaves the file, and the next resume stores it. */
export interface PartialReplyFile {
  /** Writes what is new in `text`. `position` is the last stored message, which the reply follows. */
  write(text: string, position: { readonly session: SessionId; readonly after: number }): void
  /** A stored message contains the text, or it does not count. */
  remove(): void
}

/**
 * The file is written without waiting for the disk: it survives the process, though not a power cut. A home that cannot be written
 * keeps no reply from being streamed.
 */
export function createPartialReplyFile(home: Home): PartialReplyFile {
  let path: string | undefined
  let written = ""
  return {
    write: (text, { session, after }) => {
      try {
        if (path !== undefined && text.startsWith(written)) {
          appendFileSync(path, text.slice(written.length))
        } else {
          const created = pathOf(home, session)
          makeDirectories(home.file(...DIRECTORY))
          writeFileSync(created, `${JSON.stringify({ after })}\n${text}`, { mode: 0o600 })
          path = created
        }
        written = text
      } catch {
        // A killed process then loses the reply.
      }
    },
    remove: () => {
      if (path === undefined) return
      removeFile(path)
      path = undefined
      written = ""
    },
  }
}

/** Returns the text of a reply that was streamed after message `after` when a process was killed. */
export function readPartialReply(home: Home, session: SessionId, after: number): string | undefined {
  const texts = filesOf(home, session).flatMap((path) => {
    const file = readFile(path)
    const end = file.indexOf("\n")
    const header = parseJson(file.slice(0, end))
    const text = file.slice(end + 1)
    // A later message proves that the conversation has continued without this text.
    return isRecord(header) && header["after"] === after && text.trim() !== "" ? [text] : []
  })
  return texts.at(-1)
}

/** Removes the files of the session, so no process may have it open, and what they contain must be stored. */
export function removePartialReplies(home: Home, session: SessionId): void {
  for (const path of filesOf(home, session)) removeFile(path)
}

const DIRECTORY = ["cache", "partial-replies"] as const

function filesOf(home: Home, session: SessionId): readonly string[] {
  try {
    return readdirSync(home.file(...DIRECTORY))
      .filter((name) => name.startsWith(`${baseName(session)}.`))
      .map((name) => home.file(...DIRECTORY, name))
  } catch {
    // No reply has taken longer than a moment yet.
    return []
  }
}

function readFile(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // Without the file the session resumes without the reply.
    return ""
  }
}

/** One file per process: a session may be open in two. */
function pathOf(home: Home, session: SessionId): string {
  return home.file(...DIRECTORY, `${baseName(session)}.${process.pid}.txt`)
}

function baseName(session: SessionId): string {
  return session.replaceAll(/[^\w-]/g, "_")
}

function removeFile(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It was never written.
  }
}
