/** What the keys of normal mode ask for. */
export type VimCommand =
  | { readonly kind: "move"; readonly count: number | undefined; readonly motion: Motion }
  | {
      readonly kind: "operate"
      readonly operator: Operator
      readonly count: number | undefined
      readonly over: Motion | TextObject | "line"
    }
  | { readonly kind: "simple"; readonly key: SimpleKey; readonly count: number | undefined }
  | { readonly kind: "replace"; readonly character: string; readonly count: number | undefined }

export type Operator = "d" | "c" | "y"

export type Motion = { readonly key: (typeof PLAIN_MOTIONS)[number] | "gg" } | Find

/** `f` and `t` with their character. */
export interface Find {
  readonly key: "f" | "t" | "F" | "T"
  readonly character: string
  /** Set by `;` and `,`. */
  readonly isRepeated?: boolean
}

export interface TextObject {
  readonly around: boolean
  readonly key: string
}

export type SimpleKey = (typeof SIMPLE_KEYS)[number]

const PLAIN_MOTIONS = ["h", "j", "k", "l", "w", "W", "b", "B", "e", "E", "0", "^", "$", "G", ";", ","] as const
const SIMPLE_KEYS = [
  "i",
  "a",
  "I",
  "A",
  "o",
  "O",
  "x",
  "X",
  "s",
  "S",
  "D",
  "C",
  "Y",
  "p",
  "P",
  "u",
  "ctrl+r",
  ".",
] as const
const OPERATORS = ["d", "c", "y"] as const
const FINDS = ["f", "t", "F", "T"] as const
const OBJECTS = "wW\"'`()b[]{}B<>"
const MAX_COUNT = 1000

/** Reads a command from its keys, each one character or a chord. It can be unfinished, or none at all. */
export function parseVimKeys(keys: readonly string[]): VimCommand | "unfinished" | "invalid" {
  const first = readCount(keys, 0)
  const key = keys[first.next]
  if (key === undefined) return "unfinished"
  const operator = OPERATORS.find((candidate) => candidate === key)
  if (operator !== undefined) return parseOperator(operator, keys, first)
  const { count, next } = first
  const simple = SIMPLE_KEYS.find((candidate) => candidate === key)
  if (simple !== undefined) return { kind: "simple", key: simple, count }
  if (key === "r") {
    const character = keys[next + 1]
    return character === undefined
      ? "unfinished"
      : isCharacter(character)
        ? { kind: "replace", character, count }
        : "invalid"
  }
  const motion = parseMotion(keys, next)
  return typeof motion === "string" ? motion : { kind: "move", count, motion }
}

function parseOperator(
  operator: Operator,
  keys: readonly string[],
  first: Count,
): VimCommand | "unfinished" | "invalid" {
  const second = readCount(keys, first.next + 1)
  const count =
    first.count === undefined && second.count === undefined
      ? undefined
      : Math.min(MAX_COUNT, (first.count ?? 1) * (second.count ?? 1))
  const key = keys[second.next]
  if (key === undefined) return "unfinished"
  if (key === operator) return { kind: "operate", operator, count, over: "line" }
  if (key === "i" || key === "a") {
    const object = keys[second.next + 1]
    if (object === undefined) return "unfinished"
    if (object.length !== 1 || !OBJECTS.includes(object)) return "invalid"
    return { kind: "operate", operator, count, over: { around: key === "a", key: object } }
  }
  const motion = parseMotion(keys, second.next)
  return typeof motion === "string" ? motion : { kind: "operate", operator, count, over: motion }
}

function parseMotion(keys: readonly string[], index: number): Motion | "unfinished" | "invalid" {
  const key = keys[index]
  const second = keys[index + 1]
  const plain = PLAIN_MOTIONS.find((candidate) => candidate === key)
  if (plain !== undefined) return { key: plain }
  const find = FINDS.find((candidate) => candidate === key)
  if (find === undefined && key !== "g") return "invalid"
  if (second === undefined) return "unfinished"
  if (find !== undefined) return isCharacter(second) ? { key: find, character: second } : "invalid"
  return second === "g" ? { key: "gg" } : "invalid"
}

interface Count {
  readonly count: number | undefined
  readonly next: number
}

/** A leading 0 is a motion. */
function readCount(keys: readonly string[], from: number): Count {
  let next = from
  while (/^\d$/u.test(keys[next] ?? "") && !(next === from && keys[next] === "0")) next += 1
  return { count: next === from ? undefined : Math.min(MAX_COUNT, Number(keys.slice(from, next).join(""))), next }
}

function isCharacter(key: string): boolean {
  return !/^(?:ctrl|alt|shift)\+.|^escape$|\n/u.test(key)
}
