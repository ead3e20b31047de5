const LONGEST_OUTPUT = 65_536
const DIRECTIVE = /%(?:%|([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?([a-zA-Z]))/gu

/** What `printf` prints for a format and arguments; undefined for directives that are not supported. */
export function formatPrintf(words: readonly string[]): string | undefined {
  const [format = "", ...args] = words[0] === "--" ? words.slice(1) : words
  let output = ""
  let next = 0
  do {
    const start = next
    let isSupported = true
    let hasEnded = false
    const round = splitDirectives(format)
    for (const piece of round) {
      if (hasEnded) break
      if (typeof piece === "string") {
        const decoded = decodeEscapes(piece, false)
        output += decoded.text
        hasEnded = decoded.hasEnded
        continue
      }
      const printed = printDirective(piece, args[next] ?? "")
      if (printed === undefined) isSupported = false
      else {
        output += printed.text
        hasEnded = printed.hasEnded
      }
      next += 1
    }
    if (!isSupported || output.length > LONGEST_OUTPUT) return undefined
    if (hasEnded || next === start) break
  } while (next < args.length)
  return output
}

interface Directive {
  readonly flags: string
  readonly width: string
  readonly precision: string | undefined
  readonly letter: string
}

function splitDirectives(format: string): readonly (string | Directive)[] {
  const pieces: (string | Directive)[] = []
  let at = 0
  for (const match of format.matchAll(DIRECTIVE)) {
    if (match.index > at) pieces.push(format.slice(at, match.index))
    const [whole, flags = "", width = "", precision, letter] = match
    pieces.push(letter === undefined ? "%" : { flags, width, precision, letter })
    at = match.index + whole.length
  }
  if (at < format.length) pieces.push(format.slice(at))
  return pieces
}

interface Printed {
  readonly text: string
  readonly hasEnded: boolean
}

function printDirective({ flags, width, precision, letter }: Directive, argument: string): Printed | undefined {
  if (width === "*" || precision === "*" || Number(width) > 1000) return undefined
  const value = directiveText(letter, argument, precision)
  if (value === undefined) return undefined
  const fill = flags.includes("0") && letter !== "s" && !flags.includes("-") ? "0" : " "
  const text = flags.includes("-") ? value.text.padEnd(Number(width)) : value.text.padStart(Number(width), fill)
  return { text, hasEnded: value.hasEnded }
}

function directiveText(letter: string, argument: string, precision: string | undefined): Printed | undefined {
  const cut = (text: string): string => (precision === undefined ? text : text.slice(0, Number(precision)))
  switch (letter) {
    case "s":
      return { text: cut(argument), hasEnded: false }
    case "b": {
      const { text, hasEnded } = decodeEscapes(argument, true)
      return { text: cut(text), hasEnded }
    }
    case "c":
      return { text: argument.slice(0, 1), hasEnded: false }
    case "d":
    case "i":
    case "u":
    case "x":
    case "X":
    case "o": {
      const number = printfNumber(argument)
      if (number === undefined) return undefined
      const digits = number.toString(letter === "o" ? 8 : letter.toLowerCase() === "x" ? 16 : 10)
      const padded = digits.padStart(Number(precision ?? "0"), "0")
      return { text: letter === "X" ? padded.toUpperCase() : padded, hasEnded: false }
    }
    case "q":
      return {
        text: /^[\w./-]+$/u.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`,
        hasEnded: false,
      }
    default:
      return undefined
  }
}

function printfNumber(text: string): number | undefined {
  if (/^["']/u.test(text)) return text.codePointAt(1) ?? 0
  if (text === "") return 0
  if (/^[-+]?0[0-7]+$/u.test(text)) return Number.parseInt(text, 8)
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : undefined
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  e: "\u001B",
  E: "\u001B",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
  "'": "'",
}

const ESCAPE = /\\(?:x([\dA-Fa-f]{1,2})|u([\dA-Fa-f]{1,4})|U([\dA-Fa-f]{1,8})|0?([0-7]{1,3})|([^]))/gu

/** Backslash escapes of `printf` and `echo -e`. `\c` ends the output. */
export function decodeEscapes(text: string, isArgument: boolean): Printed {
  const end = isArgument ? text.search(/(?<!\\)(?:\\\\)*\\c/u) : -1
  const bytes = new ByteText()
  let at = 0
  const whole = end === -1 ? text : text.slice(0, text.indexOf("\\c", end))
  for (const match of whole.matchAll(ESCAPE)) {
    bytes.add(whole.slice(at, match.index))
    at = match.index + match[0].length
    const [, hex, short, long, octal, simple] = match
    if (hex !== undefined) bytes.addByte(Number.parseInt(hex, 16))
    else if (octal !== undefined) bytes.addByte(Number.parseInt(octal, 8) % 256)
    else if (short !== undefined || long !== undefined) {
      const code = Number.parseInt(short ?? long ?? "", 16)
      bytes.add(code <= 0x10_ff_ff ? String.fromCodePoint(code) : "")
    } else bytes.add(SIMPLE_ESCAPES[simple ?? ""] ?? match[0])
  }
  bytes.add(whole.slice(at))
  return { text: bytes.toString(), hasEnded: end !== -1 }
}

/** Joins text and single bytes, which may form UTF-8 together. */
class ByteText {
  readonly #parts: Buffer[] = []

  add(text: string): void {
    if (text !== "") this.#parts.push(Buffer.from(text))
  }

  addByte(byte: number): void {
    this.#parts.push(Buffer.from([byte]))
  }

  toString(): string {
    return Buffer.concat(this.#parts).toString("utf8")
  }
}
