import fc from "fast-check"
import { expect, test } from "vitest"
import { editableText } from "./editable-text.ts"
import { decodeText, encodeText, encodeLike } from "./text-encoding.ts"

const text = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀", "\n", "\r\n", "\r\n", "\r"), maxLength: 30 })

test("an edit changes only its own region", () => {
  fc.assert(
    fc.property(
      text,
      fc.nat(30),
      fc.nat(30),
      fc.constantFrom("", "x", "x\ny", "x\r\ny\n"),
      (raw, one, other, added) => {
        const file = editableText(raw)
        const [start, end] = [Math.min(one, other), Math.max(one, other)].map((at) => Math.min(at, file.text.length))
        const region = { start: start!, end: end! }
        const edited = file.edited([{ ...region, text: added }])
        const [before, behind] = [
          file.stored({ start: 0, end: region.start }),
          file.stored({ start: region.end, end: file.text.length }),
        ]
        expect(before + file.stored(region) + behind).toBe(raw)
        expect([edited.startsWith(before), edited.endsWith(behind)]).toEqual([true, true])
      },
    ),
    { seed: 3, numRuns: 500 },
  )
})

test.each(["utf-8", "utf-16le", "utf-16be"] as const)("%s goes through decoding and encoding unchanged", (encoding) => {
  fc.assert(
    fc.property(text, fc.boolean(), (content, withBom) => {
      const bom = encoding !== "utf-8" || withBom
      const bytes = encodeText(content, { encoding, bom, crlf: false })
      const decoded = decodeText(bytes)
      expect([decoded.text, decoded.valid, encodeText(decoded.text, decoded.format)]).toEqual([content, true, bytes])
    }),
    { seed: 4, numRuns: 300 },
  )
})

test("new content gets the line endings and byte order mark of the file it replaces", () => {
  const { format: form } = decodeText(new TextEncoder().encode("\u{FEFF}a\r\nb\r\nc\n"))
  expect(form).toEqual({ encoding: "utf-8", bom: true, crlf: true })
  expect(Buffer.from(encodeLike("\u{FEFF}x\ny\r\n", form)).toString()).toBe("\u{FEFF}x\r\ny\r\n")
  expect(decodeText(Uint8Array.from([0xff, 0xfe, 0x00, 0xd8])).valid).toBe(false)
})
