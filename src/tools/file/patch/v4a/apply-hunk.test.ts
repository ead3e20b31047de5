import { expect, test } from "vitest"
import { applyHunk } from "./apply-hunk.ts"
import { parsePatch } from "./parse-patch.ts"

/** One hunk, written as in a patch. */
const apply = (file: string, hunk: string) => {
  const parsed = parsePatch(`*** Update File: f\n${hunk}`)
  if (!parsed.ok || parsed.value[0]?.kind !== "update") throw new Error("the hunk of the test is broken")
  const applied = applyHunk(file, parsed.value[0].hunks[0]!)
  return applied.ok ? { ok: true, value: applied.value.text } : applied
}

const FAR = "x\n".repeat(1500)

test.each([
  ["a line is replaced", "a\nb\nc\n", " a\n-b\n+B\n c", "a\nB\nc\n"],
  ["a line that goes leaves no empty one", "a\nb\nc\n", "-b", "a\nc\n"],
  ["the last line goes, without a line feed", "a\nb", "-b", "a"],
  ["the last line goes, with one", "a\nb\n", "-b", "a\n"],
  ["a whole file goes", "a\n", "-a", ""],
  ["lines are whole: a longer one is another", "x = 10\nx = 1\n", "-x = 1\n+x = 2", "x = 10\nx = 2\n"],
  ["context keeps the spaces of the file", "  a  \n  b\n", " a\n-b\n+B", "  a  \n  B\n"],
  ["additions go behind the hint", "f:\ng:\n", "@@ f: @@\n+  new", "f:\n  new\ng:\n"],
  ["additions without a hint go to the end", "a\nb", "+c\n+d", "a\nb\nc\nd\n"],
  ["additions to an empty file", "", "+c", "c\n"],
  [
    "a hint chooses among several matches",
    `x\ny\n${FAR}def g\nx\ny\n`,
    "@@ def g @@\n-y\n+z",
    `x\ny\n${FAR}def g\nx\nz\n`,
  ],
  ["CRLF stays", "a\r\nb\r\nc\r\n", " a\n-b\n+B\n+C", "a\r\nB\r\nC\r\nc\r\n"],
  ["a single LF among CRLF stays", "a\r\nb\r\nc\nd\r\n", "-b\n+B", "a\r\nB\r\nc\nd\r\n"],
  ["blank context alone is not a match", "a\n\nb\n", "@@ a @@\n \n+x", "a\nx\n\nb\n"],
])("%s", (_what, file, hunk, result) => {
  expect(apply(file, hunk)).toEqual({ ok: true, value: result })
})

test.each([
  ["not there", "a\n", "-zzzzzzz\n+y", /^not found in the file: "zzzzzzz"$/],
  ["several matches", "x\nx\n", "-x\n+y", /^2 matches; name a line near/],
  ["a hint that is not there", "x\nx\n", "@@ g @@\n-x\n+y", /^2 matches, and the hint "g" is not in the file$/],
  ["a hint on two lines", "ab\nb\nab\nb\n", "@@ a @@\n-b\n+c", /the hint "a" is ambiguous: it is on 2 lines/],
  ["several matches near the hint", "def f\nx\nx\n", "@@ def f @@\n-x\n+y", /2 of them near the hint/],
  ["an ambiguous hint for additions", "f\nf\n", "@@ f @@\n+x", /ambiguous/],
  ["no change", "a\n", " a", /^it adds and removes nothing$/],
  ["escape drift", "say('hi')\n", String.raw`-say(\'hi\')` + "\n" + String.raw`+say(\'yo\')`, /^escape drift/],
])("refused: %s", (_what, file, hunk, error) => {
  expect(apply(file, hunk)).toEqual({ ok: false, error: expect.stringMatching(error) })
})
