import { describe, expect, test } from "vitest"

import { clipSpans, cutSpans, rowOf, span, wrapSpans } from "./spans.ts"

const bold = (text: string): string => `<${text}>`
const wrapped = (text: string, columns: number): readonly string[] => wrapSpans([span(text)], columns).map(rowOf)

describe("wrapping", () => {
  test.each([
    ["one two three", 7, ["one two", "three"]],
    ["one  two", 8, ["one  two"]],
    ["abcdefghij kl", 4, ["abcd", "efgh", "ij", "kl"]],
    ["a\n\nb\n", 5, ["a", "", "b"]],
    ["日本語 テキスト", 6, ["日本語", "テキス", "ト"]],
    ["ab日本", 4, ["ab日", "本"]],
    ["👩‍👩‍👧👩‍👩‍👧", 2, ["👩‍👩‍👧", "👩‍👩‍👧"]],
    ["é é", 1, ["é", "é"]],
    ["", 5, [""]],
    ["שלום עולם", 5, ["שלום", "עולם"]],
  ])("%j at %i columns", (text, columns, expected) => {
    expect(wrapped(text, columns)).toEqual(expected)
  })

  test("a word in several styles is not broken between them", () => {
    const spans = [span("some wo"), span("rd", bold), span("s here")]
    expect(wrapSpans(spans, 8).map(rowOf)).toEqual(["some", "wo<rd>s", "here"])
  })

  test("a style that continues on the next row is closed and opened again", () => {
    expect(wrapSpans([span("one two", bold)], 4).map(rowOf)).toEqual(["<one>", "<two>"])
  })
})

test("cutting keeps all spaces", () => {
  expect(cutSpans([span("  a "), span(" bc", bold), span("日本")], 4).map(rowOf)).toEqual(["  a ", "< bc>", "日本"])
})

test("clipping marks what is missing", () => {
  expect(rowOf(clipSpans([span("ab"), span("cd", bold)], 4))).toBe("ab<cd>")
  expect(rowOf(clipSpans([span("ab"), span("cde", bold)], 4))).toBe("ab<c…>")
  expect(rowOf(clipSpans([span("日本語")], 4))).toBe("日…")
})
