import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { isNotFound } from "../../../base/system-error.ts"

/** The committed pages of a write-ahead log. They are newer than those of the database. */
export interface WriteAheadLog {
  readonly pageSize: number
  /** Pages of the database after the last commit. */
  readonly pageCount: number
  /** Reads the newest committed version of a page into `target`. Returns false when the log has none. */
  readonly read: (page: number, target: Buffer) => boolean
  readonly close: () => void
}

const HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const MAGIC_LITTLE_ENDIAN = 0x377f0682
const MAGIC_BIG_ENDIAN = 0x377f0683

/** Reads the log as SQLite does: up to the first frame with a wrong salt or checksum, and of these up to the last commit. */
export function openWriteAheadLog(path: string): WriteAheadLog | undefined {
  let file: number
  try {
    file = openSync(path, "r")
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
  const index = readIndex(file)
  if (index === undefined) {
    closeSync(file)
    return undefined
  }
  return {
    pageSize: index.pageSize,
    pageCount: index.pageCount,
    read: (page, target) => {
      const position = index.positions.get(page)
      return position !== undefined && readSync(file, target, 0, index.pageSize, position) === index.pageSize
    },
    close: () => closeSync(file),
  }
}

interface LogIndex {
  readonly pageSize: number
  readonly pageCount: number
  /** Offset in the log of each page. */
  readonly positions: ReadonlyMap<number, number>
}

function readIndex(file: number): LogIndex | undefined {
  const header = Buffer.alloc(HEADER_BYTES)
  if (readSync(file, header, 0, HEADER_BYTES, 0) !== HEADER_BYTES) return undefined
  const magic = header.readUInt32BE(0)
  const pageSize = header.readUInt32BE(8)
  if ((magic !== MAGIC_LITTLE_ENDIAN && magic !== MAGIC_BIG_ENDIAN) || !isPageSize(pageSize)) return undefined
  const bigEndian = magic === MAGIC_BIG_ENDIAN
  let checksum = addToChecksum([0, 0], header.subarray(0, 24), bigEndian)
  if (!matches(checksum, header, 24)) return undefined

  const frame = Buffer.alloc(FRAME_HEADER_BYTES + pageSize)
  const { size } = fstatSync(file)
  const positions = new Map<number, number>()
  const uncommitted = new Map<number, number>()
  let pageCount = 0
  for (let offset = HEADER_BYTES; offset + frame.length <= size; offset += frame.length) {
    if (readSync(file, frame, 0, frame.length, offset) !== frame.length) break
    if (frame.compare(header, 16, 24, 8, 16) !== 0) break
    checksum = addToChecksum(checksum, frame.subarray(0, 8), bigEndian)
    checksum = addToChecksum(checksum, frame.subarray(FRAME_HEADER_BYTES), bigEndian)
    if (!matches(checksum, frame, 16)) break
    uncommitted.set(frame.readUInt32BE(0), offset + FRAME_HEADER_BYTES)
    const sizeAfterCommit = frame.readUInt32BE(4)
    if (sizeAfterCommit === 0) continue
    for (const [page, position] of uncommitted) positions.set(page, position)
    uncommitted.clear()
    pageCount = sizeAfterCommit
  }
  return positions.size === 0 ? undefined : { pageSize, pageCount, positions }
}

export function isPageSize(size: number): boolean {
  return size >= 512 && size <= 65_536 && (size & (size - 1)) === 0
}

type Checksum = readonly [number, number]

function addToChecksum([first, second]: Checksum, bytes: Buffer, bigEndian: boolean): Checksum {
  let a = first
  let b = second
  for (let offset = 0; offset + 8 <= bytes.length; offset += 8) {
    a = (a + (bigEndian ? bytes.readUInt32BE(offset) : bytes.readUInt32LE(offset)) + b) >>> 0
    b = (b + (bigEndian ? bytes.readUInt32BE(offset + 4) : bytes.readUInt32LE(offset + 4)) + a) >>> 0
  }
  return [a, b]
}

function matches([first, second]: Checksum, bytes: Buffer, offset: number): boolean {
  return bytes.readUInt32BE(offset) === first && bytes.readUInt32BE(offset + 4) === second
}
