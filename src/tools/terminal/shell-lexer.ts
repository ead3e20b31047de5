/** A token of a command line, with its offsets in the text. */
export interface ShellToken {
  /** `operator`: a separator of commands (`&&`, `;`, a newline, a parenthesis, …). `redirect`: includes its target. */
  readonly kind: "word" | "operator" | "redirect"
  readonly text: string
  readonly start: number
  readonly end: number
  /** The commands inside a word: `$(…)`, backticks, `<(…)`. */
  readonly inner: readonly (readonly ShellToken[])[]
}

/**
 * Splits a command line as a shell would. Quoted text stays inside its word; comments and here-documents are omitted. Never fails,
 * even for text that a shell would refuse. Takes linear time, except that nested substitutions are split once per level.
 */
export function lexShell(text: string): readonly ShellToken[] {
  return new Lexer(text, 0, text.length).run()
}

/** The words of every simple command, including those inside substitutions; without operators and redirections. */
export function commandsOf(tokens: readonly ShellToken[]): readonly (readonly ShellToken[])[] {
  const commands: ShellToken[][] = [[]]
  const nested: (readonly ShellToken[])[] = []
  for (const token of tokens) {
    if (token.kind === "operator") commands.push([])
    else if (token.kind === "word") commands.at(-1)?.push(token)
    nested.push(...token.inner.flatMap((inner) => commandsOf(inner)))
  }
  return [...commands.filter((words) => words.length > 0), ...nested]
}

/** The words from the program on, after assignments and reserved words. */
export function fromProgram(words: readonly ShellToken[]): readonly ShellToken[] {
  const at = words.findIndex(({ text }) => !ASSIGNMENT.test(text) && !RESERVED.has(text))
  return at === -1 ? [] : words.slice(at)
}

const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/
const RESERVED = new Set("if then elif else do while until ! { } time coproc".split(" "))
const OPERATORS = [";;&", ";;", ";&", "&&", "||", "|&", ";", "&", "|", "\n", "(", ")"]
const REDIRECT = /\d*(?:&>>|&>|>>|>&|>\||<<<|<<-|<<|<&|<>|>|<)/y
const MAX_NESTING = 20

class Lexer {
  readonly #text: string
  readonly #end: number
  readonly #nesting: number
  #at: number
  readonly #tokens: ShellToken[] = []
  #inner: (readonly ShellToken[])[] = []
  #hereDocuments: { readonly delimiter: string; readonly tabs: boolean }[] = []
  #isInTest = false

  constructor(text: string, start: number, end: number, nesting = 0) {
    this.#text = text
    this.#at = start
    this.#end = end
    this.#nesting = nesting
  }

