/** The style that SGR sequences have set. */
export interface SgrState {
  /** Attributes by their number, such as 1 for bold. */
  readonly attributes: readonly number[]
  /** The parameters of the colours, or empty. */
  readonly foreground: string
  readonly background: string
}

export const NO_STYLE: SgrState = { attributes: [], foreground: "", background: "" }

/** Applies the parameters of one SGR sequence. */
export function applySgr(state: SgrState, parameters: string): SgrState {
  const numbers = parameters.split(/[;:]/).map((parameter) => (parameter === "" ? 0 : Number(parameter)))
  let next = state
  for (let index = 0; index < numbers.length; index += 1) {
    const number = numbers[index] ?? 0
    if (number === 38 || number === 48) {
      const length = numbers[index + 1] === 2 ? 5 : 3
      const color = numbers.slice(index, index + length).join(";")
      next = number === 38 ? { ...next, foreground: color } : { ...next, background: color }
      index += length - 1
    } else next = applyNumber(next, number)
  }
  return next
}

/** The parameters that set this style on a terminal without any style. The order is fixed, so equal styles have equal text. */
export function sgrParameters(state: SgrState): string {
  if (state === NO_STYLE) return ""
  return [...state.attributes, state.foreground, state.background].filter((part) => part !== "").join(";")
}

function applyNumber(state: SgrState, number: number): SgrState {
  if (number === 0) return NO_STYLE
  if (number <= 9) return withAttributes(state, [...state.attributes, number])
  const ended = ENDS.get(number)
  if (ended !== undefined)
    return withAttributes(
      state,
      state.attributes.filter((attribute) => !ended.includes(attribute)),
    )
  if (number === 39) return { ...state, foreground: "" }
  if (number === 49) return { ...state, background: "" }
  if ((number >= 30 && number <= 37) || (number >= 90 && number <= 97)) return { ...state, foreground: String(number) }
  if ((number >= 40 && number <= 47) || (number >= 100 && number <= 107))
    return { ...state, background: String(number) }
  return state
}

function withAttributes(state: SgrState, attributes: readonly number[]): SgrState {
  return { ...state, attributes: [...new Set(attributes)].sort((a, b) => a - b) }
}

/** Which attributes a number ends. */
const ENDS: ReadonlyMap<number, readonly number[]> = new Map([
  [22, [1, 2]],
  [23, [3]],
  [24, [4]],
  [25, [5, 6]],
  [27, [7]],
  [28, [8]],
  [29, [9]],
])
