import { readVarint } from "./table-page.ts"

export type StoredValue = null | bigint | number | string | Uint8Array

/** Decodes the columns of a record. Undefined when its sizes contradict each other, so that it is no record. Text is UTF-8. */
export function decodeRecord(record: Buffer): readonly StoredValue[] | undefined {
  const types = readTypes(record)
  if (types === undefined) return undefined
  const total = types.columns.reduce((sum, type) => sum + sizeOf(type), types.end)
  if (total !== record.length) return undefined
  const values: StoredValue[] = []
  let offset = types.end
  for (const type of types.columns) {
    const end = offset + sizeOf(type)
    values.push(decodeValue(type, record.subarray(offset, end)))
    offset = end
  }
  return values
}

function readTypes(record: Buffer): { readonly columns: readonly number[]; readonly end: number } | undefined {
  const header = readVarint(record, 0)
  if (header === undefined || header.value > BigInt(record.length)) return undefined
  const end = Number(header.value)
  const columns: number[] = []
  let offset = header.end
  while (offset < end) {
    const type = readVarint(record, offset)
    // 10 and 11 are reserved, and a size that exceeds the record cannot be one.
    if (type === undefined || type.value === 10n || type.value === 11n) return undefined
    if (type.value > BigInt(2 * record.length + 13)) return undefined
    columns.push(Number(type.value))
    offset = type.end
  }
  return offset === end ? { columns, end } : undefined
}

const INTEGER_SIZES = [0, 1, 2, 3, 4, 6, 8]
const REAL = 7
const ZERO = 8
const ONE = 9

function sizeOf(type: number): number {
  if (type >= 12) return Math.floor((type - 12) / 2)
  return type === REAL ? 8 : (INTEGER_SIZES[type] ?? 0)
}

function decodeValue(type: number, bytes: Buffer): StoredValue {
  if (type === 0) return null
  if (type === ZERO) return 0n
  if (type === ONE) return 1n
  if (type === REAL) return bytes.readDoubleBE(0)
  if (type < REAL) return bytes.length === 8 ? bytes.readBigInt64BE(0) : BigInt(bytes.readIntBE(0, bytes.length))
  return type % 2 === 1 ? bytes.toString("utf8") : Uint8Array.from(bytes)
}
