import { describe, expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import { errorFingerprint, jaccard, normaliseError, errorWords } from "./error-words.ts"

describe("normaliseError", () => {
  test.each([
    ['File "/home/a/app.py", line 12, in <module>', "file line in module"],
    ["src/a.ts:12:5 - error TS2345: Argument", "error ts2345 argument"],
    ["connect ECONNREFUSED 127.0.0.1:5432", "connect econnrefused"],
    ["at 0x7ffee4a1 commit 9fceb02d5 took 12ms", "at commit took"],
    ["Cannot find module 'left-pad'", "cannot find module left-pad"],
    [String.raw`C:\Users\a\x.txt: access denied`, "access denied"],
    ["port 3000 is in use", "port is in use"],
    ["2026-01-02T10:00:00Z failed", "failed"],
    ["", ""],
  ])("%s", (text, expected) => {
    expect(normaliseError(text)).toBe(expected)
  })

  test("megabytes of hostile text are processed in linear time", () => {
    for (const piece of ["/", ":1", "0x", "'", "a-", "1."]) {
      expect(normaliseError(piece.repeat(1_000_000)).length).toBeLessThanOrEqual(4000)
    }
  })

  test("normalizing twice changes nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from("aZ10:x-./ '\n数É")) }), (text) => {
        const once = normaliseError(text)
        expect(normaliseError(once)).toBe(once)
      }),
    )
  })
})

describe("errorFingerprint", () => {
  test.each([
    ["File '/a/b.py', line 12: KeyError", 'File "/other/c.py", line 400: KeyError', true],
    ["Cannot find module 'x'", 'cannot find module "x"', true],
    ["Cannot find module 'x'", "Cannot find module 'y'", false],
    ["error TS2345", "error TS2322", false],
    ["404", "500", false],
  ])("%s and %s have the same fingerprint: %s", (a, b, same) => {
    expect(errorFingerprint(a, "T") === errorFingerprint(b, "t")).toBe(same)
  })

  test("includes the error type", () => {
    expect(errorFingerprint("x", "KeyError")).not.toBe(errorFingerprint("x", "TypeError"))
  })
})

test("words are parts of names, without stop words, and pairs in scripts without spaces", () => {
  expect([...errorWords("the no_such-module in 数据库")]).toEqual(["no", "such", "module", "数据", "据库"])
})

test.each([
  ["a1b c", "a1b c", 1],
  ["foo bar", "bar baz", 1 / 3],
  ["foo", "bar", 0],
  ["", "", 0],
])("the Jaccard index of %s and %s is %f", (a, b, expected) => {
  expect(jaccard(errorWords(a), errorWords(b))).toBeCloseTo(expected)
})
