import type { ShellWord } from "../shell/understood-command.ts"

/** Files that the program of an awk command opens by itself. Parts of names that are not known stand as `${_}`. */
export interface AwkProgram {
  readonly writes: readonly ShellWord[]
  readonly reads: readonly ShellWord[]
  /** The files that `-i inplace` replaces. */
  readonly edits: readonly ShellWord[]
}

const LONGEST_PROGRAM = 20_000

/** Reads the program of an awk command, with the variables that its arguments set. */
export function readAwkProgram(words: readonly ShellWord[], userHome: string): AwkProgram {
  const { programs, variables, edits } = awkArguments(words)
  const text = programs.map((program) => program.text).join("\n")
  if (text.length > LONGEST_PROGRAM || !OPENING.test(text)) return { writes: [], reads: [], edits }
  const tokens = tokenize(text)
  const values = new Values(tokens, { variables, userHome })
  const writes: ShellWord[] = []
  const reads: ShellWord[] = []
  for (const [at, token] of tokens.entries()) {
    if (token === "print" || token === "printf") {
      const target = outputTarget(tokens, at + 1)
      if (target !== undefined) writes.push(...values.names(target))
    } else if (token === "getline") {
      const source = inputSource(tokens, at + 1)
      if (source !== undefined) reads.push(...values.names(source))
    } else if (token === "ARGV") {
      const value = assignedElement(tokens, at + 1)
      if (value !== undefined) reads.push(...values.names(value))
    }
  }
  return { writes, reads, edits }
}

/** Most programs print to standard output only. */
const OPENING = /\bprintf?\b[^]*>|\bgetline\b|\bARGV\b/u

interface AwkArguments {
  readonly programs: readonly ShellWord[]
  readonly variables: ReadonlyMap<string, ShellWord>
  readonly edits: readonly ShellWord[]
}

function awkArguments(words: readonly ShellWord[]): AwkArguments {
  const programs: ShellWord[] = []
  const variables = new Map<string, ShellWord>()
  const files: ShellWord[] = []
  let hasProgram = false
  let isInPlace = false
  let optionsEnded = false
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]
    if (word === undefined) break
    const option = optionsEnded ? null : /^(?:-([vFfeEil])|--(\w[\w-]*)=?)([^]*)$/u.exec(word.text)
    if (word.text === "--") optionsEnded = true
    else if (option !== null) {
      const [, letter = "", name = "", attached = ""] = option
      const takesNext = attached === "" && (letter !== "" || VALUED.has(name))
      if (takesNext) at += 1
      const value = takesNext ? words[at] : { ...word, text: attached }
      if ((letter === "i" || name === "include") && value?.text === "inplace") isInPlace = true
      if (letter === "v" || name === "assign") assign(value)
      else if (letter === "e" || name === "source") {
        hasProgram = true
        if (value !== undefined) programs.push(value)
      } else if ("fE".includes(letter || " ") || name === "file" || name === "exec") hasProgram = true
    } else if (word.text.startsWith("-") && !optionsEnded && word.text !== "-") continue
    else if (hasProgram) {
      assign(word)
      files.push(word)
    } else {
      hasProgram = true
      programs.push(word)
    }
  }
  return { programs, variables, edits: isInPlace ? files : [] }

  function assign(word: ShellWord | undefined): void {
    const parts = word === undefined ? null : /^([A-Za-z_]\w*)=([^]*)$/u.exec(word.text)
    if (word !== undefined && parts !== null) variables.set(parts[1] ?? "", { ...word, text: parts[2] ?? "" })
  }
}

const VALUED: ReadonlySet<string> = new Set("assign field-separator source file exec include load".split(" "))

/** Strings keep their first quote, regular expressions become `//`; blanks and comments are left out, line ends are not. */
function tokenize(text: string): readonly string[] {
  const tokens: string[] = []
  for (let at = 0; at < text.length;) {
    const isOperandBefore = /^(?:[\w"]|[)\]$]$)/u.test(tokens.at(-1) ?? "") && !KEYWORD.test(tokens.at(-1) ?? "")
    const pattern = text[at] === "/" && !isOperandBefore ? REGULAR_EXPRESSION : TOKEN
    pattern.lastIndex = at
    const [found = text[at] ?? ""] = pattern.exec(text) ?? []
    at += Math.max(found.length, 1)
    if (pattern === REGULAR_EXPRESSION) tokens.push("//")
    else if (found.startsWith('"')) tokens.push(`"${unescape(found.slice(1, found.endsWith('"') ? -1 : undefined))}`)
    else if (!/^(?:[ \t\r]|#|\\\n)/u.test(found)) tokens.push(found)
  }
  return tokens
}

const KEYWORD = /^(?:print|printf|return|in|getline|if|while)$/u
const TOKEN =
  /"(?:\\[^]|[^"\\])*"?|[A-Za-z_]\w*|\d[\w.]*|[ \t\r]+|#[^\n]*|\\\n|>>|>=|<=|==|!=|&&|\|\||\|&|\+\+|--|[-+*/%^]=|[^]/uy
const REGULAR_EXPRESSION = /\/(?:\\[^\n]|\[\^?\]?[^\]\n]*\]|[^/\\\n])*\/?/uy

