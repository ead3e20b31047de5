import { lstatSync, readFileSync, readlinkSync } from "node:fs"
import { basename } from "node:path"

import { isRecord } from "../../base/json.ts"
import { errorCode } from "../../base/system-error.ts"

/** The path of a file and its state; null for a file that does not exist. */
export type StoredState = readonly [path: string, state: StoredFileState | null]

interface StoredFileState extends Omit<FileState, "linked"> {
  readonly linked?: { readonly bytes: string; readonly mode: number }
}

export interface FileState {
  readonly identity: string
  /** The target of a link. */
  readonly target?: string
  /** The text of a git configuration or of the steps of a rebase. */
  readonly config?: string
  /** Of a file with several names: a mount protects only this one. */
  readonly linked?: { readonly bytes: Buffer; readonly mode: number }
}

export function stored({ linked, ...state }: FileState): StoredFileState {
  return linked === undefined ? state : { ...state, linked: { ...linked, bytes: linked.bytes.toString("base64") } }
}

export function storedState(entry: unknown): readonly (readonly [string, FileState | undefined])[] {
  if (!Array.isArray(entry) || typeof entry[0] !== "string") return []
  const [path, state]: readonly unknown[] = entry
  if (typeof path !== "string") return []
  if (!isRecord(state) || typeof state["identity"] !== "string") return [[path, undefined]]
  const { identity, target, config, linked } = state
  return [
    [
      path,
      {
        identity,
        ...(typeof target === "string" ? { target } : {}),
        ...(typeof config === "string" ? { config } : {}),
        ...(isRecord(linked) && typeof linked["bytes"] === "string" && typeof linked["mode"] === "number"
          ? { linked: { bytes: Buffer.from(linked["bytes"], "base64"), mode: linked["mode"] } }
          : {}),
      },
    ],
  ]
}

/** `open` is called when a directory above it cannot be accessed. */
export function stateOf(path: string, open?: (path: string) => void): FileState | undefined {
  try {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    if (facts === undefined) return undefined
    // The time of the last change cannot be set by a program.
    const identity = facts.isDirectory() ? String(facts.ino) : `${facts.ino} ${facts.ctimeMs} ${facts.size}`
    if (facts.isSymbolicLink()) return { identity, target: readlinkSync(path) }
    if (!facts.isFile()) return { identity }
    return {
      identity,
      ...(isGitConfig(path) || isRebase(path) ? { config: readFileSync(path, "utf8") } : {}),
      ...(facts.nlink > 1 && facts.size <= MAX_LINKED_BYTES
        ? { linked: { bytes: readFileSync(path), mode: facts.mode & 0o777 } }
        : {}),
    }
  } catch (error) {
    if (errorCode(error) === "EACCES" && open !== undefined) {
      open(path)
      return stateOf(path)
    }
    // A part of the path is a file, or not accessible.
    return undefined
  }
}

const MAX_LINKED_BYTES = 1_000_000

export function isSame(before: FileState | undefined, now: FileState): boolean {
  return before?.identity === now.identity
}

export function isGitConfig(path: string): boolean {
  return /^config(?:\.worktree)?$/u.test(basename(path))
}

export function isRebase(path: string): boolean {
  return basename(path) === "git-rebase-todo"
}
