/** What the first bytes of an image say about it. Nothing is decoded, so a size that would fill the memory is known before it does. */
export interface ImageFacts {
  readonly type: "png" | "jpeg" | "gif" | "webp"
  /** As stored; an orientation of 5 and above turns them round when shown. */
  readonly width: number
  readonly height: number
  /** How a camera was held: the EXIF number, 1 (upright) to 8. */
  readonly orientation: number
}

/** Undefined when the bytes are none of the images that models take. */
export function readImageFacts(bytes: Uint8Array): ImageFacts | undefined {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    const facts = png(view) ?? jpeg(view) ?? gif(view) ?? webp(view)
    return facts !== undefined && facts.width > 0 && facts.height > 0 ? facts : undefined
  } catch (error) {
    // A file that ends inside its header.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

export function mediaTypeOf({ type }: Pick<ImageFacts, "type">): string {
  return `image/${type}`
}

const UPRIGHT = 1
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

function png(view: Buffer): ImageFacts | undefined {
  if (!view.subarray(0, 8).equals(PNG_SIGNATURE)) return undefined
  return { type: "png", width: view.readUInt32BE(16), height: view.readUInt32BE(20), orientation: UPRIGHT }
}

function gif(view: Buffer): ImageFacts | undefined {
  if (!/^GIF8[79]a$/.test(view.toString("latin1", 0, 6))) return undefined
  return { type: "gif", width: view.readUInt16LE(6), height: view.readUInt16LE(8), orientation: UPRIGHT }
}

const WEBP_FIRST_CHUNK = 12

/** An extended file names its canvas first and holds a picture that names its own size: the larger one counts. */
function webp(view: Buffer): ImageFacts | undefined {
  if (view.toString("latin1", 0, 4) !== "RIFF" || view.toString("latin1", 8, 12) !== "WEBP") return undefined
  let [width, height] = [0, 0]
  for (let at = WEBP_FIRST_CHUNK; at + 8 <= view.length;) {
    const size = webpChunkSize(view, at)
    if (size !== undefined) {
      width = Math.max(width, size.width)
      height = Math.max(height, size.height)
    }
    const length = view.readUInt32LE(at + 4)
    at += 8 + length + (length % 2)
  }
  return { type: "webp", width, height, orientation: UPRIGHT }
}

function webpChunkSize(view: Buffer, at: number): { readonly width: number; readonly height: number } | undefined {
  const body = at + 8
  switch (view.toString("latin1", at, at + 4)) {
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

/** Frame headers carry the size; these numbers in their row mean something else. */
const NO_FRAME_HEADER: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc])
const START_OF_SCAN = 0xda
const EXIF_SEGMENT = 0xe1

function jpeg(view: Buffer): ImageFacts | undefined {
  if (view.length < 4 || view.readUInt16BE(0) !== 0xff_d8) return undefined
  let orientation = UPRIGHT
  for (let at = 2; at < view.length;) {
    if (view.readUInt8(at) !== 0xff) return undefined
    const marker = view.readUInt8(at + 1)
    if (marker === 0xff) {
      at += 1
      continue
    }
    if (marker === START_OF_SCAN) return undefined
    const length = view.readUInt16BE(at + 2)
    if (marker === EXIF_SEGMENT) orientation = exifOrientation(view.subarray(at + 4, at + 2 + length)) ?? orientation
    if (marker >= 0xc0 && marker <= 0xcf && !NO_FRAME_HEADER.has(marker)) {
      return { type: "jpeg", width: view.readUInt16BE(at + 7), height: view.readUInt16BE(at + 5), orientation }
    }
    at += 2 + length
  }
  return undefined
}

const ORIENTATION_TAG = 0x01_12
const ENTRY_BYTES = 12

/** The tag in the first directory; a damaged one says nothing. */
function exifOrientation(segment: Buffer): number | undefined {
  if (segment.toString("latin1", 0, 6) !== "Exif\0\0") return undefined
  const tiff = segment.subarray(6)
  const order = tiff.toString("latin1", 0, 2)
  if (order !== "II" && order !== "MM") return undefined
  const short = (at: number): number => (order === "II" ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  try {
    const directory = order === "II" ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
    const entries = short(directory)
    for (let index = 0; index < entries; index += 1) {
      const at = directory + 2 + index * ENTRY_BYTES
      if (short(at) !== ORIENTATION_TAG) continue
      const value = short(at + 8)
      return value >= 1 && value <= 8 ? value : undefined
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return undefined
}
