/**
 * Writes a command line in another way that means the same to bash: quotes, escapes, ANSI-C quotes, blanks, line continuations, lists
 * and groups around it. Parts between `«` and `»` stay as they are, because quoting would change what they mean: operators, `~`,
 * patterns, expansions.
 */
export function mutateQuoting(template: string, random: () => number): string {
  const parts = template.split(/(«[^»]*»)/u)
  const line = parts.map((part) => (part.startsWith("«") ? part.slice(1, -1) : mutateWords(part, random))).join("")
  return surround(line, random)
}

/** The line that a template stands for. */
export function plainLine(template: string): string {
  return template.replaceAll(/[«»]/gu, "")
}

function mutateWords(text: string, random: () => number): string {
  return text
    .split(/( +)/u)
    .map((part) => (part.startsWith(" ") ? blanks(random) : mutateWord(part, random)))
    .join("")
}

function blanks(random: () => number): string {
  return pick([" ", " ", " ", "  ", "\t", " \\\n", " \\\n  ", " \t "], random)
}

/** Cuts the word into pieces and writes each of them in another way. */
function mutateWord(word: string, random: () => number): string {
  let written = ""
  for (let rest = word; rest !== "";) {
    const piece = rest.slice(0, 1 + Math.floor(random() * 4))
    rest = rest.slice(piece.length)
    written += pick(WAYS, random)(piece, random)
  }
  return written
}

type Way = (piece: string, random: () => number) => string

const WAYS: readonly Way[] = [
  (piece) => piece,
  (piece) => piece,
  (piece) => `'${piece}'`,
  (piece) => `"${piece}"`,
  (piece) => piece.replaceAll(/./gsu, String.raw`\$&`),
  (piece) => `''${piece}`,
  (piece) => `${piece}""`,
  (piece) => `${piece}\\\n`,
  (piece) => `$'${piece}'`,
  (piece, random) => `$'${piece.replaceAll(/./gsu, (letter) => ansi(letter, random))}'`,
  (piece) => `$"${piece}"`,
]

function ansi(letter: string, random: () => number): string {
  const code = letter.codePointAt(0) ?? 0
  const hex = code.toString(16).padStart(2, "0")
  return pick([letter, String.raw`\x${hex}`, `\\${code.toString(8).padStart(3, "0")}`, String.raw`\u00${hex}`], random)
}

function surround(line: string, random: () => number): string {
  return pick(SURROUNDINGS, random).replace("%", () => line)
}

const SURROUNDINGS = [
  "%",
  "%",
  "%",
  "%",
  " %",
  "%;",
  "% # x",
  "true; %",
  ": && %",
  "{ %; }",
  "( % )",
  "% || true",
  "%\n",
  "\n%",
  "ls\n%",
  "! %",
  "if :; then %; fi",
]

function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error("nothing to choose from")
  return item
}
