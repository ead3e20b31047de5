import { describe, expect, test } from "vitest"

import { createThinkScrubber, splitThinkBlocks } from "./think-tags.ts"
import { fc } from "../../test/support/property.ts"

function scrub(deltas: readonly string[]): { visible: string; thought: string } {
  const scrubber = createThinkScrubber()
  const pieces = [...deltas.map((delta) => scrubber.feed(delta)), scrubber.flush()]
  return {
    visible: pieces.map(({ visible }) => visible).join(""),
    thought: pieces.map(({ thought }) => thought).join(""),
  }
}

describe("a stream", () => {
  test.each<[readonly string[], string, string]>([
    [["<think>", "secret", "</think>", "hi"], "hi", "secret"],
    [["<thi", "nk>x</thi", "nk>y"], "y", "x"],
    [["use <think> tags here"], "use <think> tags here", ""],
    [["a <think>b</think> c"], "a  c", "b"],
    [["<think>never closed"], "", "never closed"],
    [["hello <"], "hello <", ""],
    [["x</think> y"], "xy", ""],
    [["x</think>", "  ", " y"], "xy", ""],
    [["ok\n<thinking>z"], "ok\n", "z"],
    [["<REASONING_SCRATCHPAD>a</reasoning_scratchpad>b"], "b", "a"],
    [["<Thought>a</tHOUGHT>b"], "b", "a"],
    [["<think>a</thinking>b"], "b", "a"],
    [["  <think>a</think>b"], "  b", "a"],
    [["<think>a</think>\n\n", "\n", "b\n"], "b\n", "a"],
    [["<think>a</think><think>b</think>c"], "c", "a\n\nb"],
    [["<think>a</think><think>b"], "", "a\n\nb"],
    [["Okay. <think>two\nlines</think>Done"], "Okay. Done", "two\nlines"],
    [["say <think> once\n  <think>x</think>y"], "say <think> once\n  y", "x"],
    [["<thinker>a</thinker> <thi"], "<thinker>a</thinker> <thi", ""],
    [["<think>a </thi"], "", "a </thi"],
    [["1 < 2 <b>c</b>"], "1 < 2 <b>c</b>", ""],
  ])("%j", (deltas, visible, thought) => {
    expect(scrub(deltas)).toEqual({ visible, thought })
  })

  test("text is not held back when it cannot be the start of a tag", () => {
    const scrubber = createThinkScrubber()
    expect(scrubber.feed("hello ")).toEqual({ visible: "hello ", thought: "" })
    expect(scrubber.feed("a < b")).toEqual({ visible: "a < b", thought: "" })
    expect(scrubber.feed("\n<think>plan")).toEqual({ visible: "\n", thought: "plan" })
    expect(scrubber.feed(" more</think>")).toEqual({ visible: "", thought: " more" })
    expect(scrubber.feed("answer")).toEqual({ visible: "answer", thought: "" })
  })

  test("the result does not depend on the split", () => {
    const pieces = fc.constantFrom(
      "<think>",
      "</think>",
      "<THINKING>",
      "</thought>",
      "<",
      "</",
      "think",
      ">",
      "a",
      " ",
      "\n",
      "🤔",
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 25 }), fc.array(fc.nat(120), { maxLength: 12 }), (parts, cuts) => {
        const text = parts.join("")
        const points = [0, ...cuts.filter((cut) => cut < text.length).toSorted((a, b) => a - b), text.length]
        const deltas = points.slice(1).map((end, index) => text.slice(points[index], end))
        expect(scrub(deltas)).toEqual(scrub([text]))
        expect(scrub(text.split(""))).toEqual(scrub([text]))
      }),
      { numRuns: 1000 },
    )
  })
})

describe("a complete text", () => {
  test.each<[string, string, string]>([
    ["hi\n<think>a", "hi", "a"],
    ["<think>\nplan\n</think>\n\nhi\n", "hi", "plan"],
    ["  indented, no tag\n", "  indented, no tag\n", ""],
    ["use <think> tags here ", "use <think> tags here ", ""],
    ["a <think>b</think> c", "a  c", "b"],
    ["<think></think>", "", ""],
  ])("%j", (text, visible, thought) => {
    expect(splitThinkBlocks(text)).toEqual({ visible, thought })
  })
})
