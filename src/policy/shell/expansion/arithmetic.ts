import type { ArithmeticExpression } from "unbash"

import { assertNever } from "../../../base/assert-never.ts"

/** How arithmetic reads and writes the shell. */
export interface ArithmeticAccess {
  /** The number that a word stands for: a constant, a variable or an expansion. */
  readonly read: (
    expression: ArithmeticExpression & { type: "ArithmeticWord" | "ArithmeticCommandExpansion" },
  ) => number | undefined
  readonly write: (name: string, value: number | undefined) => void
}

/** Evaluates both sides of every operator, because a side that does not count may still contain a substitution. */
export function evaluateArithmetic(
  expression: ArithmeticExpression | undefined,
  access: ArithmeticAccess,
): number | undefined {
  if (expression === undefined) return undefined
  switch (expression.type) {
    case "ArithmeticWord":
    case "ArithmeticCommandExpansion":
      return access.read(expression)
    case "ArithmeticGroup":
      return evaluateArithmetic(expression.expression, access)
    case "ArithmeticUnary":
      return evaluateUnary(expression, access)
    case "ArithmeticTernary": {
      const test = evaluateArithmetic(expression.test, access)
      const yes = evaluateArithmetic(expression.consequent, access)
      const no = evaluateArithmetic(expression.alternate, access)
      return test === undefined ? undefined : test === 0 ? no : yes
    }
    case "ArithmeticBinary":
      return evaluateBinary(expression, access)
    default:
      return assertNever(expression)
  }
}

type Unary = ArithmeticExpression & { type: "ArithmeticUnary" }
type Binary = ArithmeticExpression & { type: "ArithmeticBinary" }

function evaluateUnary({ operator, operand, prefix }: Unary, access: ArithmeticAccess): number | undefined {
  const value = evaluateArithmetic(operand, access)
  if (operator === "++" || operator === "--") {
    const changed = value === undefined ? undefined : value + (operator === "++" ? 1 : -1)
    if (operand.type === "ArithmeticWord") access.write(operand.value, changed)
    return prefix ? changed : value
  }
  if (value === undefined) return undefined
  if (operator === "-") return -value
  if (operator === "!") return value === 0 ? 1 : 0
  if (operator === "~") return ~value
  return operator === "+" ? value : undefined
}

function evaluateBinary({ operator, left, right }: Binary, access: ArithmeticAccess): number | undefined {
  const assigned = /^(?:([-+*/%&|^]|<<|>>)?=)$/u.exec(operator)
  if (assigned !== null && left.type === "ArithmeticWord") {
    const change = evaluateArithmetic(right, access)
    const before = assigned[1] === undefined ? undefined : access.read(left)
    const value = assigned[1] === undefined ? change : calculate(assigned[1], before, change)
    access.write(left.value, value)
    return value
  }
  return calculate(operator, evaluateArithmetic(left, access), evaluateArithmetic(right, access))
}

const OPERATORS: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => Math.trunc(a / b),
  "%": (a, b) => a % b,
  "**": (a, b) => a ** b,
  "<<": (a, b) => a * 2 ** b,
  ">>": (a, b) => Math.floor(a / 2 ** b),
  "&": (a, b) => Number(BigInt.asIntN(64, BigInt(a) & BigInt(b))),
  "|": (a, b) => Number(BigInt.asIntN(64, BigInt(a) | BigInt(b))),
  "^": (a, b) => Number(BigInt.asIntN(64, BigInt(a) ^ BigInt(b))),
  "<": (a, b) => Number(a < b),
  ">": (a, b) => Number(a > b),
  "<=": (a, b) => Number(a <= b),
  ">=": (a, b) => Number(a >= b),
  "==": (a, b) => Number(a === b),
  "!=": (a, b) => Number(a !== b),
  "&&": (a, b) => Number(a !== 0 && b !== 0),
  "||": (a, b) => Number(a !== 0 || b !== 0),
  ",": (_, b) => b,
}

function calculate(operator: string, a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined
  const result = OPERATORS[operator]?.(a, b)
  return result !== undefined && Number.isSafeInteger(result) ? result : undefined
}

/** A constant as the shell reads it: decimal, octal, hexadecimal or `base#digits`. */
export function parseNumber(text: string): number | undefined {
  const trimmed = text.trim()
  if (trimmed === "") return 0
  if (/^[-+]?0[0-7]+$/u.test(trimmed)) return safe(Number.parseInt(trimmed, 8))
  if (/^[-+]?(?:0[xX][\dA-Fa-f]+|\d+)$/u.test(trimmed)) return safe(Number(trimmed))
  const [, base = "", digits = ""] = /^(\d{1,2})#([\dA-Za-z]+)$/u.exec(trimmed) ?? []
  if (base === "" || Number(base) < 2 || Number(base) > 36) return undefined
  return safe(Number.parseInt(digits, Number(base)))
}

function safe(value: number): number | undefined {
  return Number.isSafeInteger(value) ? value : undefined
}
