import { describe, expect, test } from "vitest"

import {
  cornerColours,
  pngHeaderOnly,
  testGif,
  testImage,
  jpegWithOrientation,
} from "../../../test/support/test-image.ts"
import { readImageHeader } from "./image-header.ts"
import { shrinkImage } from "./shrink-image.ts"
import { applyOrientation } from "./shrink-pixels.ts"

const { signal } = new AbortController()
const ROOMY = { maxChars: 4_000_000, maxSide: 8000 }

async function shrunk(bytes: Uint8Array, limits: { readonly maxChars: number; readonly maxSide: number }) {
  const copy = await shrinkImage(bytes, limits, { signal })
  if (!copy.ok) throw new Error(copy.error)
  const { mediaType, width, height } = copy.value
  const facts = readImageHeader(copy.value.bytes)
  expect(facts).toMatchObject({ width, height, type: mediaType.slice("image/".length), orientation: 1 })
  expect(Buffer.from(copy.value.bytes).toString("base64").length).toBeLessThanOrEqual(limits.maxChars)
  return copy.value
}

describe("a copy is within both limits", () => {
  test.each(["png", "jpeg", "webp"] as const)("%s with a side that is too long", async (type) => {
    const image = testImage({ width: 900, height: 300, type })
    const { width, height } = await shrunk(image, { ...ROOMY, maxSide: 600 })
    expect([width, height]).toEqual([600, 200])
  })

  test("the first frame of a GIF", async () => {
    const copy = await shrunk(testGif(300, 100), { ...ROOMY, maxSide: 60 })
    expect([copy.width, copy.height, cornerColours(copy.bytes)]).toEqual([60, 20, ["red", "blue", "red", "blue"]])
  })

  test("with too many bytes: a photo loses quality before size", async () => {
    const image = testImage({ width: 400, height: 300, type: "jpeg", noise: 60 })
    const copy = await shrunk(image, { maxChars: Math.floor(image.length * 0.9), maxSide: 8000 })
    expect(copy).toMatchObject({ mediaType: "image/jpeg", width: 400, height: 300 })
  })

  test("a drawing stays a PNG with its transparency", async () => {
    const image = testImage({ width: 800, height: 600, type: "png", alpha: 100 })
    const copy = await shrunk(image, { ...ROOMY, maxSide: 400 })
    expect([copy.mediaType, cornerColours(copy.bytes)]).toEqual(["image/png", ["red", "blue", "red", "blue"]])
  })

  test("a PNG of noise becomes a JPEG", async () => {
    const image = testImage({ width: 600, height: 600, type: "png", noise: 255 })
    expect(await shrunk(image, { maxChars: 300_000, maxSide: 8000 })).toMatchObject({ mediaType: "image/jpeg" })
  })

  test("the same image results in the same bytes", async () => {
    const image = testImage({ width: 500, height: 500, type: "png", noise: 200 })
    const limits = { maxChars: 200_000, maxSide: 400 }
    expect(await shrunk(image, limits)).toEqual(await shrunk(image, limits))
  })
})

test.each<[number, [number, number], readonly string[]]>([
  [1, [400, 200], ["red", "blue", "red", "blue"]],
  [2, [400, 200], ["blue", "red", "blue", "red"]],
  [3, [400, 200], ["blue", "red", "blue", "red"]],
  [6, [200, 400], ["red", "red", "blue", "blue"]],
  [8, [200, 400], ["blue", "blue", "red", "red"]],
])("a photo with orientation %i is upright in the copy", async (orientation, size, colours) => {
  const photograph = jpegWithOrientation(testImage({ width: 800, height: 400, type: "jpeg" }), orientation)
  const copy = await shrunk(photograph, { ...ROOMY, maxSide: 400 })
  expect([[copy.width, copy.height], cornerColours(copy.bytes)]).toEqual([size, colours])
})

/** Two rows of three pixels, as letters. */
test.each([
  [1, "abc/def"],
  [2, "cba/fed"],
  [3, "fed/cba"],
  [4, "def/abc"],
  [5, "ad/be/cf"],
  [6, "da/eb/fc"],
  [7, "fc/eb/da"],
  [8, "cf/be/ad"],
])("orientation %i", (orientation, expected) => {
  const rgba = new Uint8Array([97, 98, 99, 100, 101, 102].flatMap((letter) => [letter, 0, 0, 255]))
  const turned = applyOrientation({ width: 3, height: 2, rgba }, orientation)
  const letters = [...turned.rgba].filter((_value, index) => index % 4 === 0).map((code) => String.fromCharCode(code))
  const rows = Array.from({ length: turned.height }, (_row, y) =>
    letters.slice(y * turned.width, (y + 1) * turned.width).join(""),
  )
  expect(rows.join("/")).toBe(expected)
})

test.each<[string, Uint8Array, RegExp]>([
  ["a decompression bomb is not decoded", pngHeaderOnly(20_000, 20_000), /^it has 400 million pixels/],
  ["a file that crashes the decoder", pngHeaderOnly(100, 100), /^it could not be decoded/],
  [
    "a JPEG that ends early",
    testImage({ width: 90, height: 90, type: "jpeg" }).subarray(0, 300),
    /^it could not be decoded/,
  ],
  ["not an image", Buffer.from("hello"), /^it is not a PNG, JPEG, GIF or WebP image$/],
])("%s: returns the reason", async (_name, bytes, reason) => {
  const copy = await shrinkImage(bytes, { ...ROOMY, maxSide: 50 }, { signal })
  expect(copy).toEqual({ ok: false, error: expect.stringMatching(reason) as string })
})

test("an image that never fits returns the reason", async () => {
  const image = testImage({ width: 300, height: 300, type: "png", noise: 255 })
  expect(await shrinkImage(image, { maxChars: 100, maxSide: 300 }, { signal })).toEqual({
    ok: false,
    error: "no copy is small enough",
  })
})

test("an abort ends the work", async () => {
  const controller = new AbortController()
  const image = testImage({ width: 2000, height: 2000, type: "png" })
  const copy = shrinkImage(image, { ...ROOMY, maxSide: 1000 }, { signal: controller.signal })
  controller.abort()
  expect((await copy).ok).toBe(false)
})
