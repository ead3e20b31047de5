import { describe, expect, test } from "vitest"

import { cornerColours, hollowPng, testGif, testImage, turnedJpeg } from "../../../test/support/test-image.ts"
import { readImageFacts } from "./image-header.ts"
import { shrinkImage } from "./shrink-image.ts"
import { upright } from "./shrink-pixels.ts"

const { signal } = new AbortController()
const ROOMY = { maxChars: 4_000_000, maxSide: 8000 }

async function shrunk(bytes: Uint8Array, limits: { readonly maxChars: number; readonly maxSide: number }) {
  const copy = await shrinkImage(bytes, limits, { signal })
  if (!copy.ok) throw new Error(copy.error)
  const { mediaType, width, height } = copy.value
  const facts = readImageFacts(copy.value.bytes)
  expect(facts).toMatchObject({ width, height, type: mediaType.slice("image/".length), orientation: 1 })
  expect(Buffer.from(copy.value.bytes).toString("base64").length).toBeLessThanOrEqual(limits.maxChars)
  return copy.value
}

describe("a copy keeps to both limits", () => {
  test.each(["png", "jpeg", "webp"] as const)("%s with a side that is too long", async (type) => {
    const image = testImage({ width: 900, height: 300, type })
    const { width, height } = await shrunk(image, { ...ROOMY, maxSide: 600 })
    expect([width, height]).toEqual([600, 200])
  })

  test("the first frame of a GIF", async () => {
    const copy = await shrunk(testGif(300, 100), { ...ROOMY, maxSide: 60 })
    expect([copy.width, copy.height, cornerColours(copy.bytes)]).toEqual([60, 20, ["red", "blue", "red", "blue"]])
  })

  test("with too many bytes: a photograph loses quality before size", async () => {
    const image = testImage({ width: 400, height: 300, type: "jpeg", noise: 60 })
    const copy = await shrunk(image, { maxChars: Math.floor(image.length * 0.9), maxSide: 8000 })
    expect(copy).toMatchObject({ mediaType: "image/jpeg", width: 400, height: 300 })
  })

  test("a drawing stays a PNG with its transparency", async () => {
    const image = testImage({ width: 800, height: 600, type: "png", alpha: 100 })
    const copy = await shrunk(image, { ...ROOMY, maxSide: 400 })
    expect([copy.mediaType, cornerColours(copy.bytes)]).toEqual(["image/png", ["red", "blue", "red", "blue"]])
  })

  test("noise in a PNG does not fit as one and becomes a JPEG", async () => {
    const image = testImage({ width: 600, height: 600, type: "png", noise: 255 })
    expect(await shrunk(image, { maxChars: 300_000, maxSide: 8000 })).toMatchObject({ mediaType: "image/jpeg" })
  })

  test("the same image gives the same bytes", async () => {
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
])("a photograph with orientation %i stands upright in the copy", async (orientation, size, colours) => {
  const photograph = turnedJpeg(testImage({ width: 800, height: 400, type: "jpeg" }), orientation)
  const copy = await shrunk(photograph, { ...ROOMY, maxSide: 400 })
  expect([[copy.width, copy.height], cornerColours(copy.bytes)]).toEqual([size, colours])
})

/** Two rows of three; the letters stand for pixels. */
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
  const turned = upright({ width: 3, height: 2, rgba }, orientation)
  const letters = [...turned.rgba].filter((_value, index) => index % 4 === 0).map((code) => String.fromCharCode(code))
  const rows = Array.from({ length: turned.height }, (_row, y) =>
    letters.slice(y * turned.width, (y + 1) * turned.width).join(""),
  )
  expect(rows.join("/")).toBe(expected)
})

test.each<[string, Uint8Array, RegExp]>([
  ["a bomb is not opened", hollowPng(20_000, 20_000), /^it has 400 million pixels/],
  ["a file that breaks the decoder", hollowPng(100, 100), /^it could not be decoded/],
  [
    "a JPEG that ends early",
    testImage({ width: 90, height: 90, type: "jpeg" }).subarray(0, 300),
    /^it could not be decoded/,
  ],
  ["no image at all", Buffer.from("hello"), /^it is no PNG, JPEG, GIF or WebP image$/],
])("%s: the reason is told", async (_name, bytes, reason) => {
  const copy = await shrinkImage(bytes, { ...ROOMY, maxSide: 50 }, { signal })
  expect(copy).toEqual({ ok: false, error: expect.stringMatching(reason) as string })
})

test("what can never be small enough is told", async () => {
  const image = testImage({ width: 300, height: 300, type: "png", noise: 255 })
  expect(await shrinkImage(image, { maxChars: 100, maxSide: 300 }, { signal })).toEqual({
    ok: false,
    error: "no copy of it is small enough",
  })
})

test("the person may leave meanwhile", async () => {
  const leaving = new AbortController()
  const image = testImage({ width: 2000, height: 2000, type: "png" })
  const copy = shrinkImage(image, { ...ROOMY, maxSide: 1000 }, { signal: leaving.signal })
  leaving.abort()
  expect((await copy).ok).toBe(false)
})
