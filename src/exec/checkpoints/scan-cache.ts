import { rmSync, statSync } from "node:fs"
import { mkdir, open, readFile, rename } from "node:fs/promises"
import { dirname } from "node:path"

import { isRecord, parseJson } from "../../base/json.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { createTimeSlices } from "./time-slices.ts"
import type { DirectoryNode, FileNode, OmissionReason, OmittedNode, TreeNode } from "./tree-node.ts"

/** The result of the last scan of a workspace, cached so that a new process need not read every file again. */
interface CachedScan {
  /** The store epoch it belongs to; pruning the store may remove objects that the scan refers to. */
  readonly epoch: string
  readonly root: DirectoryNode
}

const FORMAT = 2
const CHUNK_CHARS = 256 * 1024
/** The entries of a directory with more of them take several lines. */
const MAX_LINE_ENTRIES = 500

/**
 * Writes a line for each directory, after those of its subdirectories, so that neither writing nor reading a large cache blocks the
 * event loop. The last line tells a complete file from a truncated one.
 */
export async function writeScanCache(path: string, { epoch, root }: CachedScan): Promise<void> {
  const temporary = `${path}.${randomHex(6)}.new`
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  try {
    const file = await open(temporary, "wx", 0o600)
    try {
      let text = `${JSON.stringify({ format: FORMAT, epoch })}\n`
      for (const line of packedLines(root)) {
        text += `${JSON.stringify(line)}\n`
        if (text.length < CHUNK_CHARS) continue
        await file.write(text)
        text = ""
      }
      await file.write(`${text}${END}\n`)
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw cause
  }
}

const END = '"end"'

/** Returns undefined when there is no cache for this epoch or it is damaged; the caller then scans everything. */
export async function readScanCache(
  path: string,
  epoch: string,
  signal: AbortSignal,
): Promise<DirectoryNode | undefined> {
  let text: string
  try {
    text = await readFile(path, "utf8")
  } catch {
    return undefined
  }
  const [header = "", ...lines] = text.split("\n")
  const facts = parseJson(header)
  if (!isRecord(facts) || facts["format"] !== FORMAT || facts["epoch"] !== epoch) return undefined
  if (lines.pop() !== "" || lines.pop() !== END) return undefined
  const slices = createTimeSlices(signal)
  const reading: CacheReading = { finished: [], entries: new Map() }
  for (const line of lines) {
    if (!readLine(parseJson(line), reading)) return undefined
    if (slices.isOver()) await slices.next()
  }
  return reading.finished.length === 1 && reading.entries.size === 0 ? reading.finished[0] : undefined
}

/** Whether there is a cache, and its workspace is so small that a scan takes a few milliseconds. */
export function hasSmallScanCache(path: string): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size
  return size !== undefined && size < SMALL_CACHE_BYTES
}

/** About 4,000 files. */
const SMALL_CACHE_BYTES = 500_000

type Packed = readonly unknown[]

/** Arrays instead of objects keep the file small. */
function* packedLines(node: DirectoryNode): Generator<Packed> {
  for (const child of node.children.values()) if (child.kind === "directory") yield* packedLines(child)
  let line: unknown[] = [ENTRIES]
  for (const [name, child] of node.children) {
    line.push(name, packChild(child))
    if (line.length <= 2 * MAX_LINE_ENTRIES) continue
    yield line
    line = [ENTRIES]
  }
  if (line.length > 1) yield line
  yield [DIRECTORY, node.mode, node.mtimeMs, node.ctimeMs, node.ino, node.settled ? 1 : 0, node.id]
}

/** Kinds of lines: some entries of the directory whose own line follows, and a directory. */
const ENTRIES = "e"
const DIRECTORY = "d"

interface CacheReading {
  /** Directories whose parent has not been read yet, in the order of the parent's entries. */
  readonly finished: DirectoryNode[]
  /** The entries of the directory that is being read; undefined for a subdirectory, which is at the end of `finished`. */
  entries: Map<string, FileNode | OmittedNode | undefined>
}

/** Returns false for a damaged line. */
function readLine(packed: unknown, reading: CacheReading): boolean {
  if (!Array.isArray(packed)) return false
  const [kind, ...values]: readonly unknown[] = packed
  if (kind === ENTRIES) return readEntries(values, reading)
  const facts = kind === DIRECTORY ? unpackFacts(values) : undefined
  if (facts === undefined) return false
  const { finished, entries } = reading
  const count = [...entries.values()].filter((entry) => entry === undefined).length
  if (count > finished.length) return false
  const subdirectories = finished.splice(finished.length - count).values()
  const children = new Map<string, TreeNode>()
  for (const [name, entry] of entries) {
    const child = entry ?? subdirectories.next().value
    if (child !== undefined) children.set(name, child)
  }
  finished.push({ kind: "directory", ...facts, children })
  reading.entries = new Map()
  return true
}

function readEntries(values: Packed, { entries }: CacheReading): boolean {
  for (let index = 0; index < values.length; index += 2) {
    const [name, entry] = [values[index], values[index + 1]]
    const isDirectory = Array.isArray(entry) && entry[0] === DIRECTORY
    const unpacked = isDirectory ? undefined : unpackEntry(entry)
    if (typeof name !== "string" || (unpacked === undefined && !isDirectory)) return false
    entries.set(name, unpacked)
  }
  return true
}

function packChild(node: TreeNode): Packed {
  if (node.kind === "omitted") return ["o", node.reason]
  if (node.kind === "directory") return [DIRECTORY]
  const kind = node.kind === "link" ? "l" : "f"
  return [kind, node.mode, node.mtimeMs, node.ctimeMs, node.ino, node.settled ? 1 : 0, node.id, node.size]
}

function unpackEntry(packed: unknown): FileNode | OmittedNode | undefined {
  if (!Array.isArray(packed)) return undefined
  const [kind, ...values]: readonly unknown[] = packed
  if (kind === "o") return isOmission(values[0]) ? { kind: "omitted", reason: values[0] } : undefined
  const facts = unpackFacts(values)
  const size = values[6]
  if (facts === undefined || typeof size !== "number" || (kind !== "f" && kind !== "l")) return undefined
  return { kind: kind === "f" ? "file" : "link", ...facts, size }
}

function unpackFacts([mode, mtimeMs, ctimeMs, ino, settled, id]: Packed) {
  if (typeof mode !== "number" || typeof mtimeMs !== "number" || typeof ctimeMs !== "number") return undefined
  if (typeof ino !== "number" || typeof id !== "string" || !OBJECT_ID.test(id)) return undefined
  return { mode, mtimeMs, ctimeMs, ino, settled: settled === 1, id }
}

const OBJECT_ID = /^[0-9a-f]{40}$/u

function isOmission(value: unknown): value is OmissionReason {
  return value === "too-large" || value === "unreadable" || value === "special"
}