  run(): readonly ShellToken[] {
    while (this.#at < this.#end) this.#next()
    return this.#tokens
  }

  #next(): void {
    const start = this.#at
    const character = this.#text[start] ?? ""
    if (character === " " || character === "\t" || character === "\r") this.#at += 1
    else if (this.#text.startsWith("\\\n", start)) this.#at += 2
    else if (character === "#") this.#at = this.#lineEnd(start)
    else if (this.#startsArithmetic()) this.#skipArithmetic()
    else if (!this.#isInTest && this.#redirect()) return
    else if (this.#operator()) return
    else this.#word()
  }

  /** `((…))` where a command may begin: an `&` inside is not an operator. */
  #startsArithmetic(): boolean {
    const last = this.#tokens.at(-1)
    const atCommand = last === undefined || last.kind === "operator" || RESERVED.has(last.text)
    return atCommand && this.#text.startsWith("((", this.#at)
  }

  #skipArithmetic(): void {
    const start = this.#at
    const end = this.#text.indexOf("))", start)
    this.#at = end === -1 || end >= this.#end ? this.#end : end + 2
    this.#push("word", start)
  }

  #operator(): boolean {
    const operator = OPERATORS.find((one) => this.#text.startsWith(one, this.#at))
    if (operator === undefined) return false
    const start = this.#at
    this.#at = Math.min(start + operator.length, this.#end)
    this.#push(this.#isInTest && operator !== "\n" ? "word" : "operator", start)
    if (operator === "\n") this.#skipHereDocuments()
    return true
  }

  #redirect(): boolean {
    REDIRECT.lastIndex = this.#at
    const [found] = REDIRECT.exec(this.#text) ?? []
    // `<(` and `>(` belong to a word.
    if (found === undefined || (/[<>]$/.test(found) && this.#text[this.#at + found.length] === "(")) return false
    const start = this.#at
    this.#at += found.length
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at += 1
    const target = this.#at
    this.#readWord()
    if (found.endsWith("<<") || found.endsWith("<<-")) {
      const delimiter = this.#text.slice(target, this.#at).replaceAll(/["'\\]/g, "")
      this.#hereDocuments.push({ delimiter, tabs: found.endsWith("-") })
    }
    this.#push("redirect", start)
    return true
  }

  #skipHereDocuments(): void {
    for (const { delimiter, tabs } of this.#hereDocuments) {
      while (this.#at < this.#end) {
        const end = this.#lineEnd(this.#at)
        const line = this.#text.slice(this.#at, end)
        this.#at = Math.min(end + 1, this.#end)
        if ((tabs ? line.replace(/^\t+/, "") : line) === delimiter) break
      }
    }
    this.#hereDocuments = []
  }

  #word(): void {
    const start = this.#at
    this.#readWord()
    if (this.#at === start) this.#at += 1
    const text = this.#text.slice(start, this.#at)
    if (text === "[[") this.#isInTest = true
    if (text === "]]") this.#isInTest = false
    this.#push("word", start)
  }

  /** Reads to the end of the current word and collects the commands inside it. */
  #readWord(): void {
    while (this.#at < this.#end) {
      const character = this.#text[this.#at] ?? ""
      if (character === "\\") this.#at += 2
      else if (character === "'") this.#at = this.#after("'", this.#at + 1)
      else if (character === '"') this.#readDoubleQuotes()
      else if (this.#substitution()) continue
      else if (" \t\r\n;&|()<>".includes(character)) break
      else this.#at += 1
    }
    this.#at = Math.min(this.#at, this.#end)
  }

  #readDoubleQuotes(): void {
    this.#at += 1
    while (this.#at < this.#end && this.#text[this.#at] !== '"') {
      if (this.#text[this.#at] === "\\") this.#at += 2
      else if (!this.#substitution()) this.#at += 1
    }
    this.#at += 1
  }

  #substitution(): boolean {
    const start = this.#at
    const two = this.#text.slice(start, start + 2)
    if (two === "${") this.#at = this.#balanced(start + 2, "{", "}")
    else if (this.#text.startsWith("$((", start)) this.#at = this.#balanced(start + 2, "(", ")")
    else if (two === "$(" || two === "<(" || two === ">(") {
      this.#at = this.#balanced(start + 2, "(", ")")
      this.#nest(start + 2)
    } else if (two.startsWith("`")) {
      this.#at = this.#after("`", start + 1)
      this.#nest(start + 1)
    } else return false
    return true
  }

  #nest(start: number): void {
    if (this.#nesting >= MAX_NESTING) return
    this.#inner.push(new Lexer(this.#text, start, Math.max(start, this.#at - 1), this.#nesting + 1).run())
  }

  /** The offset after the bracket that closes one opened before `from`; quoted brackets do not count. */
  #balanced(from: number, open: string, close: string): number {
    let depth = 1
    let at = from
    while (at < this.#end) {
      const character = this.#text[at]
      if (character === "\\") at += 1
      else if (character === "'") at = this.#after("'", at + 1) - 1
      else if (character === '"') at = this.#afterDoubleQuote(at + 1) - 1
      else if (character === open) depth += 1
      else if (character === close) depth -= 1
      at += 1
      if (depth === 0) return at
    }
    return this.#end
  }

  #afterDoubleQuote(from: number): number {
    let at = from
    while (at < this.#end && this.#text[at] !== '"') at += this.#text[at] === "\\" ? 2 : 1
    return Math.min(at + 1, this.#end)
  }

  #after(mark: string, from: number): number {
    const at = this.#text.indexOf(mark, from)
    return at === -1 || at >= this.#end ? this.#end : at + 1
  }

  #lineEnd(from: number): number {
    const at = this.#text.indexOf("\n", from)
    return at === -1 || at > this.#end ? this.#end : at
  }

  #push(kind: ShellToken["kind"], start: number): void {
    this.#tokens.push({ kind, text: this.#text.slice(start, this.#at), start, end: this.#at, inner: this.#inner })
    this.#inner = []
  }
}
