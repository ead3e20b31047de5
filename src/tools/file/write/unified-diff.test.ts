import { applyPatch } from "diff"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { unifiedDiff } from "./unified-diff.ts"

test("a change with three lines around it", () => {
  const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
  expect(unifiedDiff("src/f", { before, after: before.replace("5", "five") })).toBe(
    "--- a/src/f\n+++ b/src/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
  )
})

test.each([
  ["nothing", { before: "a\n", after: "a\n" }, ""],
  ["line ends alone", { before: "a\r\n", after: "a\n" }, ""],
  ["a new file", { before: undefined, after: "a\n" }, "--- /dev/null\n+++ b/tmp/f\n@@ -0,0 +1 @@\n+a\n"],
  ["a file that goes", { before: "a\nb\n", after: undefined }, "--- a/tmp/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"],
  ["a new empty file", { before: undefined, after: "" }, "--- /dev/null\n+++ b/tmp/f\n"],
  ["a move", { before: "", after: "", movedFrom: "/tmp/e" }, "--- a/tmp/e\n+++ b/tmp/f\n"],
  [
    "the last line feed",
    { before: "a", after: "a\n" },
    "--- a/tmp/f\n+++ b/tmp/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
  ],
])("%s", (_what, sides, diff) => {
  expect(unifiedDiff("/tmp/f", sides)).toBe(diff)
})

test("distant changes have separate hunks, near ones share one", () => {
  const lines = Array.from({ length: 40 }, (_, index) => `${index}`)
  const changed = (...at: number[]): string => lines.map((line, index) => (at.includes(index) ? "x" : line)).join("\n")
  const hunks = (after: string): number =>
    unifiedDiff("f", { before: lines.join("\n"), after }).split("@@ -").length - 1
  expect([hunks(changed(5, 12)), hunks(changed(5, 13)), hunks(changed(0, 20, 39))]).toEqual([1, 2, 3])
})

describe("on random texts", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", "d", ""), { maxLength: 30 }).map((lines) => lines.join("\n"))

  test("the diff turns one side into the other, and removes no more lines than it must", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff("f", { before, after })
        expect(applied(before, diff)).toBe(after)
        const removed = diff.split("\n").filter((line) => line.startsWith("-") && !line.startsWith("---")).length
        const [old, current] = [linesOf(before), linesOf(after)]
        expect(removed).toBe(old.length - longestCommon(old, current))
      }),
      { seed: 9, numRuns: 500 },
    )
  })
})

test("the diff of a completely replaced file is fast", () => {
  const lines = (word: string): string => Array.from({ length: 20_000 }, (_, index) => `${word} ${index}`).join("\n")
  const diff = unifiedDiff("f", { before: lines("a"), after: lines("b") })
  expect(diff.split("\n").filter((line) => line.startsWith("-a")).length).toBe(20_000)
})

function linesOf(text: string): string[] {
  if (text === "") return []
  const lines = text.split("\n").map((line) => `${line}\n`)
  const last = lines.pop()!.slice(0, -1)
  return last === "" ? lines : [...lines, last]
}

/** A patch program of a few lines: it trusts the numbers of the hunks and nothing else. */
function applied(before: string, diff: string): string {
  const old = linesOf(before)
  const result: string[] = []
  let at = 0
  let last: string[] | undefined
  for (const line of diff.split("\n").slice(2)) {
    const header = /^@@ -(\d+)(?:,(\d+))? /.exec(line)
    if (header !== null) {
      const start = Number(header[1]) - (header[2] === "0" ? 0 : 1)
      result.push(...old.slice(at, start))
      at = start
    } else if (line.startsWith("\\")) last?.push(last.pop()!.slice(0, -1))
    else if (line.startsWith("+")) (last = result).push(`${line.slice(1)}\n`)
    else if (line.startsWith(" ")) {
      ;(last = result).push(`${line.slice(1)}\n`)
      at += 1
    } else if (line.startsWith("-")) {
      last = undefined
      at += 1
    }
  }
  return [...result, ...old.slice(at)].join("")
}

function longestCommon(a: readonly string[], b: readonly string[]): number {
  const best = Array.from({ length: a.length + 1 }, () => Array.from({ length: b.length + 1 }, () => 0))
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i]![j] = a[i] === b[j] ? best[i + 1]![j + 1]! + 1 : Math.max(best[i + 1]![j]!, best[i]![j + 1]!)
    }
  }
  return best[0]![0]!
}

test("the diff of a large text applies, and has the line numbers of the whole text", () => {
  const line = fc.constantFrom("a\n", "b\n", "c\n", "\n")
  const middle = fc.array(line, { maxLength: 12 }).map((lines) => lines.join(""))
  const padding = (length: number): string => Array.from({ length }, (_, index) => `line ${index}\n`).join("")
  const [head, tail] = [padding(40_000), padding(40_000)]
  fc.assert(
    fc.property(middle, middle, fc.constantFrom("", "last"), (from, to, last) => {
      const [before, after] = [`${head}${from}${tail}${last}`, `${head}${to}${tail}${last}`]
      const diff = unifiedDiff("f", { before, after })
      expect(applyPatch(before, diff, { fuzzFactor: 0 }) || before).toBe(after)
      const [, start] = /@@ -(\d+)/u.exec(diff) ?? []
      if (start !== undefined) expect(Number(start)).toBeGreaterThan(39_990)
    }),
    { seed: 3, numRuns: 60 },
  )
  for (const [before, after] of [
    ["", padding(90_000)],
    [`x\n${head}${tail}`, `y\n${head}${tail}`],
    [`${head}${tail}x`, `${head}${tail}y`],
  ] as const)
    expect(applyPatch(before, unifiedDiff("f", { before, after }))).toBe(after)
})
