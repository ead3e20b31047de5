import type { DatabasePages } from "./database-pages.ts"

/** A row as it is stored: its id and its record, which `decodeRecord` reads. */
export interface StoredRow {
  readonly rowId: bigint
  readonly record: Buffer
}

type PageKind = "leaf" | "interior"

const INTERIOR = 0x05
const LEAF = 0x0d

/** Undefined when the page is none of a table: of an index, without a row, an overflow page, or damaged at its beginning. */
export function tablePageKind(page: Buffer, number: number): PageKind | undefined {
  const start = headerStart(number)
  const type = page[start]
  if (type !== LEAF && type !== INTERIOR) return undefined
  const pointersEnd = start + (type === LEAF ? 8 : 12) + 2 * page.readUInt16BE(start + 3)
  return pointersEnd <= page.length ? (type === LEAF ? "leaf" : "interior") : undefined
}

/** The pages below an interior page, in the order of their row ids. */
export function childPages(page: Buffer, number: number): readonly number[] {
  const start = headerStart(number)
  const children = cellOffsets(page, start + 12, page.readUInt16BE(start + 3)).map((offset) =>
    offset + 4 <= page.length ? page.readUInt32BE(offset) : 0,
  )
  return [...children, page.readUInt32BE(start + 8)]
}

/** The rows of a leaf page. A cell that cannot be one of a row is left out. */
export function* leafRows(pages: DatabasePages, number: number): Generator<StoredRow, void, void> {
  const shared = pages.read(number)
  if (shared === undefined) return
  // Following an overflow chain reads other pages into the same buffer.
  const page = Buffer.from(shared)
  const start = headerStart(number)
  const cells = page.readUInt16BE(start + 3)
  for (const offset of cellOffsets(page, start + 8, cells)) {
    if (offset < start + 8 + 2 * cells) continue
    const row = readRow(page, offset, pages)
    if (row !== undefined) yield row
  }
}

/** The first page starts with the header of the file. */
function headerStart(number: number): number {
  return number === 1 ? 100 : 0
}

function cellOffsets(page: Buffer, start: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => page.readUInt16BE(start + 2 * index))
}

function readRow(page: Buffer, offset: number, pages: DatabasePages): StoredRow | undefined {
  const size = readVarint(page, offset)
  const rowId = size === undefined ? undefined : readVarint(page, size.end)
  if (size === undefined || rowId === undefined) return undefined
  const length = Number(size.value)
  if (length < 1 || length > MAX_RECORD_BYTES) return undefined
  const local = localBytes(length, pages.usableSize)
  const end = rowId.end + local
  if (end + (local < length ? 4 : 0) > pages.usableSize) return undefined
  const start = page.subarray(rowId.end, end)
  const record = local === length ? start : withOverflow(start, { length, first: page.readUInt32BE(end), pages })
  return record === undefined ? undefined : { rowId: BigInt.asIntN(64, rowId.value), record }
}

/** SQLite's own limit. */
const MAX_RECORD_BYTES = 1_000_000_000

/** How many bytes of a record are in the page itself, by the rules of the format. The others are in overflow pages. */
function localBytes(length: number, usable: number): number {
  const most = usable - 35
  if (length <= most) return length
  const least = Math.floor(((usable - 12) * 32) / 255) - 23
  const local = least + ((length - least) % (usable - 4))
  return local <= most ? local : least
}

/** Undefined when the chain of overflow pages is longer or shorter than the record. */
function withOverflow(
  start: Buffer,
  { length, first, pages }: { readonly length: number; readonly first: number; readonly pages: DatabasePages },
): Buffer | undefined {
  const content = pages.usableSize - 4
  if (Math.ceil((length - start.length) / content) > pages.pageCount) return undefined
  const parts = [Buffer.from(start)]
  let missing = length - start.length
  let next = first
  while (missing > 0) {
    const page = next < 2 || next > pages.pageCount ? undefined : pages.read(next)
    if (page === undefined) return undefined
    const part = Math.min(missing, content)
    parts.push(Buffer.from(page.subarray(4, 4 + part)))
    missing -= part
    next = page.readUInt32BE(0)
  }
  return next === 0 ? Buffer.concat(parts) : undefined
}

/** Reads an integer of one to nine bytes. Undefined at the end of the buffer. */
export function readVarint(bytes: Buffer, start: number): { readonly value: bigint; readonly end: number } | undefined {
  let value = 0
  // Most are short, and numbers are faster than bigints.
  for (let index = 0; index < 4; index += 1) {
    const byte = bytes[start + index]
    if (byte === undefined) return undefined
    value = value * 128 + (byte & 0x7f)
    if (byte < 0x80) return { value: BigInt(value), end: start + index + 1 }
  }
  let long = BigInt(value)
  for (let index = 4; index < 9; index += 1) {
    const byte = bytes[start + index]
    if (byte === undefined) return undefined
    long = index === 8 ? (long << 8n) | BigInt(byte) : (long << 7n) | BigInt(byte & 0x7f)
    if (byte < 0x80 || index === 8) return { value: long, end: start + index + 1 }
  }
  return undefined
}
