/** Most words that one brace expansion may give. */
const MOST_WORDS = 256
const LONGEST_TEXT = 10_000

/**
 * Brace expansion of the source text of a word, which the shell does before any other expansion. Undefined when it would give too many
 * words.
 */
export function expandBraces(text: string): readonly string[] | undefined {
  if (text.length > LONGEST_TEXT) return undefined
  const budget = { left: MOST_WORDS * 4 }
  const words = expand(text, budget)
  return words.length > MOST_WORDS || budget.left <= 0 ? undefined : words
}

function expand(text: string, budget: { left: number }): readonly string[] {
  budget.left -= 1
  if (budget.left <= 0) return [text]
  for (let open = nextBrace(text, 0); open !== -1; open = nextBrace(text, open + 1)) {
    const parts = braceParts(text, open)
    if (parts === undefined) continue
    const before = text.slice(0, open)
    const alternatives = parts.isSequence ? parts.items : parts.items.flatMap((item) => expand(item, budget))
    const rest = expand(text.slice(parts.end), budget)
    const words: string[] = []
    for (const item of alternatives) {
      for (const after of rest) {
        if (words.length > MOST_WORDS) return words
        words.push(before + item + after)
      }
    }
    return words
  }
  return [text]
}

interface BraceParts {
  readonly items: readonly string[]
  readonly isSequence: boolean
  readonly end: number
}

function nextBrace(text: string, from: number): number {
  for (let at = from; at < text.length; at = afterUnit(text, at)) {
    if (text[at] === "{") return at
  }
  return -1
}

/** The offset after one character, quoted text, substitution or expansion. */
function afterUnit(text: string, at: number): number {
  const character = text[at]
  if (character === "\\") return at + 2
  if (character === "'") return afterMark(text, "'", at + 1)
  if (character === "`") return afterMark(text, "`", at + 1)
  if (character === '"') {
    let end = at + 1
    while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1
    return end + 1
  }
  if (character === "$" && text[at + 1] === "'") {
    let end = at + 2
    while (end < text.length && text[end] !== "'") end += text[end] === "\\" ? 2 : 1
    return end + 1
  }
  if ("$<>".includes(character ?? " ") && (text[at + 1] === "(" || (character === "$" && text[at + 1] === "{"))) {
    return afterBracket(text, at + 1)
  }
  return at + 1
}

function afterMark(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from)
  return at === -1 ? text.length : at + 1
}

function afterBracket(text: string, at: number): number {
  const open = text[at] ?? ""
  const close = open === "(" ? ")" : "}"
  let depth = 1
  let end = at + 1
  while (end < text.length && depth > 0) {
    if (text[end] === open) depth += 1
    else if (text[end] === close) depth -= 1
    else if (`'"\\\``.includes(text[end] ?? " ")) {
      end = afterUnit(text, end)
      continue
    }
    end += 1
  }
  return end
}

function braceParts(text: string, open: number): BraceParts | undefined {
  const items: string[] = []
  let depth = 0
  let start = open + 1
  for (let at = open; at < text.length; at = afterUnit(text, at)) {
    const character = text[at]
    if (character === "{") depth += 1
    else if (character === "," && depth === 1) {
      items.push(text.slice(start, at))
      start = at + 1
    } else if (character === "}") {
      depth -= 1
      if (depth > 0) continue
      if (items.length > 0) return { items: [...items, text.slice(start, at)], isSequence: false, end: at + 1 }
      const sequence = sequenceItems(text.slice(open + 1, at))
      return sequence && { items: sequence, isSequence: true, end: at + 1 }
    }
  }
  return undefined
}

const NUMBERS = /^(-?\d{1,15})\.\.(-?\d{1,15})(?:\.\.(-?\d{1,9}))?$/u
const LETTERS = /^([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?$/u

function sequenceItems(text: string): readonly string[] | undefined {
  const numbers = NUMBERS.exec(text)
  if (numbers !== null) {
    const [, first = "", last = "", step = "1"] = numbers
    const isPadded = /^-?0\d/u.test(first) || /^-?0\d/u.test(last)
    const width = isPadded ? Math.max(first.length, last.length) : 0
    return range(Number(first), Number(last), Number(step)).map((number) =>
      number < 0 ? `-${String(-number).padStart(width - 1, "0")}` : String(number).padStart(width, "0"),
    )
  }
  const letters = LETTERS.exec(text)
  if (letters === null) return undefined
  const [, first = "", last = "", step = "1"] = letters
  return range(first.charCodeAt(0), last.charCodeAt(0), Number(step)).map((code) => String.fromCharCode(code))
}

function range(first: number, last: number, givenStep: number): readonly number[] {
  const step = Math.max(1, Math.abs(givenStep))
  const numbers: number[] = []
  if (first <= last) for (let at = first; at <= last && numbers.length <= MOST_WORDS; at += step) numbers.push(at)
  else for (let at = first; at >= last && numbers.length <= MOST_WORDS; at -= step) numbers.push(at)
  return numbers
}
