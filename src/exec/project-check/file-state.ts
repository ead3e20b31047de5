import { lstatSync, readdirSync, readlinkSync } from "node:fs"
import type { Stats } from "node:fs"
import { basename, join } from "node:path"

import { isRecord } from "../../base/json.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { readRegularFile, readRegularText } from "../../base/regular-file.ts"
import { errorCode } from "../../base/system-error.ts"
import { isRenamedAside } from "../project/contained-changes.ts"
import { showsNextChange } from "../project/time-of-change.ts"

/** The path of a file and its state; null for a file that does not exist. */
export type StoredState = readonly [path: string, state: StoredFileState | null]

interface StoredFileState extends Omit<FileState, "linked" | "content"> {
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
  /** What a file contains. Absent for a large one, and where another process remembered the state. */
  readonly content?: Buffer
  /** The files in a directory by relative path, each with a hash or its identity. Absent where there are too many. */
  readonly files?: Readonly<Record<string, string>>
}

export function stored({ identity, target, config, linked, files }: FileState): StoredFileState {
  return {
    identity,
    ...(target === undefined ? {} : { target }),
    ...(config === undefined ? {} : { config }),
    ...(linked === undefined ? {} : { linked: { ...linked, bytes: linked.bytes.toString("base64") } }),
    ...(files === undefined ? {} : { files }),
  }
}

export function storedState(entry: unknown): readonly (readonly [string, FileState | undefined])[] {
  if (!Array.isArray(entry) || typeof entry[0] !== "string") return []
  const [path, state]: readonly unknown[] = entry
  if (typeof path !== "string") return []
  if (!isRecord(state) || typeof state["identity"] !== "string") return [[path, undefined]]
  const { identity, target, config, linked, files } = state
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
        ...(isRecord(files) ? { files: strings(files) } : {}),
      },
    ],
  ]
}

function strings(record: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  )
}

/** What is known of files that have not changed since they were read, by path. */
export interface KnownContents {
  readonly contents: Map<string, { readonly identity: string; readonly content: Buffer }>
  /** Of files in directories. */
  readonly hashes: Map<string, { readonly identity: string; readonly hash: string }>
}

export interface StateOptions {
  /** Called when a directory above it cannot be accessed. */
  readonly open?: ((path: string) => void) | undefined
  /** Grows. */
  readonly known?: KnownContents | undefined
  /** Whether the state of a directory includes the files in it. */
  readonly lists?: boolean
}

export function stateOf(path: string, options: StateOptions = {}): FileState | undefined {
  const { open, known, lists = true } = options
  try {
    const facts = lstatSync(path, { throwIfNoEntry: false })
    if (facts === undefined) return undefined
    if (facts.isDirectory()) {
      const files = lists ? filesIn(path, known) : undefined
      return { identity: String(facts.ino), ...(files === undefined ? {} : { files }) }
    }
    const identity = identityOf(facts)
    if (facts.isSymbolicLink()) {
      const target = readlinkSync(path)
      // Git reads through the link, so that a change of its target counts.
      return isGitConfig(path) ? { identity, target, config: readRegularText(path) ?? "" } : { identity, target }
    }
    if (!facts.isFile()) return { identity }
    const content = contentOf(path, facts, known)
    return {
      identity,
      ...(isGitConfig(path) || isRebase(path)
        ? { config: content?.toString("utf8") ?? readRegularText(path) ?? "" }
        : {}),
      ...(facts.nlink > 1 && facts.size <= MAX_LINKED_BYTES
        ? { linked: { bytes: readRegularFile(path, { maxBytes: MAX_LINKED_BYTES }).bytes, mode: facts.mode & 0o777 } }
        : {}),
      ...(content === undefined ? {} : { content }),
    }
  } catch (error) {
    if (errorCode(error) === "EACCES" && open !== undefined) {
      open(path)
      return stateOf(path, { ...options, open: undefined })
    }
    // A part of the path is a file, or not accessible.
    return undefined
  }
}

const MAX_LINKED_BYTES = 1_000_000
const MAX_CONTENT_BYTES = 200_000

/** The time of the last change cannot be set by a program. */
function identityOf({ ino, ctimeMs, size }: Stats): string {
  return `${ino} ${ctimeMs} ${size}`
}

