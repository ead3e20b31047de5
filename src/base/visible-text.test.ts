import { expect, test } from "vitest"

import { visibleText } from "./visible-text.ts"

test.each([
  ["control characters", "\u001B[2K\rls\0", String.raw`\u{1B}[2K\u{D}ls\u{0}`, /escape.*\n.*carriage return/u],
  ["an 8-bit sequence", "\u009B2J", String.raw`\u{9B}2J`, /terminal sequence introducer/u],
  ["direction marks", "a\u202Eb\u2066\u200F", String.raw`a\u{202E}b\u{2066}\u{200F}`, /right-to-left override/u],
  ["zero-width characters", "r\u200Bm\uFEFF\u00AD", String.raw`r\u{200B}m\u{FEFF}\u{AD}`, /zero-width space/u],
  ["unusual spaces", "a\u00A0b\u3000c\u2028d\u2800", String.raw`a\u{A0}b\u{3000}c\u{2028}d\u{2800}`, /no-break space/u],
  [
    "tag characters",
    "x\u{E0041}\u{E0041}",
    String.raw`x\u{E0041}\u{E0041}`,
    /^\\u\{E0041\}: invisible tag.*, 2 times$/u,
  ],
  ["variation selectors", "x\uFE0Fy\u{E0100}", String.raw`x\u{FE0F}y\u{E0100}`, /variation selector/u],
  ["private and unassigned characters", "\uE000\uFFFE\uD800", String.raw`\u{E000}\u{FFFE}\u{D800}`, /private-use/u],
  ["letters without a shape", "a\u3164\uFFA0", String.raw`a\u{3164}\u{FFA0}`, /Hangul filler/u],
  ["marks that pile up", `z${"\u0351".repeat(6)}`, `z${"\u0351".repeat(4)}${String.raw`\u{351}`.repeat(2)}`, /mark/u],
  ["marks that strike through", "a\u0338 \u0301", String.raw`a\u{338} \u{301}`, /combining mark/u],
  [
    "a Cyrillic letter in a Latin word",
    "rm p\u0430th",
    String.raw`rm p\u{430}th`,
    /Cyrillic letter that looks like a/u,
  ],
  ["a Greek letter in a Latin word", "l\u03BFg", String.raw`l\u{3BF}g`, /Greek letter that looks like o/u],
  [
    "a word of look-alikes alone",
    "\u0441\u0440 a b",
    String.raw`\u{441}\u{440} a b`,
    /looks like c.*\n.*looks like p/u,
  ],
  ["full-width letters", "ｒｍ －ｒ", String.raw`\u{FF52}\u{FF4D} \u{FF0D}\u{FF52}`, /looks like r, 2 times/u],
  ["mathematical letters", "𝐫m ⅼs", String.raw`\u{1D42B}m \u{217C}s`, /looks like r/u],
  ["punctuation", "a∕b x\u037E y", String.raw`a\u{2215}b x\u{37E} y`, /looks like \/.*\n.*looks like ;/u],
  ["punctuation after an escaped character", "\u200B好，a", String.raw`\u{200B}好，a`, /zero-width/u],
])("%s", (_name, text, shown, note) => {
  const visible = visibleText(text)
  expect(visible.text).toBe(shown)
  expect(visible.notes.join("\n")).toMatch(note)
})

test.each([
  "rm -rf build\n\tx",
  "grün naïve e\u0301 – “quoted” … ™ € m²",
  "git commit -m 'исправил ошибку с парсером'",
  "你好，世界！（测试） API接口 안녕",
  "echo 👩‍👩‍👧 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  "สวัสดี नमस्ते Việt",
])("ordinary text stays as it is: %s", (text) => {
  expect(visibleText(text)).toEqual({ text, notes: [] })
})

test("text from right to left stays, with a note", () => {
  expect(visibleText("echo שלום")).toEqual({
    text: "echo שלום",
    notes: ["text from right to left may be shown in another order"],
  })
})

test("the notes are bounded", () => {
  const many = Array.from({ length: 100 }, (_, index) => String.fromCodePoint(0xe000 + index)).join("")
  expect(visibleText(many).notes).toHaveLength(13)
  expect(visibleText(many).notes.at(-1)).toBe("and 88 other unusual characters")
})
