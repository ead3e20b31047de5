import { expect, test } from "vitest"
import { textColumns } from "../../../terminal/text-width.ts"
import { matchExcerpt } from "./match-excerpt.ts"

test.each([
  ["short >>>match<<< here", 40, "short match here"],
  ["no match", 40, "no match"],
  ["one two three four five six >>>seven<<< eight nine ten", 24, "…six seven eight nine t…"],
  [">>>one<<< two three four five", 12, "one two thr…"],
  [`${"x".repeat(50)}>>>match<<<${"y".repeat(50)}`, 20, "…matchyyyyyyyyyyyyy…"],
  ["日本語のテキスト >>>検索<<< です", 16, "…検索 です"],
  ["a >>>b<<< c >>>d<<< e", 40, "a b c d e"],
])("%s in %i columns", (marked, columns, expected) => {
  const excerpt = matchExcerpt(marked, { columns, color: false })
  expect(excerpt).toBe(expected)
  expect(textColumns(excerpt)).toBeLessThanOrEqual(columns)
})

test("matches are bold with colour", () => {
  expect(matchExcerpt("a >>>b<<< c", { columns: 40, color: true })).toBe("a \u001B[1mb\u001B[22m c")
})
