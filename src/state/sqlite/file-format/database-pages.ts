import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { errorCode } from "../../../base/system-error.ts"
import { isPageSize, openWriteAheadLog } from "./write-ahead-log.ts"

/** The pages of a database file, read without SQLite. Page numbers start at 1, as in the file format. */
export interface DatabasePages {
  readonly pageSize: number
  /** Bytes of a page that SQLite uses. The rest is reserved for extensions. */
  readonly usableSize: number
  readonly pageCount: number
  /** False when the first 100 bytes are not those of a database: the page size is then the likeliest one. */
  readonly hasHeader: boolean
  /** Reads the newest committed version of a page. The buffer is overwritten by the next call. Undefined when it cannot be read. */
  readonly read: (page: number) => Buffer | undefined
  /**
   * Closing any descriptor of a file gives up the locks that this process holds on it, also those of SQLite. So this comes after all
   * connections to the file.
   */
  readonly close: () => void
}

const HEADER_BYTES = 100

export function openDatabasePages(path: string): DatabasePages {
  const file = openSync(path, "r")
  const log = openWriteAheadLog(`${path}-wal`)
  const { size } = fstatSync(file)
  const header = readHeader(file, log)
  const pageSize = header?.pageSize ?? log?.pageSize ?? likeliestPageSize(file, size)
  const buffer = Buffer.alloc(pageSize)
  return {
    pageSize,
    usableSize: pageSize - (header?.reservedBytes ?? 0),
    pageCount: log?.pageSize === pageSize ? log.pageCount : Math.floor(size / pageSize),
    hasHeader: header !== undefined,
    read: (page) => {
      if (log?.pageSize === pageSize && log.read(page, buffer)) return buffer
      return readFrom(file, buffer, (page - 1) * pageSize) ? buffer : undefined
    },
    close: () => {
      log?.close()
      closeSync(file)
    },
  }
}

interface Header {
  readonly pageSize: number
  readonly reservedBytes: number
}

function readHeader(file: number, log: ReturnType<typeof openWriteAheadLog>): Header | undefined {
  const page = Buffer.alloc(log?.pageSize ?? HEADER_BYTES)
  if (log?.read(1, page) !== true && !readFrom(file, page, 0)) return undefined
  if (page.toString("latin1", 0, 16) !== "SQLite format 3\0") return undefined
  // Fixed values of the format.
  if (page[21] !== 64 || page[22] !== 32 || page[23] !== 32) return undefined
  const stored = page.readUInt16BE(16)
  const pageSize = stored === 1 ? 65_536 : stored
  return isPageSize(pageSize) ? { pageSize, reservedBytes: page[20] ?? 0 } : undefined
}

/** The size at which most pages look like those of a table or an index. */
function likeliestPageSize(file: number, size: number): number {
  const shares = PAGE_SIZES.map((pageSize) => {
    const pages = Math.floor(size / pageSize)
    const step = Math.max(1, Math.floor(pages / SAMPLED_PAGES))
    const page = Buffer.alloc(pageSize)
    let sampled = 0
    let plausible = 0
    for (let number = 1; number < pages; number += step) {
      sampled += 1
      if (readFrom(file, page, number * pageSize) && isTreePage(page)) plausible += 1
    }
    return { pageSize, share: sampled === 0 ? 0 : plausible / sampled }
  })
  // SQLite's default comes first and wins when another size is as likely.
  return shares.reduce((best, next) => (next.share > best.share ? next : best)).pageSize
}

const PAGE_SIZES = [4096, 1024, 512, 2048, 8192, 16_384, 32_768, 65_536]
const SAMPLED_PAGES = 500

/** SQLite fills a page from its end, so the last cell is in the second half. With half or twice the size it is not. */
function isTreePage(page: Buffer): boolean {
  const type = page[0] ?? 0
  if (type !== 0x02 && type !== 0x05 && type !== 0x0a && type !== 0x0d) return false
  const start = type < 0x0a ? 12 : 8
  const cells = page.readUInt16BE(3)
  if (cells === 0 || start + 2 * cells > page.length) return false
  const offsets = Array.from({ length: cells }, (_, index) => page.readUInt16BE(start + 2 * index))
  const last = Math.max(...offsets)
  return last >= page.length / 2 && last < page.length && Math.min(...offsets) >= start + 2 * cells
}

/** False at the end of the file, and where the disk cannot read. */
function readFrom(file: number, buffer: Buffer, position: number): boolean {
  try {
    return readSync(file, buffer, 0, buffer.length, position) === buffer.length
  } catch (error) {
    if (errorCode(error) !== "EIO") throw error
    return false
  }
}
