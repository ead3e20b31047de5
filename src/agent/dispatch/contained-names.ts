import { basename, dirname, join } from "node:path"
import { constants, gunzipSync, zstdDecompressSync } from "node:zlib"

import type { FileSystem } from "../../exec/workspace.ts"
import type { Container } from "../../policy/commands/command-verdict.ts"
import { componentGlob, hasGlob } from "../../policy/commands/shell-glob.ts"

type Files = Partial<Pick<FileSystem, "list" | "read" | "readRange">>

/** The names of files, relative to the directory or archive that contains them, or the fact that they cannot be read. */
export type ContainedNames = readonly string[] | "unreadable"

/** The names in a directory or an archive, in bounds; undefined where there is none. */
export async function containedNames(
  { path, isArchive }: Container,
  files: Files,
): Promise<ContainedNames | undefined> {
  try {
    if (!isArchive) return await treeNames(path, files)
    return hasGlob(basename(path)) ? await namesInAll(path, files) : archiveNames(await startOf(path, files))
  } catch {
    // There is none, or it cannot be read: the command will report it.
    return undefined
  }
}

/** `*.zip`: the names in all archives that the pattern matches. */
async function namesInAll(pattern: string, files: Files): Promise<ContainedNames | undefined> {
  const matches = componentGlob(basename(pattern))
  const entries = (await files.list?.(dirname(pattern))) ?? []
  const archives = entries.filter(({ name }) => matches(name)).map(({ name }) => join(dirname(pattern), name))
  if (archives.length > MAX_ARCHIVES) return "unreadable"
  const found = await Promise.all(archives.map((path) => containedNames({ path, isArchive: true }, files)))
  if (found.includes("unreadable")) return "unreadable"
  return found.flatMap((names) => names ?? [])
}

/** More than this is not looked at. */
const MAX_BYTES = 8_000_000
const MAX_NAMES = 5000
const MAX_DIRECTORIES = 64
const MAX_ARCHIVES = 8
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

/** Other formats (xz, bzip2, 7z, rar) would need a decompressor that Node does not have. */
function archiveNames(bytes: Uint8Array | undefined): ContainedNames | undefined {
  if (bytes === undefined) return undefined
  const buffer = decompressed(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  if (buffer === undefined) return "unreadable"
  if (buffer.length === 0) return []
  const start = buffer.toString("latin1", 0, 8)
  if (start.startsWith("PK")) return zipNames(buffer)
  if (start === "!<arch>\n") return memberNames(buffer)
  if (/^07070[127]/u.test(start)) return cpioNames(buffer, start.startsWith("070707"))
  // The field with the size of the first entry, in octal digits.
  return /^[0-7 ]{7,11}[\0 ]/u.test(buffer.toString("latin1", 124, 136)) ? tarNames(buffer) : "unreadable"
}

/** The start of an archive that is cut off is enough. Undefined for data that is damaged. */
function decompressed(buffer: Buffer): Buffer | undefined {
  const options = { maxOutputLength: MAX_BYTES * 8 }
  try {
    if (buffer[0] === 0x1f && buffer[1] === 0x8b)
      return gunzipSync(buffer, { ...options, finishFlush: constants.Z_SYNC_FLUSH })
    if (buffer.subarray(0, 4).equals(ZSTD))
      return zstdDecompressSync(buffer, { ...options, finishFlush: constants.ZSTD_e_flush })
    return buffer
  } catch {
    return undefined
  }
}

const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** The header of a cpio entry is text: the sizes of name and content at fixed offsets, then the name. */
function cpioNames(buffer: Buffer, isOld: boolean): readonly string[] {
  const names: string[] = []
  const { header, nameAt, sizeAt, radix, align } = isOld
    ? { header: 76, nameAt: [59, 65], sizeAt: [65, 76], radix: 8, align: 1 }
    : { header: 110, nameAt: [94, 102], sizeAt: [54, 62], radix: 16, align: 4 }
  const aligned = (offset: number): number => Math.ceil(offset / align) * align
  for (let at = 0; at + header <= buffer.length && names.length < MAX_NAMES;) {
    const field = ([from = 0, to = 0]: readonly number[]): number =>
      Number.parseInt(buffer.toString("latin1", at + from, at + to), radix)
    const length = field(nameAt)
    const size = field(sizeAt)
    const name = buffer.toString("utf8", at + header, at + header + length - 1)
    if (!(length > 0) || !(size >= 0) || name === "TRAILER!!!") break
    names.push(name)
    at = aligned(aligned(at + header + length) + size)
  }
  return names
}

/** `ar`: headers of 60 bytes with the name at 0 and the size at 48; `//` has the long names, to which `/12` refers. */
function memberNames(buffer: Buffer): readonly string[] {
  const names: string[] = []
  let long = ""
  for (let at = 8; at + 60 <= buffer.length && names.length < MAX_NAMES;) {
    const name = buffer.toString("utf8", at, at + 16).trimEnd()
    const size = Number.parseInt(buffer.toString("latin1", at + 48, at + 58), 10) || 0
    const content = at + 60
    const reference = /^\/(\d+)$/u.exec(name)?.[1]
    const ownLength = /^#1\/(\d+)$/u.exec(name)?.[1]
    if (name === "//") long = buffer.toString("utf8", content, content + size)
    else if (reference !== undefined) names.push(long.slice(Number(reference)).replace(/\/?\n[^]*$/u, ""))
    else if (ownLength !== undefined)
      names.push(buffer.toString("utf8", content, content + Number(ownLength)).replace(/\0+$/u, ""))
    else if (name !== "/" && name !== "/SYM64/") names.push(name.replace(/\/$/u, ""))
    at = content + size + (size % 2)
  }
  return names
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
