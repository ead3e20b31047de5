/**
 * The header of an image, read without decoding, so that a decompression bomb is recognised before it fills the memory.
 */
export interface ImageHeader {
  readonly type: "png" | "jpeg" | "gif" | "webp"
  /** As stored; viewers swap width and height for an orientation of 5 or more. */
  readonly width: number
  readonly height: number
  /** The EXIF orientation, 1 (upright) to 8. */
  readonly orientation: number
}

/** Returns undefined unless the bytes are a PNG, JPEG, GIF or WebP image. */
export function readImageHeader(bytes: Uint8Array): ImageHeader | undefined {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    const header = png(view) ?? jpeg(view) ?? gif(view) ?? webp(view)
    return header !== undefined && header.width > 0 && header.height > 0 ? header : undefined
  } catch (error) {
    // The file ends inside its header.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

export function mediaTypeOf({ type }: Pick<ImageHeader, "type">): string {
  return `image/${type}`
}

const UPRIGHT = 1
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

function png(view: Buffer): ImageHeader | undefined {
  if (!view.subarray(0, 8).equals(PNG_SIGNATURE)) return undefined
  return { type: "png", width: view.readUInt32BE(16), height: view.readUInt32BE(20), orientation: UPRIGHT }
}

function gif(view: Buffer): ImageHeader | undefined {
  if (!/^GIF8[79]a$/.test(view.toString("latin1", 0, 6))) return undefined
  return { type: "gif", width: view.readUInt16LE(6), height: view.readUInt16LE(8), orientation: UPRIGHT }
}

const WEBP_FIRST_CHUNK = 12

/** An extended file has a canvas size and an image size; the larger one counts. */
function webp(view: Buffer): ImageHeader | undefined {
  if (view.toString("latin1", 0, 4) !== "RIFF" || view.toString("latin1", 8, 12) !== "WEBP") return undefined
  let [width, height] = [0, 0]
  for (let offset = WEBP_FIRST_CHUNK; offset + 8 <= view.length;) {
    const size = webpChunkSize(view, offset)
    if (size !== undefined) {
      width = Math.max(width, size.width)
      height = Math.max(height, size.height)
    }
    const length = view.readUInt32LE(offset + 4)
    offset += 8 + length + (length % 2)
  }
  return { type: "webp", width, height, orientation: UPRIGHT }
}

function webpChunkSize(view: Buffer, offset: number): { readonly width: number; readonly height: number } | undefined {
  const body = offset + 8
  switch (view.toString("latin1", offset, offset + 4)) {
    case "VP8X":
      return { width: view.readUIntLE(body + 4, 3) + 1, height: view.readUIntLE(body + 7, 3) + 1 }
    case "VP8L": {
      const packed = view.readUInt32LE(body + 1)
      return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 }
    }
    case "VP8 ":
      return { width: view.readUInt16LE(body + 6) & 0x3fff, height: view.readUInt16LE(body + 8) & 0x3fff }
    default:
      return undefined
  }
}

/** Frame headers (0xc0 to 0xcf) contain the size; these markers in their range are not frame headers. */
const NOT_FRAME_HEADERS: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc])
const START_OF_SCAN = 0xda
const EXIF_SEGMENT = 0xe1

function jpeg(view: Buffer): ImageHeader | undefined {
  if (view.length < 4 || view.readUInt16BE(0) !== 0xff_d8) return undefined
  let orientation = UPRIGHT
  for (let offset = 2; offset < view.length;) {
    if (view.readUInt8(offset) !== 0xff) return undefined
    const marker = view.readUInt8(offset + 1)
    if (marker === 0xff) {
      offset += 1
      continue
    }
    if (marker === START_OF_SCAN) return undefined
    const length = view.readUInt16BE(offset + 2)
    if (marker === EXIF_SEGMENT)
      orientation = exifOrientation(view.subarray(offset + 4, offset + 2 + length)) ?? orientation
    if (marker >= 0xc0 && marker <= 0xcf && !NOT_FRAME_HEADERS.has(marker)) {
      return { type: "jpeg", width: view.readUInt16BE(offset + 7), height: view.readUInt16BE(offset + 5), orientation }
    }
    offset += 2 + length
  }
  return undefined
}

const ORIENTATION_TAG = 0x01_12
const ENTRY_BYTES = 12

/** Reads the orientation tag of the first directory; undefined when the segment is damaged. */
function exifOrientation(segment: Buffer): number | undefined {
  if (segment.toString("latin1", 0, 6) !== "Exif\0\0") return undefined
  const tiff = segment.subarray(6)
  const order = tiff.toString("latin1", 0, 2)
  if (order !== "II" && order !== "MM") return undefined
  const short = (offset: number): number => (order === "II" ? tiff.readUInt16LE(offset) : tiff.readUInt16BE(offset))
  try {
    const directory = order === "II" ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
    const entries = short(directory)
    for (let index = 0; index < entries; index += 1) {
      const offset = directory + 2 + index * ENTRY_BYTES
      if (short(offset) !== ORIENTATION_TAG) continue
      const value = short(offset + 8)
      return value >= 1 && value <= 8 ? value : undefined
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return undefined
}
