import type { TestExpression } from "unbash"

import { assertNever } from "../../base/assert-never.ts"
import { evaluateNumber, expandWhole, runIndex } from "./expansion/expand-word.ts"
import type { Expansion } from "./expansion/expand-word.ts"
import { HIDDEN_NAMES } from "./name-source.ts"
import { unknownFrom } from "./scope.ts"
import type { Value } from "./scope.ts"
import type { ShellWord } from "./understood-command.ts"

/** Interprets the operands of `[[ … ]]`, in which numbers are expressions and a match leaves its parts in a variable. */
export function runTest(expression: TestExpression, expansion: Expansion): void {
  switch (expression.type) {
    case "TestUnary":
      runIndex(expandWhole(expression.operand, expansion).text, expansion)
      return
    case "TestBinary": {
      const { operator } = expression
      const words = [expression.left, expression.right].map((word) => expandWhole(word, expansion))
      for (const { text } of words) {
        if (NUMERIC.test(operator)) evaluateNumber(text, expansion)
        else runIndex(text, expansion)
      }
      const [left] = words
      if (operator === "=~" && left !== undefined) expansion.frame.scope.setVariable("BASH_REMATCH", matchedParts(left))
      return
    }
    case "TestLogical":
      for (const operand of expression.operands) runTest(operand, expansion)
      return
    case "TestNot":
      runTest(expression.operand, expansion)
      return
    case "TestGroup":
      runTest(expression.expression, expansion)
      return
    default:
      assertNever(expression)
  }
}

const NUMERIC = /^-(?:eq|ne|lt|le|gt|ge)$/u

/** The whole text, or a part of it. A part of a path may be another path. */
function matchedParts({ text, known, names }: ShellWord): Value {
  if (!known) return unknownFrom(names)
  const word: ShellWord = { text, known: true, pattern: false }
  const items = new Map(Array.from({ length: MOST_GROUPS }, (_, index) => [String(index), word]))
  return {
    kind: "either",
    values: [{ kind: "list", items }, unknownFrom(text.includes("/") ? HIDDEN_NAMES : names)],
  }
}

const MOST_GROUPS = 10
