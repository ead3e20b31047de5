import { expect, test } from "vitest"

import { bold, dim } from "./text-layout.ts"
import { createPlainStream, plainText, styledText } from "./printable-text.ts"

test.each([
  ["a colour", "\u001B[41mred\u001B[49m", "red"],
  ["clearing the screen", "a\u001B[2J\u001B[Hb", "ab"],
  ["a title", "a\u001B]0;evil\u0007b", "ab"],
  ["the clipboard", "a\u001B]52;c;ZXZpbA==\u001B\\b", "ab"],
  ["an 8-bit sequence", "a\u009B2Jb", "ab"],
  ["a sequence without an end", "a\u001B]0;evil", "a0;evil"],
  ["backspaces and a carriage return", "safe\b\b\b\bevil\rgone", "safeevilgone"],
  ["the bell and NUL", "a\u0007b\0c", "abc"],
  ["reversed text", "a\u202Egpj.exe\u2066b\u2069", "agpj.exeb"],
  ["concealed text", "\u001B[8mhidden\u001B[0m", "hidden"],
  ["a colour that Hermes uses", "a \u001B[31mred\u001B[0m b", "a red b"],
  ["a sequence inside another one", "a\u001B\u001B[31m[2Jb", "a[2Jb"],
])("%s is not interpreted", (_what, text, shown) => {
  expect(plainText(text)).toBe(shown)
  expect(plainText(styledText(text))).toBe(shown)
})

test("lines, tabs, other scripts and, in a styled line, Hermes' own styles are kept", () => {
  const text = `${bold("title", true)}\n\tשלום 日本 👩‍👩‍👧 ${dim("note", true)}\n`
  expect(styledText(text)).toBe(text)
  expect(plainText("a\r\n\tשלום 日本")).toBe("a\n\tשלום 日本")
})

test("a style inside styled text is removed", () => {
  expect(bold("a\u001B[0m\u001B[31mb", true)).toBe(bold("ab", true))
  expect(dim("a\u001B[0m\u001B[31mb", true)).toBe(dim("ab", true))
})

test.each([
  ["a colour", "a\u001B[31mred\u001B[0mb", "aredb"],
  ["a title", "a\u001B]0;owned\u001B\\b", "ab"],
  ["the clipboard", "a\u001B]52;c;ZXZpbA==\u0007b", "ab"],
  ["an 8-bit sequence", "a\u009B31mb", "ab"],
  ["a device control string", "a\u001BPq#0\u001B\\b", "ab"],
])("%s is removed however a stream is cut", (_what, text, shown) => {
  for (let cut = 1; cut < text.length; cut += 1) {
    const stream = createPlainStream()
    expect(stream.feed(text.slice(0, cut)) + stream.feed(text.slice(cut)) + stream.end()).toBe(shown)
  }
  const stream = createPlainStream()
  const parts = Array.from(text, (char) => stream.feed(char))
  expect(parts.join("") + stream.end()).toBe(shown)
})

test("a sequence without an end does not hold the rest of a stream back", () => {
  const stream = createPlainStream()
  const shown = Array.from({ length: 1000 }, () => stream.feed("\u001B]0;evil text ")).join("")
  expect(shown.length).toBeGreaterThan(5000)
  expect(shown + stream.end()).not.toContain("\u001B")
})
