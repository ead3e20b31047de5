import fc from "fast-check"
import { expect, test } from "vitest"

import { compileGlob, compilePathGlob, escapeGlob, matchesGlob, matchesPathGlob, pathComponents } from "./glob.ts"

test.each([
  ["git *", "git push", true],
  ["git *", "git", false],
  ["git push*", "git pushy", true],
  ["*rm*", "sudo rm -rf x", true],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["[ab]c", "bc", true],
  ["[!ab]c", "bc", false],
  ["[a-c]x", "bx", true],
  ["[", "[", true],
  ["a[*]", "a*", true],
  ["a[*]", "ab", false],
  ["*", "", true],
  ["", "", true],
  ["a*b*c", "aXbYc", true],
  ["a*b*c", "aXbY", false],
])("%j matches %j: %s", (pattern, text, expected) => {
  expect(matchesGlob(compileGlob(pattern), text)).toBe(expected)
})

test.each([
  ["/w/src/**", "/w/src/a/b.ts", true],
  ["/w/src/**", "/w/src", true],
  ["/w/src/*", "/w/src/a/b.ts", false],
  ["/w/**/*.ts", "/w/a.ts", true],
  ["/w/**/*.ts", "/w/x/y/a.ts", true],
  ["/w/**/x/**", "/w/a/x/b", true],
  ["/w/*.ts", "/w/a.js", false],
])("the path pattern %j matches %j: %s", (pattern, path, expected) => {
  expect(matchesPathGlob(compilePathGlob(pattern), pathComponents(path))).toBe(expected)
})

test("an escaped text matches itself and nothing else", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, other) => {
      const glob = compileGlob(escapeGlob(text))
      expect(matchesGlob(glob, text)).toBe(true)
      expect(matchesGlob(glob, other)).toBe(text === other)
      expect(glob.isLiteral).toBe(true)
    }),
  )
})

test("a pattern with many wildcards does not take exponential time", () => {
  const glob = compileGlob(`${"*a".repeat(100)}*b`)
  expect(matchesGlob(glob, "a".repeat(20_000))).toBe(false)
})
