import { PhotonImage } from "@silvia-odwyer/photon-node"

export interface TestImageOptions {
  readonly width: number
  readonly height: number
  readonly type: "png" | "jpeg" | "webp"
  /** From 0 to 255. Noise makes the image hard to compress. */
  readonly noise?: number
  /** 255 is opaque. */
  readonly alpha?: number
}

/** Creates an image that is red on the left and blue on the right, with optional noise. */
export function testImage({ width, height, type, noise = 0, alpha = 255 }: TestImageOptions): Buffer {
  const image = new PhotonImage(pixels({ width, height, noise, alpha }), width, height)
  try {
    if (type === "png") return Buffer.from(image.get_bytes())
    return Buffer.from(type === "jpeg" ? image.get_bytes_jpeg(95) : image.get_bytes_webp())
  } finally {
    image.free()
  }
}

function pixels({ width, height, noise, alpha }: Required<Omit<TestImageOptions, "type">>): Uint8Array {
  const rgba = new Uint8Array(width * height * 4)
  let state = 1
  for (let offset = 0; offset < rgba.length; offset += 4) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff
    const left = (offset / 4) % width < width / 2
    const speck = noise === 0 ? 0 : (state >>> 16) % noise
    rgba.set([(left ? 255 : 0) ^ speck, speck, (left ? 0 : 255) ^ speck, alpha], offset)
  }
  return rgba
}

/** The same image as a GIF. It is not compressed: clear codes keep all LZW codes at eight bits. */
export function testGif(width: number, height: number): Buffer {
  const head = Buffer.from("GIF89a\0\0\0\0\u00f6\0\0", "latin1")
  const frame = Buffer.from(",\0\0\0\0\0\0\0\0\0\u0007", "latin1")
  for (const [buffer, offset] of [
    [head, 6],
    [frame, 5],
  ] as const) {
    buffer.writeUInt16LE(width, offset)
    buffer.writeUInt16LE(height, offset + 2)
  }
  const palette = Buffer.alloc(128 * 3)
  palette.set([255, 0, 0, 0, 0, 255])
  const codes: number[] = []
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    if (pixel % 100 === 0) codes.push(0x80)
    codes.push(pixel % width < width / 2 ? 0 : 1)
  }
  codes.push(0x81)
  const blocks: Buffer[] = []
  for (let start = 0; start < codes.length; start += 255) {
    const block = codes.slice(start, start + 255)
    blocks.push(Buffer.from([block.length, ...block]))
  }
  return Buffer.concat([head, palette, frame, ...blocks, Buffer.from([0, 0x3b])])
}

/** Adds an EXIF orientation (1 to 8) to a JPEG. */
export function jpegWithOrientation(jpeg: Buffer, orientation: number): Buffer {
  const tiff = Buffer.alloc(26)
  tiff.write("MM\0*", "latin1")
  tiff.writeUInt32BE(8, 4)
  tiff.writeUInt16BE(1, 8)
  tiff.writeUInt16BE(0x01_12, 10)
  tiff.writeUInt16BE(3, 12)
  tiff.writeUInt32BE(1, 14)
  tiff.writeUInt16BE(orientation, 18)
  const body = Buffer.concat([Buffer.from("Exif\0\0", "latin1"), tiff])
  const head = Buffer.from([0xff, 0xe1, 0, 0])
  head.writeUInt16BE(body.length + 2, 2)
  return Buffer.concat([jpeg.subarray(0, 2), head, body, jpeg.subarray(2)])
}

/** A PNG that consists only of a header with this size, as in a decompression bomb. */
export function pngHeaderOnly(width: number, height: number): Buffer {
  const png = Buffer.alloc(33)
  png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13])
  png.write("IHDR", 12, "latin1")
  png.writeUInt32BE(width, 16)
  png.writeUInt32BE(height, 20)
  png.set([8, 6], 24)
  return png
}

export function dataUrl(bytes: Uint8Array, mediaType: string): string {
  return `data:${mediaType};base64,${Buffer.from(bytes).toString("base64")}`
}

/** The colours of the four corners, which show how an image was rotated. */
export function cornerColours(bytes: Uint8Array): readonly string[] {
  const image = PhotonImage.new_from_byteslice(bytes)
  const [width, height, rgba] = [image.get_width(), image.get_height(), image.get_raw_pixels()]
  image.free()
  const colour = (x: number, y: number): string => {
    const offset = (y * width + x) * 4
    const [red = 0, , blue = 0] = rgba.subarray(offset, offset + 3)
    return red > blue ? "red" : "blue"
  }
  const [left, right, top, bottom] = [0, width - 1, 0, height - 1]
  return [colour(left, top), colour(right, top), colour(left, bottom), colour(right, bottom)]
}