function unescape(text: string): string {
  return text.replaceAll(/\\(?:([0-7]{1,3})|x([\dA-Fa-f]{1,2})|([^]))/gu, (_all, octal, hex, other) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(String(octal), 8))
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(String(hex), 16))
    return other === "n" ? "\n" : other === "t" ? "\t" : String(other)
  })
}

/** Where the statement ends that an index is in. */
function statementEnd(tokens: readonly string[], from: number): number {
  let depth = 0
  for (let at = from; at < tokens.length; at += 1) {
    const token = tokens[at] ?? ""
    if (token === "(" || token === "[") depth += 1
    else if (token === ")" || token === "]") depth -= 1
    if (depth < 0 || (depth === 0 && (token === ";" || token === "}" || token === "\n"))) return at
  }
  return tokens.length
}

/** The tokens behind `>` in `print … > file`. Inside parentheses it compares. */
function outputTarget(tokens: readonly string[], from: number): readonly string[] | undefined {
  const end = statementEnd(tokens, from)
  let depth = 0
  for (let at = from; at < end; at += 1) {
    const token = tokens[at] ?? ""
    if (token === "(" || token === "[") depth += 1
    else if (token === ")" || token === "]") depth -= 1
    else if (depth === 0 && (token === ">" || token === ">>")) return tokens.slice(at + 1, end)
  }
  return undefined
}

