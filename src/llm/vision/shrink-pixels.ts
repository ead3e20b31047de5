import { PhotonImage, resize, SamplingFilter } from "@silvia-odwyer/photon-node"

import type { ImageHeader } from "./image-header.ts"
import type { ImageLimits } from "./image-limits.ts"

export interface ShrunkImage {
  readonly mediaType: "image/png" | "image/jpeg"
  readonly bytes: Uint8Array
  readonly width: number
  readonly height: number
}

/** Models use no higher resolution, so an image with too many bytes starts at this side length. */
const MAX_USEFUL_SIDE = 4096
const SCALES: readonly number[] = [1, 0.75, 0.5, 0.35, 0.25, 0.12]
const QUALITIES: readonly number[] = [85, 70, 50]
/** A PNG that does not fit at these scales is a photo and is encoded as JPEG. */
const PNG_SCALES: ReadonlySet<number> = new Set([1, 0.75])

/**
 * Returns the image upright and within the limits, or undefined when nothing fits. Takes seconds and hundreds of
 * megabytes, so it runs in a worker thread. Deterministic, because providers cache by prefix.
 */
export function shrinkPixels(bytes: Uint8Array, header: ImageHeader, limits: ImageLimits): ShrunkImage | undefined {
  const original = PhotonImage.new_from_byteslice(bytes)
  const longer = Math.max(original.get_width(), original.get_height())
  const tooManyBytes = base64Length(bytes.length) > limits.maxChars
  const start = Math.min(longer, limits.maxSide, tooManyBytes ? MAX_USEFUL_SIDE : longer)
  for (const scale of SCALES) {
    const pixels = applyOrientation(scaledTo(original, (start * scale) / longer), header.orientation)
    const fitting = encoded(pixels, { limits, asPng: header.type !== "jpeg" && PNG_SCALES.has(scale) })
    if (fitting !== undefined) return fitting
  }
  return undefined
}

interface Pixels {
  readonly width: number
  readonly height: number
  /** Four bytes each: red, green, blue, alpha. */
  readonly rgba: Uint8Array
}

function scaledTo(image: PhotonImage, factor: number): Pixels {
  if (factor >= 1) return pixelsOf(image)
  const size = (side: number): number => Math.max(1, Math.floor(side * factor))
  const scaled = resize(image, size(image.get_width()), size(image.get_height()), SamplingFilter.CatmullRom)
  const pixels = pixelsOf(scaled)
  scaled.free()
  return pixels
}

function pixelsOf(image: PhotonImage): Pixels {
  return { width: image.get_width(), height: image.get_height(), rgba: image.get_raw_pixels() }
}

function encoded(
  pixels: Pixels,
  { limits, asPng }: { readonly limits: ImageLimits; readonly asPng: boolean },
): ShrunkImage | undefined {
  const { width, height } = pixels
  const fits = (bytes: Uint8Array): boolean => base64Length(bytes.length) <= limits.maxChars
  if (asPng) {
    const image = new PhotonImage(pixels.rgba, width, height)
    const bytes = image.get_bytes()
    image.free()
    if (fits(bytes)) return { mediaType: "image/png", bytes, width, height }
  }
  const image = new PhotonImage(overWhite(pixels.rgba), width, height)
  try {
    for (const quality of QUALITIES) {
      const bytes = image.get_bytes_jpeg(quality)
      if (fits(bytes)) return { mediaType: "image/jpeg", bytes, width, height }
    }
    return undefined
  } finally {
    image.free()
  }
}

/** JPEG has no transparency; transparent pixels would get arbitrary colours. */
function overWhite(rgba: Uint8Array): Uint8Array {
  const flat = rgba.slice()
  for (let offset = 0; offset < flat.length; offset += 4) {
    const alpha = flat[offset + 3] ?? 255
    if (alpha === 255) continue
    for (let channel = offset; channel < offset + 3; channel += 1) {
      flat[channel] = Math.round(((flat[channel] ?? 0) * alpha + 255 * (255 - alpha)) / 255)
    }
    flat[offset + 3] = 255
  }
  return flat
}

/** Rotates and mirrors the pixels like an image viewer, because the copy has no EXIF orientation. */
export function applyOrientation(pixels: Pixels, orientation: number): Pixels {
  const turn = TURNS[orientation]
  if (turn === undefined) return pixels
  const { width, height } = pixels
  const [newWidth, newHeight] = orientation >= 5 ? [height, width] : [width, height]
  const from = new Uint32Array(pixels.rgba.buffer, pixels.rgba.byteOffset, width * height)
  const to = new Uint32Array(newWidth * newHeight)
  for (let y = 0; y < newHeight; y += 1) {
    for (let x = 0; x < newWidth; x += 1) {
      const [sourceX, sourceY] = turn(x, y, { right: width - 1, bottom: height - 1 })
      to[y * newWidth + x] = from[sourceY * width + sourceX] ?? 0
    }
  }
  return { width: newWidth, height: newHeight, rgba: new Uint8Array(to.buffer) }
}

type Turn = (x: number, y: number, edge: { readonly right: number; readonly bottom: number }) => [number, number]

/** The stored position of a pixel of the upright image, by EXIF orientation. */
const TURNS: Readonly<Record<number, Turn>> = {
  2: (x, y, { right }) => [right - x, y],
  3: (x, y, { right, bottom }) => [right - x, bottom - y],
  4: (x, y, { bottom }) => [x, bottom - y],
  5: (x, y) => [y, x],
  6: (x, y, { bottom }) => [y, bottom - x],
  7: (x, y, { right, bottom }) => [right - y, bottom - x],
  8: (x, y, { right }) => [right - y, x],
}

export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3)
}
