import { expect, test } from "vitest"
import { fc } from "../../../test/support/property.ts"
import { commandsOf, lexShell } from "./shell-lexer.ts"
import type { ShellToken } from "./shell-lexer.ts"

const pieces = (command: string): readonly string[] => lexShell(command).map(({ kind, text }) => `${kind} ${text}`)

test.each([
  ["a 'b c' | d", ["word a", "word 'b c'", "operator |", "word d"]],
  ["a 2>&1 >f", ["word a", "redirect 2>&1", "redirect >f"]],
  ["a&>f&b", ["word a", "redirect &>f", "operator &", "word b"]],
  ["a \\\n b # c & d\ne", ["word a", "word b", "operator \n", "word e"]],
  ['x="$(a; b)" c', ['word x="$(a; b)"', "word c"]],
  ["a <(b) ${c:-;} `d;e`", ["word a", "word <(b)", "word ${c:-;}", "word `d;e`"]],
  ["a <<-'E' b\n\tx & y\n\tE\nc", ["word a", "redirect <<-'E'", "word b", "operator \n", "word c"]],
  ["a\\;b;c", ["word a\\;b", "operator ;", "word c"]],
  ["'open", ["word 'open"]],
])("%j is split as by a shell", (command, expected) => {
  expect(pieces(command)).toEqual(expected)
})

test("commands inside substitutions are found", () => {
  const found = commandsOf(lexShell('a "$(b $(c))" `d` <(e); f')).map((words) =>
    words.map(({ text }) => text).join(" "),
  )
  expect(found).toEqual(['a "$(b $(c))" `d` <(e)', "f", "b $(c)", "c", "d", "e"])
})

test("any text is split quickly into tokens that are in the text, in order", () => {
  const shellish = fc.array(fc.constantFrom(..."ab '\"\\$(){}[]`<>&|;#\n-1=".split("")), { maxLength: 60 })
  fc.assert(
    fc.property(shellish, (characters) => {
      const text = characters.join("")
      const check = (tokens: readonly ShellToken[]): void => {
        let at = 0
        for (const token of tokens) {
          expect(token.start).toBeGreaterThanOrEqual(at)
          expect([token.text, token.end > token.start]).toEqual([text.slice(token.start, token.end), true])
          at = token.end
          token.inner.forEach(check)
        }
      }
      check(lexShell(text))
    }),
    { numRuns: 2000 },
  )
  const started = performance.now()
  for (const hostile of ["$(".repeat(20_000), "`".repeat(20_001), '"$('.repeat(10_000), "((".repeat(20_000)]) {
    lexShell(hostile)
  }
  expect(performance.now() - started).toBeLessThan(5000)
})