/** The tokens behind `<` in `getline line < file`, which end where no string is joined. */
function inputSource(tokens: readonly string[], from: number): readonly string[] | undefined {
  let at = from
  while (/^(?:[A-Za-z_]\w*|\$|\d+|\[|\])$/u.test(tokens[at] ?? "")) at += 1
  if (tokens[at] !== "<") return undefined
  const rest = tokens.slice(at + 1, statementEnd(tokens, at + 1))
  const end = rest.findIndex((token) => /^(?:[<>=!]=|[<>?:,{]|&&|\|\|)$/u.test(token))
  return end === -1 ? rest : rest.slice(0, end)
}

/** `ARGV[1] = value` adds a file to read. */
function assignedElement(tokens: readonly string[], from: number): readonly string[] | undefined {
  if (tokens[from] !== "[") return undefined
  const close = tokens.indexOf("]", from)
  if (close === -1 || tokens[close + 1] !== "=") return undefined
  const value = tokens.slice(close + 2, statementEnd(tokens, close + 2))
  return value.join("") === '"' ? undefined : value
}

interface Known {
  readonly variables: ReadonlyMap<string, ShellWord>
  readonly userHome: string
}

const EMPTY: ShellWord = { text: "", known: true, pattern: false }
const UNKNOWN_PART: ShellWord = { text: "${_}", known: false, pattern: false }
const MOST_VALUES = 8
const LONGEST_NAME = 4096

/** What expressions of a program can evaluate to. */
class Values {
  readonly #tokens: readonly string[]
  readonly #known: Known
  readonly #found = new Map<string, readonly ShellWord[]>()
  readonly #changed: ReadonlySet<string>

  constructor(tokens: readonly string[], known: Known) {
    this.#tokens = tokens
    this.#known = known
    this.#changed = changedOtherwise(tokens)
  }

  /** The names of files that an expression may give. */
  names(tokens: readonly string[]): readonly ShellWord[] {
    return this.#of(tokens).filter(({ text }) => text !== "")
  }

  #of(tokens: readonly string[]): readonly ShellWord[] {
    const [first, yes] = separated(tokens, "?")
    if (yes !== undefined) return separated(yes, ":").flatMap((part) => (part === undefined ? [] : this.#of(part)))
    const [, value] = separated(first, "=")
    if (value !== undefined) return this.#of(value)
    return this.#concatenated(tokens)
  }

  #concatenated(tokens: readonly string[]): readonly ShellWord[] {
    let words: readonly ShellWord[] = [EMPTY]
    for (let at = 0; at < tokens.length; at += 1) {
      const token = tokens[at] ?? ""
      const next = tokens[at + 1]
      let part: readonly ShellWord[] = [UNKNOWN_PART]
      if (token.startsWith('"')) part = [{ text: token.slice(1), known: true, pattern: false }]
      else if (token === "ENVIRON" && tokens[at + 2] === '"HOME') part = [this.#home()]
      else if (token === "sprintf") part = [formatted(tokens[at + 2] ?? "")]
      else if (NAME.test(token) && next !== "(" && next !== "[") part = this.#variable(token)
      if (token === "(") {
        const end = closing(tokens, at)
        part = this.#of(tokens.slice(at + 1, end))
        at = end
      } else if (NAME.test(token) && (next === "(" || next === "[")) at = closing(tokens, at + 1)
      words = words.flatMap((word) => part.map((one) => joined(word, one)))
      // One of those that are left out may be any name.
      if (words.length > MOST_VALUES) words = [...words.slice(0, MOST_VALUES), UNKNOWN_PART]
    }
    return words
  }

  #home(): ShellWord {
    return { text: this.#known.userHome, known: true, pattern: false }
  }

  #variable(name: string): readonly ShellWord[] {
    const known = this.#found.get(name)
    if (known !== undefined) return known
    // A variable that is assigned from itself.
    this.#found.set(name, [UNKNOWN_PART])
    const values = this.#assigned(name)
    this.#found.set(name, values)
    return values
  }

  #assigned(name: string): readonly ShellWord[] {
    const given = this.#known.variables.get(name)
    // Until it is assigned, a variable is empty.
    const found: ShellWord[] = given === undefined ? [EMPTY] : [EMPTY, given]
    if (this.#changed.has(name)) found.push(UNKNOWN_PART)
    for (const [at, token] of this.#tokens.entries()) {
      if (token !== name || this.#tokens[at + 1] !== "=") continue
      if (found.length >= MOST_VALUES) return [...found, UNKNOWN_PART]
      found.push(...this.#of(this.#tokens.slice(at + 2, statementEnd(this.#tokens, at + 2))))
    }
    return given === undefined && found.length === 1 ? [UNKNOWN_PART] : found
  }
}

const NAME = /^[A-Za-z_]\w*$/u

/** Variables that input, loops, parameters or functions such as `sub` change. */
function changedOtherwise(tokens: readonly string[]): ReadonlySet<string> {
  const changed = new Set<string>()
  let end = 0
  for (const [at, token] of tokens.entries()) {
    if (token === "function") end = Math.max(end, closing(tokens, at + 2))
    else if (CHANGING.has(token)) end = Math.max(end, closing(tokens, at + 1))
    else if (at < end || tokens[at - 1] === "getline" || tokens[at + 1] === "in") changed.add(token)
  }
  return changed
}

const CHANGING: ReadonlySet<string> = new Set(["sub", "gsub", "split"])

/** The tokens before and after an operator outside of parentheses. */
function separated(tokens: readonly string[], operator: string): readonly [readonly string[], (readonly string[])?] {
  let depth = 0
  for (const [at, token] of tokens.entries()) {
    if (token === "(" || token === "[") depth += 1
    else if (token === ")" || token === "]") depth -= 1
    else if (depth === 0 && token === operator) return [tokens.slice(0, at), tokens.slice(at + 1)]
  }
  return [tokens]
}

/** A format, the directives of which are not known. */
function formatted(format: string): ShellWord {
  if (!format.startsWith('"')) return UNKNOWN_PART
  return { ...UNKNOWN_PART, text: format.slice(1).replaceAll(/%[-+ #\d.]*[A-Za-z]/gu, UNKNOWN_PART.text) }
}

function closing(tokens: readonly string[], open: number): number {
  let depth = 0
  for (let at = open; at < tokens.length; at += 1) {
    if (tokens[at] === "(" || tokens[at] === "[") depth += 1
    else if (tokens[at] === ")" || tokens[at] === "]") depth -= 1
    if (depth === 0) return at
  }
  return tokens.length
}

function joined(one: ShellWord, other: ShellWord): ShellWord {
  if (one.text.length + other.text.length > LONGEST_NAME) return UNKNOWN_PART
  const isRepeated = one.text.endsWith(UNKNOWN_PART.text) && other.text === UNKNOWN_PART.text
  return { text: isRepeated ? one.text : one.text + other.text, known: one.known && other.known, pattern: false }
}