function contentOf(path: string, facts: Stats, { contents }: Partial<KnownContents> = {}): Buffer | undefined {
  if (facts.size > MAX_CONTENT_BYTES) return undefined
  const identity = identityOf(facts)
  const known = contents?.get(path)
  if (known?.identity === identity) return known.content
  const content = executedPart(path, readRegularFile(path, { maxBytes: MAX_CONTENT_BYTES }).bytes)
  if (showsNextChange(facts.ctimeMs)) contents?.set(path, { identity, content })
  return content
}

/** JetBrains IDEs write the layout of their windows into the same file as what they run. */
function executedPart(path: string, bytes: Buffer): Buffer {
  if (!path.endsWith("/.idea/workspace.xml")) return bytes
  const parts = bytes.toString("utf8").match(/<component name="(?:RunManager|TaskManager)"[^]*?<\/component>/gu) ?? []
  return Buffer.from(parts.join(""))
}

const MAX_FILES = 300
/** Of more files, the contents are not read. */
const MAX_HASHED = 60

/** The files in a directory and its subdirectories, by relative path. Undefined where there are too many, or it is none. */
export function directoryFiles(directory: string): ReadonlyMap<string, Stats> | undefined {
  if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return undefined
  const pending = [""]
  const found = new Map<string, Stats>()
  let count = 0
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    for (const entry of readdirSync(join(directory, name), { withFileTypes: true })) {
      if (isIgnored(entry.name)) continue
      count += 1
      if (count > MAX_FILES) return undefined
      const relative = name === "" ? entry.name : `${name}/${entry.name}`
      if (entry.isDirectory()) {
        pending.push(relative)
        continue
      }
      const facts = lstatSync(join(directory, relative), { throwIfNoEntry: false })
      if (facts !== undefined) found.set(relative, facts)
    }
  }
  return found
}

/** A mount protects them together with the directory, until a program outside replaces the directory. */
function filesIn(directory: string, known?: KnownContents): Readonly<Record<string, string>> | undefined {
  const found = directoryFiles(directory)
  if (found === undefined) return undefined
  const isHashed = found.size <= MAX_HASHED
  return Object.fromEntries(
    Array.from(found, ([name, facts]) => [
      name,
      isHashed ? hashOf(join(directory, name), facts, known) : identityOf(facts),
    ]),
  )
}

function hashOf(path: string, facts: Stats, { hashes }: Partial<KnownContents> = {}): string {
  const identity = identityOf(facts)
  if (!facts.isFile() || facts.size > MAX_CONTENT_BYTES) return identity
  const before = hashes?.get(path)
  if (before?.identity === identity) return before.hash
  const hash = sha256Hex(readRegularFile(path, { maxBytes: MAX_CONTENT_BYTES }).bytes.toString("latin1"))
  if (showsNextChange(facts.ctimeMs)) hashes?.set(path, { identity, hash })
  return hash
}

/** Git does not run examples of hooks, and Hermes renames files to the other name. */
function isIgnored(name: string): boolean {
  return name === "node_modules" || name.endsWith(".sample") || isRenamedAside(name)
}

/** Compares the content where it is known: a file may have been written again as it was. */
export function isSame(before: FileState | undefined, now: FileState): boolean {
  if (before === undefined) return false
  if (before.content !== undefined && now.content !== undefined) return before.content.equals(now.content)
  return before.identity === now.identity && before.config === now.config && changedFiles(before, now).length === 0
}

/** The files of a directory that are new, gone or changed. */
export function changedFiles(before: FileState | undefined, now: FileState | undefined): readonly string[] {
  const [known, found] = [before?.files ?? {}, now?.files ?? {}]
  // Of one of them, the files are not known.
  if (before !== undefined && now !== undefined && (before.files === undefined) !== (now.files === undefined)) return []
  return [...new Set([...Object.keys(known), ...Object.keys(found)])].filter((name) => known[name] !== found[name])
}

export function isGitConfig(path: string): boolean {
  return /^config(?:\.worktree)?$/u.test(basename(path))
}

export function isRebase(path: string): boolean {
  return basename(path) === "git-rebase-todo"
}
