import { assertNever } from "../../base/assert-never.ts"
import type { Flag } from "../command.ts"

/** Returns the problem with a value, as the end of a sentence that starts with the flag; undefined when the value is valid. */
export function checkFlagValue(flag: Flag, value: string): string | undefined {
  const kind = flag.value
  switch (kind.kind) {
    case "none":
    case "text":
    case "optional-text":
    case "rest":
      return undefined
    case "choice":
      return kind.choices.includes(value) ? undefined : `must be one of ${kind.choices.join(", ")}, not \`${value}\`.`
    case "integer":
      if (!/^[+-]?\d{1,15}$/.test(value)) return `needs a whole number, not \`${value}\`.`
      return checkBounds(Number(value), kind)
    case "number":
      if (!/^[+-]?(\d+\.?\d*|\.\d+)$/.test(value)) return `needs a number, not \`${value}\`.`
      return checkBounds(Number(value), kind)
    default:
      return assertNever(kind)
  }
}

function checkBounds(value: number, bounds: { readonly min?: number; readonly max?: number }): string | undefined {
  if (bounds.min !== undefined && value < bounds.min) return `must be at least ${bounds.min}, not ${value}.`
  if (bounds.max !== undefined && value > bounds.max) return `must be at most ${bounds.max}, not ${value}.`
  return undefined
}
