import { expect, test } from "vitest"

import { pngHeaderOnly, testImage, jpegWithOrientation } from "../../../test/support/test-image.ts"
import { readImageHeader } from "./image-header.ts"

const JPEG = testImage({ width: 31, height: 17, type: "jpeg" })

function gifHeader(width: number, height: number): Buffer {
  const header = Buffer.from("GIF89a\0\0\0\0\0\0\0", "latin1")
  header.writeUInt16LE(width, 6)
  header.writeUInt16LE(height, 8)
  return header
}

/** An extended file: the canvas size, then a lossless image whose size may be larger. */
function extendedWebp(canvas: [number, number], image: [number, number]): Buffer {
  const file = Buffer.alloc(12 + 18 + 14)
  file.write("RIFF\0\0\0\0WEBPVP8X", "latin1")
  file.writeUInt32LE(10, 16)
  file.writeUIntLE(canvas[0] - 1, 24, 3)
  file.writeUIntLE(canvas[1] - 1, 27, 3)
  file.write("VP8L", 30, "latin1")
  file.writeUInt32LE(5, 34)
  file.writeUInt8(0x2f, 38)
  file.writeUInt32LE((image[0] - 1) | ((image[1] - 1) << 14), 39)
  return file
}

test.each<[string, Buffer, ReturnType<typeof readImageHeader>]>([
  ["a PNG", testImage({ width: 12, height: 34, type: "png" }), { type: "png", width: 12, height: 34, orientation: 1 }],
  ["a JPEG", JPEG, { type: "jpeg", width: 31, height: 17, orientation: 1 }],
  ["a JPEG with an orientation", jpegWithOrientation(JPEG, 6), { type: "jpeg", width: 31, height: 17, orientation: 6 }],
  [
    "a JPEG with an invalid orientation",
    jpegWithOrientation(JPEG, 9),
    { type: "jpeg", width: 31, height: 17, orientation: 1 },
  ],
  [
    "a WebP",
    testImage({ width: 40, height: 30, type: "webp" }),
    { type: "webp", width: 40, height: 30, orientation: 1 },
  ],
  [
    "a WebP whose image is larger than its canvas",
    extendedWebp([10, 20], [16_000, 16_001]),
    { type: "webp", width: 16_000, height: 16_001, orientation: 1 },
  ],
  ["a GIF", gifHeader(640, 480), { type: "gif", width: 640, height: 480, orientation: 1 }],
  [
    "a decompression bomb",
    pngHeaderOnly(100_000, 100_000),
    { type: "png", width: 100_000, height: 100_000, orientation: 1 },
  ],
  ["a PNG with width 0", pngHeaderOnly(0, 5), undefined],
  ["a PNG that ends inside its header", pngHeaderOnly(5, 5).subarray(0, 18), undefined],
  ["a JPEG that ends before its size", JPEG.subarray(0, 20), undefined],
  ["text", Buffer.from("hello, world"), undefined],
  ["an empty file", Buffer.alloc(0), undefined],
])("%s", (_name, bytes, expected) => {
  expect(readImageHeader(bytes)).toEqual(expected)
})
