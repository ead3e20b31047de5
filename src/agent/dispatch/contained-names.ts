import { join } from "node:path"
import { gunzipSync, constants } from "node:zlib"

import type { FileSystem } from "../../exec/workspace.ts"

type Files = Partial<Pick<FileSystem, "list" | "read" | "readRange">>

/** The names of the files in a directory or an archive, relative to it and in bounds; undefined for anything else. */
export async function containedNames(path: string, files: Files): Promise<readonly string[] | undefined> {
  try {
    if (ARCHIVE.test(path)) return archiveNames(await startOf(path, files))
    return await treeNames(path, files)
  } catch {
    // There is none, or it cannot be read: the command will report it.
    return undefined
  }
}

const ARCHIVE = /\.(?:tar(?:\.gz)?|tgz|zip|jar|whl)$/iu
/** More than this is not looked at. */
const MAX_BYTES = 8_000_000
const MAX_NAMES = 5000
const MAX_DIRECTORIES = 64
const DEEPEST = 4

async function startOf(path: string, files: Files): Promise<Uint8Array | undefined> {
  const range = { start: 0, length: MAX_BYTES }
  return await (files.readRange === undefined ? files.read?.(path) : files.readRange(path, range))
}

/** Level by level, because on a remote workspace each listing is a round trip. */
async function treeNames(path: string, files: Files): Promise<readonly string[] | undefined> {
  if (files.list === undefined) return undefined
  const names: string[] = []
  let level = [""]
  let remaining = MAX_DIRECTORIES
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth += 1) {
    const listed = level.slice(0, remaining)
    remaining -= listed.length
    // Entries of a directory that cannot be read are not copied either, except for the directory that was named.
    const entries = await Promise.all(
      listed.map(async (directory) => {
        const found = files.list?.(join(path, directory)) ?? Promise.resolve([])
        return { directory, found: await (depth === 0 ? found : found.catch(() => [])) }
      }),
    )
    level = []
    for (const { directory, found } of entries) {
      for (const { name, kind } of found) {
        const relative = directory === "" ? name : `${directory}/${name}`
        if (names.length >= MAX_NAMES) return names
        names.push(relative)
        if (kind === "directory" && name !== "node_modules") level.push(relative)
      }
    }
  }
  return names
}

function archiveNames(bytes: Uint8Array | undefined): readonly string[] | undefined {
  if (bytes === undefined) return undefined
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.subarray(0, 2).toString("latin1") === "PK") return zipNames(buffer)
  return tarNames(buffer[0] === 0x1f && buffer[1] === 0x8b ? inflated(buffer) : buffer)
}

/** The start of an archive that is cut off is enough. */
function inflated(buffer: Buffer): Buffer {
  return gunzipSync(buffer, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_BYTES * 8 })
}

/** Each header of a tar file is a block of 512 bytes: name at 0, size in octal at 124, type at 156, prefix at 345. */
function tarNames(buffer: Buffer): readonly string[] {
  const names: string[] = []
  const field = (start: number, length: number): string =>
    buffer.toString("utf8", start, start + length).replace(/\0.*$/su, "")
  let long: string | undefined
  for (let at = 0; at + 512 <= buffer.length && names.length < MAX_NAMES && buffer[at] !== 0;) {
    const size = Number.parseInt(field(at + 124, 12), 8) || 0
    const type = String.fromCharCode(buffer[at + 156] ?? 0)
    const content = at + 512
    // GNU and pax keep names that are too long in an entry of their own.
    if (type === "L") long = field(content, size)
    else if (type === "x")
      long = /(?:^|\n)\d+ path=([^\n]*)/u.exec(buffer.toString("utf8", content, content + size))?.[1]
    else if (type !== "g") {
      const prefix = field(at + 345, 155)
      names.push(long ?? (prefix === "" ? field(at, 100) : `${prefix}/${field(at, 100)}`))
      long = undefined
    }
    at = content + Math.ceil(size / 512) * 512
  }
  return names
}

/** A local header starts with `PK\x03\x04`, one of the directory with `PK\x01\x02`; both have the length of the name. */
function zipNames(buffer: Buffer): readonly string[] {
  const names = new Set<string>()
  const headers = [
    { mark: Buffer.from("PK\u0003\u0004", "latin1"), length: 26, name: 30 },
    { mark: Buffer.from("PK\u0001\u0002", "latin1"), length: 28, name: 46 },
  ]
  for (const { mark, length, name } of headers) {
    for (let at = buffer.indexOf(mark); at !== -1 && names.size < MAX_NAMES; at = buffer.indexOf(mark, at + 4)) {
      if (at + name > buffer.length) break
      names.add(buffer.toString("utf8", at + name, at + name + buffer.readUInt16LE(at + length)))
    }
  }
  return [...names]
}
