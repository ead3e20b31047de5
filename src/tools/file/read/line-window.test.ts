import fc from "fast-check"
import { expect, test } from "vitest"
import { readLineWindow } from "./line-window.ts"

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size))
}

const page = { first: 1, count: 100, margin: 0, maxLineChars: 100, maxCountedBytes: 1e9 }

test("any window of any text, chunked anywhere, equals a split of the whole text", async () => {
  const text = fc.string({ unit: fc.constantFrom("a", "é", "😀", "\r", "\n", "\r\n", "\u{FEFF}"), maxLength: 40 })
  const numbers = fc.tuple(
    fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: 0, max: 3 }),
  )
  await fc.assert(
    fc.asyncProperty(text, numbers, fc.integer({ min: 1, max: 7 }), async (content, [first, count, margin], size) => {
      const whole = content
        .replace(/^\u{FEFF}/u, "")
        .replaceAll("\r\n", "\n")
        .split("\n")
      if (whole.at(-1) === "") whole.pop()
      const from = Math.max(1, first - margin)
      const bytes = new TextEncoder().encode(content)
      expect(await readLineWindow(pieces(bytes, size), { ...page, first, count, margin })).toEqual({
        lines: whole.slice(from - 1, first + count + margin - 1),
        from,
        totalLines: whole.length,
        countedLines: content.split("\n").length - 1,
        bytes: bytes.length,
        sample: content.replace(/^\u{FEFF}/u, ""),
        replaced: false,
      })
    }),
    { seed: 11, numRuns: 1000 },
  )
})

test.each([1, 2, 3, 1000])("invalid UTF-8 is replaced and reported, in chunks of %d", async (size) => {
  const found = async (...bytes: number[]) => {
    const { lines, replaced } = await readLineWindow(pieces(Uint8Array.from(bytes), size), page)
    return [lines, replaced]
  }
  expect(await found(0x61, 0xe9, 0x62)).toEqual([["a\u{FFFD}b"], true])
  expect(await found(0x61, 0xf0, 0x9f)).toEqual([["a\u{FFFD}"], true])
  // The sign itself, correctly written.
  expect(await found(0xef, 0xbf, 0xbd)).toEqual([["\u{FFFD}"], false])
})

test.each(["utf-16le", "utf-16be"])("%s is known by its byte order mark", async (encoding) => {
  const bytes = Buffer.from("\u{FEFF}grün 😀\r\nblau\n", "utf16le")
  if (encoding === "utf-16be") bytes.swap16()
  expect(await readLineWindow(pieces(bytes, 3), page)).toMatchObject({ lines: ["grün 😀", "blau"], replaced: false })
})

test("memory does not grow with the file: 300 MB without a line feed", async () => {
  const chunk = new Uint8Array(1024 * 1024).fill(0x61)
  async function* endless(): AsyncGenerator<Uint8Array, void, void> {
    for (let index = 0; index < 300; index += 1) yield await Promise.resolve(chunk)
  }
  const before = process.memoryUsage.rss()
  const found = await readLineWindow(endless(), { ...page, maxLineChars: 50 })
  expect([found.lines, found.totalLines]).toEqual([["a".repeat(50)], 1])
  expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 * 1024)
})

test("lines after the window of a very large file are not counted", async () => {
  const chunk = new TextEncoder().encode("line\n".repeat(2000))
  let given = 0
  async function* huge(): AsyncGenerator<Uint8Array, void, void> {
    for (; given < 500; given += 1) yield await Promise.resolve(chunk)
  }
  const found = await readLineWindow(huge(), { ...page, count: 2, maxCountedBytes: 100_000 })
  expect([found.lines, found.totalLines, found.countedLines, given]).toEqual([["line", "line"], undefined, 20_000, 10])
})
