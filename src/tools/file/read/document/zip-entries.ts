import type { Entry } from "yauzl"

/** Limits for untrusted archives: entries, bytes per entry, bytes in total, and compression ratio. */
const MAX_ENTRIES = 10_000
const MAX_ENTRY_BYTES = 64 * 1024 * 1024
const MAX_TOTAL_BYTES = 128 * 1024 * 1024
const MAX_RATIO = 250
/** Small files with few different characters compress well and are harmless. */
const RATIO_MATTERS_BYTES = 1024 * 1024

/** Unpacks the selected entries of an archive in memory. Throws when it is broken or exceeds the limits. */
export async function readZipEntries(
  archive: Uint8Array,
  isWanted: (name: string) => boolean,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const { default: yauzl } = await import("yauzl")
  const buffer = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength)
  const zip = await yauzl.fromBufferPromise(buffer, { lazyEntries: true })
  if (zip.entryCount > MAX_ENTRIES) throw new Error(`the archive has ${zip.entryCount} entries`)
  const found = new Map<string, Uint8Array>()
  let total = 0
  for await (const entry of zip.eachEntry()) {
    if (!isWanted(entry.fileName)) continue
    refuseBomb(entry)
    const parts: Buffer[] = []
    let size = 0
    for await (const part of await zip.openReadStreamPromise(entry)) {
      if (!Buffer.isBuffer(part)) continue
      size += part.byteLength
      total += part.byteLength
      if (size > MAX_ENTRY_BYTES || total > MAX_TOTAL_BYTES) throw tooLarge(entry)
      parts.push(part)
    }
    found.set(entry.fileName, Buffer.concat(parts))
  }
  return found
}

function refuseBomb(entry: Entry): void {
  const { uncompressedSize, compressedSize } = entry
  const grows = uncompressedSize > RATIO_MATTERS_BYTES && uncompressedSize > compressedSize * MAX_RATIO
  if (uncompressedSize > MAX_ENTRY_BYTES || grows) throw tooLarge(entry)
}

function tooLarge(entry: Entry): Error {
  return new Error(`${entry.fileName} is too large when it is unpacked`)
}
