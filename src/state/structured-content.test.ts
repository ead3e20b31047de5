import { expect, test } from "vitest"
import { contentForMessage, contentPreview, decodeContent, encodeContent } from "./structured-content.ts"

const parts = [
  { type: "text", text: "look at" },
  { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
  { type: "text", text: "this 图" },
]

function silent(): void {}

test.each([
  ["plain", "plain"],
  ["", ""],
  [null, null],
  [undefined, null],
  [7, "7"],
  [true, "1"],
  [[{ type: "text", text: "é" }], '\u0000json:[{"type":"text","text":"é"}]'],
  [{ a: 1 }, '\u0000json:{"a":1}'],
  ["half \uD83D", "half \uFFFD"],
])("%j is stored as %j", (content, stored) => {
  expect(encodeContent(content)).toBe(stored)
})

test("structured content survives the round trip", () => {
  expect(decodeContent(encodeContent(parts), silent)).toEqual(parts)
})

test("JSON written by the Python edition decodes to the same parts", () => {
  expect(decodeContent('\u0000json:[{"type": "text", "text": "\\u56fe"}]', silent)).toEqual([
    { type: "text", text: "图" },
  ])
})

test("invalid JSON after the prefix is returned unchanged with a warning", () => {
  const warnings: string[] = []
  expect(decodeContent("\u0000json:[broken", (message) => warnings.push(message))).toBe("\u0000json:[broken")
  expect(warnings).toHaveLength(1)
})

test.each([
  ["words", "words"],
  [parts, "look at this 图"],
  [[parts[1]], "[multimodal content]"],
  [{ _multimodal: true, content: parts, text_summary: "s" }, "look at this 图"],
  [null, ""],
  [12, "12"],
])("the preview of %j is %j", (decoded, preview) => {
  expect(contentPreview(decoded)).toBe(preview)
})

test("parts of an unknown type become a placeholder", () => {
  expect(contentForMessage([{ type: "input_audio", input_audio: {} }, parts[0]])).toEqual([
    { type: "text", text: "[input_audio content]" },
    { type: "text", text: "look at" },
  ])
})
