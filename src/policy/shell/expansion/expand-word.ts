import type { ArithmeticExpression, HereDocBody, ParsedScript, ProcessSubstitutionPart, Word, WordPart } from "unbash"

import { evaluateArithmetic, parseNumber } from "./arithmetic.ts"
import { expandBraces } from "./expand-braces.ts"
import { expandParameter } from "./expand-parameter.ts"
import type { OperandExpansion, ParameterWords } from "./expand-parameter.ts"
import { FieldBuilder } from "./field-builder.ts"
import { COMPUTED_INPUT } from "../interpreter.ts"
import type { Field, Frame, Interpreter } from "../interpreter.ts"
import { asPart } from "../name-source.ts"
import { knownWord, nameSource, textValue, UNKNOWN } from "../scope.ts"
import { quotePattern } from "./shell-pattern.ts"
import type { NameSource, ShellWord } from "../understood-command.ts"
import { homeOf, readVariable, scalarOf, separatorsOf } from "./variables.ts"

/** Where the words of a command come from: the shell that expands them. */
export interface Expansion {
  readonly frame: Frame
  readonly interpreter: Interpreter
}

/** The words that the shell makes of one word: none, one or several. */
export function expandWord(word: Word, expansion: Expansion): readonly Field[] {
  const { parts } = word
  if (parts === undefined) return [{ ...knownWord(withTilde(word, expansion)), pattern: false }]
  if (parts.some(({ type }) => type === "BraceExpansion")) return expandBraceWord(word, expansion)
  return expandParts(parts, expansion)
}

/** The text of a word in a context that does not split it, such as an assignment. */
export function expandWhole(word: Word, expansion: Expansion): ShellWord {
  const { parts } = word
  if (parts === undefined) return knownWord(withTilde(word, expansion))
  const builder = new FieldBuilder("")
  const tilde = tildeOf(parts, expansion)
  if (tilde !== undefined) builder.addQuoted(tilde.text)
  for (const [index, part] of parts.entries()) {
    if (index === 0 && tilde !== undefined && part.type === "Literal") builder.addQuoted(part.value.slice(tilde.length))
    else if (part.type === "BraceExpansion") builder.addQuoted(part.text)
    else new PartExpansion(expansion, builder).add(part, true)
  }
  const fields = builder.finish()
  const [only] = fields
  const isProcess = fields.find((field) => field.process !== undefined)
  if (fields.length === 1 && only !== undefined) return only
  return {
    text: fields.map(({ text }) => text).join(" "),
    known: fields.every(({ known }) => known),
    pattern: fields.some(({ pattern }) => pattern),
    ...(isProcess !== undefined && { process: isProcess.process }),
  }
}

export function expandHereDocument(body: HereDocBody, isQuoted: boolean, expansion: Expansion): ShellWord {
  if (isQuoted || body.parts === undefined) return knownWord(body.text)
  const builder = new FieldBuilder("")
  for (const part of body.parts) new PartExpansion(expansion, builder).add(part, true)
  return builder.finish()[0] ?? knownWord("")
}

/** A pattern of `case` or `${x#…}`, with quoted characters escaped; undefined when it is not known. */
export function expandPattern(word: Word, expansion: Expansion): string | undefined {
  const { parts } = word
  if (parts === undefined) return quotePattern(withTilde(word, expansion))
  let pattern = ""
  let isKnown = true
  for (const part of parts) {
    if (part.type === "Glob") pattern += part.text
    else if (part.type === "ExtendedGlob") isKnown = false
    else {
      const builder = new FieldBuilder("")
      new PartExpansion(expansion, builder).add(part, true)
      const [field] = builder.finish()
      if (field?.known === false) isKnown = false
      const isUnquoted = part.type === "SimpleExpansion" || part.type === "ParameterExpansion"
      pattern += isUnquoted ? (field?.text ?? "") : quotePattern(field?.text ?? "")
    }
  }
  return isKnown ? pattern : undefined
}

export function arithmeticValue(
  expression: ArithmeticExpression | undefined,
  expansion: Expansion,
): number | undefined {
  const { frame, interpreter } = expansion
  return evaluateArithmetic(expression, {
    read: (word) => {
      if (word.type === "ArithmeticCommandExpansion") {
        const { output } = substitute(word.script, expansion)
        return output === undefined ? undefined : parseNumber(output)
      }
      if (word.parts !== undefined) {
        const builder = new FieldBuilder("")
        for (const part of word.parts) new PartExpansion(expansion, builder).add(part, true)
        const [field] = builder.finish()
        return field?.known === true ? arithmeticText(field.text, expansion) : undefined
      }
      return arithmeticText(word.value, expansion)
    },
    write: (name, value) => {
      if (!/^[A-Za-z_]\w*$/u.test(name)) runIndex(name, { frame, interpreter })
      else frame.scope.setVariable(name, value === undefined ? UNKNOWN : textValue(String(value)))
    },
  })
}

/** A word of arithmetic: a number, or a variable that holds one. */
function arithmeticText(text: string, expansion: Expansion, depth = 0): number | undefined {
  const number = parseNumber(text)
  if (number !== undefined) return number
  if (!/^[A-Za-z_]\w*$/u.test(text.trim())) return depth < 8 ? computedNumber(text.trim(), expansion, depth) : undefined
  const value = readVariable(text.trim(), expansion.frame, expansion.interpreter)
  if (value.kind === "unset") return 0
  const word = scalarOf(value)
  return word?.known === true && depth < 8 ? arithmeticText(word.text, expansion, depth + 1) : undefined
}

/** The parser leaves `$x` and `a[x]` in arithmetic as they are. */
function computedNumber(text: string, expansion: Expansion, depth: number): number | undefined {
  runIndex(text, expansion)
  const index = /^[A-Za-z_]\w*\[([\w\s$]+)\]$/u.exec(text)?.[1]
  if (index !== undefined) arithmeticText(index, expansion, depth + 1)
  if (!/^\$\w+$/u.test(text)) return undefined
  const word = scalarOf(readVariable(text.slice(1), expansion.frame, expansion.interpreter))
  return word?.known === true ? arithmeticText(word.text, expansion, depth + 1) : undefined
}

/** Evaluates a text as arithmetic, for the commands in it. */
export function evaluateNumber(text: string, expansion: Expansion): void {
  const number = arithmeticText(text, expansion)
  if (number !== undefined || /^[\s\w]*$/u.test(text)) return
  const [part] = expansion.interpreter.parseWord(`$((${text}))`)?.parts ?? []
  if (part?.type === "ArithmeticExpansion") arithmeticValue(part.expression, expansion)
}

/** A value such as `a[$(command)]`, which has no other use than to be evaluated. */
export function runIndexValue(text: string, expansion: Expansion): void {
  if (text.includes("[") && /\w\[[^\]]*(?:\$\(|`)/u.test(text)) runIndex(text, expansion)
}

/** Arithmetic evaluates the index of `a[$(command)]`, even when a variable holds that text. */
export function runIndex(text: string, expansion: Expansion): void {
  if (text.includes("[") && /\$\(|`/u.test(text)) expandAgain(text, expansion)
}

/** Runs the substitutions that a text contains. */
export function expandAgain(text: string, expansion: Expansion): ShellWord {
  const word = expansion.interpreter.parseWord(`"${text.replaceAll('"', String.raw`\"`)}"`)
  return word === undefined ? { text, known: false, pattern: false } : expandWhole(word, expansion)
}

function expandParts(parts: readonly WordPart[], expansion: Expansion): readonly Field[] {
  const separators = separatorsOf(expansion.frame, expansion.interpreter)
  const builder = new FieldBuilder(separators ?? "")
  const tilde = tildeOf(parts, expansion)
  if (tilde !== undefined) builder.addQuoted(tilde.text)
  const expander = new PartExpansion(expansion, builder)
  for (const [index, part] of parts.entries()) {
    if (index === 0 && tilde !== undefined && part.type === "Literal")
      builder.addLiteral(part.value.slice(tilde.length))
    else expander.add(part, false)
  }
  const fields = builder.finish()
  if (separators !== undefined) return fields
  return fields.map((field) => {
    if (field.known) return parts.some(isExpansion) ? { ...field, known: false, splits: true } : field
    const names = asPart(field.names)
    return names === undefined ? field : { ...field, names }
  })
}

function isExpansion({ type }: WordPart): boolean {
  return type === "SimpleExpansion" || type === "ParameterExpansion" || type === "CommandExpansion"
}

/** The shell expands braces in the source text before anything else, so each result is parsed as a word of its own. */
function expandBraceWord(word: Word, expansion: Expansion): readonly Field[] {
  const { interpreter } = expansion
  const texts = expandBraces(word.text)
  if (texts === undefined || !interpreter.spend(texts.length)) {
    return [{ text: word.text, known: false, pattern: false, splits: true }]
  }
  return texts.flatMap((text) => {
    if (text === "") return []
    if (PLAIN_WORD.test(text)) return [knownWord(text)]
    const parsed = interpreter.parseWord(text)
    if (parsed === undefined) return [{ text, known: false, pattern: false, splits: true }]
    return parsed.parts === undefined ? expandWord(parsed, expansion) : expandParts(parsed.parts, expansion)
  })
}

const PLAIN_WORD = /^[\w./:@%+,-]+$/u

interface Tilde {
  readonly text: string
  /** How many characters of the word it replaces. */
  readonly length: number
}

function withTilde(word: Word, expansion: Expansion): string {
  if (!word.text.includes("~")) return word.value
  const text = withoutContinuations(word.text)
  const tilde = tildePrefix(text, true, expansion)
  if (tilde !== undefined) return tilde.text + word.value.slice(tilde.length)
  // As in `dd of=~/x`: after the equals sign of what looks like an assignment.
  const [name] = /^[A-Za-z_]\w*=(?=~)/u.exec(text) ?? []
  const value = name === undefined ? undefined : tildePrefix(text.slice(name.length), true, expansion)
  if (name === undefined || value === undefined) return word.value
  return name + value.text + word.value.slice(name.length + value.length)
}

function tildeOf(parts: readonly WordPart[], expansion: Expansion): Tilde | undefined {
  const [first] = parts
  if (first?.type !== "Literal" || !first.value.startsWith("~")) return undefined
  return tildePrefix(withoutContinuations(first.text), parts.length === 1, expansion)
}

function withoutContinuations(text: string): string {
  return text.includes("\\\n") ? text.replaceAll("\\\n", "") : text
}

function tildePrefix(text: string, isWholeWord: boolean, { frame, interpreter }: Expansion): Tilde | undefined {
  const [prefix] = /^~[\w.+-]*/u.exec(text) ?? []
  if (prefix === undefined) return undefined
  const next = text[prefix.length]
  if (next !== "/" && !(next === undefined && isWholeWord) && next !== ":") return undefined
  const directory = tildeDirectory(prefix.slice(1), frame, interpreter)
  return directory === undefined ? undefined : { text: directory, length: prefix.length }
}

function tildeDirectory(name: string, frame: Frame, interpreter: Interpreter): string | undefined {
  if (name === "") return homeOf(frame, interpreter)
  if (name === "+") return frame.scope.directories.length === 1 ? frame.scope.directories[0] : undefined
  if (name === "-") {
    const before = scalarOf(readVariable("OLDPWD", frame, interpreter))
    return before?.known === true ? before.text : undefined
  }
  if (/^[+-]?\d+$/u.test(name)) return undefined
  const { userHome } = interpreter
  const parent = userHome.slice(0, userHome.lastIndexOf("/") + 1)
  if (userHome.endsWith(`/${name}`)) return userHome
  return name === "root" ? "/root" : `${parent === "/" ? "/home/" : parent}${name}`
}

/** Runs a substitution in a subshell and returns its output without the line breaks at the end. */
function substitute(script: ParsedScript | undefined, expansion: Expansion): NonNullable<Field["process"]> {
  const { frame, interpreter } = expansion
  if (script === undefined) return { output: undefined }
  const { output, names } = interpreter.runScript(script, {
    ...frame,
    scope: frame.scope.fork(),
    text: script.source ?? frame.text,
    source: frame.source === "remote" ? "remote" : "substitution",
    wrappers: [],
    background: false,
  })
  return output === undefined ? { output, names } : { output: withoutFinalBreaks(output) }
}

/** A regular expression would take quadratic time on many line breaks. */
function withoutFinalBreaks(text: string): string {
  let end = text.length
  while (text[end - 1] === "\n") end -= 1
  return text.slice(0, end)
}

/** Adds the parts of one word to a builder. */
class PartExpansion {
  readonly #expansion: Expansion
  readonly #builder: FieldBuilder

  constructor(expansion: Expansion, builder: FieldBuilder) {
    this.#expansion = expansion
    this.#builder = builder
  }

  add(part: WordPart, isQuoted: boolean): void {
    switch (part.type) {
      case "Literal":
        if (isQuoted) this.#builder.addQuoted(part.value)
        else this.#builder.addLiteral(part.value)
        return
      case "SingleQuoted":
      case "AnsiCQuoted":
        this.#builder.addQuoted(part.value)
        return
      case "DoubleQuoted":
      case "LocaleString":
        this.#addDoubleQuoted(part.parts)
        return
      case "Glob":
      case "ExtendedGlob":
        if (isQuoted) this.#builder.addQuoted(part.text)
        else this.#builder.addPattern(part.text)
        for (const inner of part.parts ?? []) this.#runOnly(inner)
        return
      case "BraceExpansion":
        this.#builder.addLiteral(part.text)
        return
      case "SimpleExpansion":
        this.#addParameter(this.#readSimple(part.text.slice(1)), part, isQuoted)
        return
      case "ParameterExpansion": {
        const { frame, interpreter } = this.#expansion
        this.#addParameter(expandParameter(part, { frame, interpreter, operands: this.#operands() }), part, isQuoted)
        return
      }
      case "CommandExpansion": {
        const { output, names } = substitute(part.script, this.#expansion)
        if (output === undefined) this.#addUnknown(part.text, isQuoted, names)
        else this.#builder.addWord(knownWord(output), isQuoted)
        return
      }
      case "ArithmeticExpansion": {
        const value = arithmeticValue(part.expression, this.#expansion)
        if (value === undefined) this.#builder.addUnknown(part.text, isQuoted)
        else this.#builder.addLiteral(String(value))
        return
      }
      case "ProcessSubstitution":
        this.#addProcess(part)
    }
  }

  /** An empty list, as in "$@" without arguments, leaves no word at all. */
  #addDoubleQuoted(parts: readonly WordPart[]): void {
    if (parts.length > 1 || !isList(parts[0])) this.#builder.addQuoted("")
    for (const part of parts) this.add(part, true)
  }

  #runOnly(part: WordPart): void {
    new PartExpansion(this.#expansion, new FieldBuilder("")).add(part, true)
  }

  /** A command inside `>(…)` reads what the surrounding command writes, which is not known here. */
  #addProcess({ text, operator, script }: ProcessSubstitutionPart): void {
    const { frame, interpreter } = this.#expansion
    const inside = operator === ">" ? { ...frame, input: COMPUTED_INPUT } : frame
    this.#builder.addProcess(text, substitute(script, { frame: inside, interpreter }))
  }

  #readSimple(name: string): ParameterWords | undefined {
    const { frame, interpreter } = this.#expansion
    const value = readVariable(name, frame, interpreter)
    if (name === "@" || name === "*") {
      if (value.kind !== "list") return undefined
      return { words: [...value.items.values()], isList: true, isJoined: name === "*" }
    }
    const word = scalarOf(value)
    return word === undefined ? undefined : { words: [word], isList: false, isJoined: false }
  }

  /** A part that is not known; once its list was read, the names in it. A quoted part is one of them. */
  #addUnknown(text: string, isQuoted: boolean, names: NameSource | undefined): void {
    const [first, ...others] = this.#expansion.interpreter.namesIn(names)
    if (first === undefined) this.#builder.addUnknown(text, isQuoted, names)
    else
      this.#builder.addWords(
        (isQuoted ? [first] : [first, ...others]).map((name) => knownWord(name)),
        true,
      )
  }

  #addParameter(
    found: ParameterWords | undefined,
    part: Extract<WordPart, { type: "SimpleExpansion" | "ParameterExpansion" }>,
    isQuoted: boolean,
  ): void {
    if (found === undefined) {
      const name = part.type === "SimpleExpansion" ? part.text.slice(1) : part.parameter
      const value = this.#expansion.frame.scope.variable(name)
      const names = value === undefined ? undefined : nameSource(value)
      this.#addUnknown(part.text, isQuoted, isPlain(part) ? names : asPart(names))
      return
    }
    const listed = found.words.find(({ names }) => names !== undefined)?.names
    if (listed !== undefined && this.#expansion.interpreter.namesIn(listed).length > 0) {
      this.#addUnknown(part.text, isQuoted, listed)
      return
    }
    if (found.isJoined && isQuoted) {
      const { frame, interpreter } = this.#expansion
      const separator = (separatorsOf(frame, interpreter) ?? " ").slice(0, 1)
      const joined = found.words.map((word) => word.text).join(separator)
      this.#builder.addWord({ text: joined, known: found.words.every(({ known }) => known), pattern: false }, true)
      return
    }
    this.#builder.addWords(isPlain(part) ? found.words : found.words.map(wordAsPart), isQuoted)
  }

  #operands(): OperandExpansion {
    const expansion = this.#expansion
    return {
      whole: (word) => expandWhole(word, expansion),
      pattern: (word) => expandPattern(word, expansion),
      number: (word) => {
        const whole = expandWhole(word, expansion)
        if (!whole.known) return undefined
        const number = arithmeticText(whole.text, expansion)
        if (number !== undefined || /^[\s\w[\]]*$/u.test(whole.text)) return number
        const parsed = expansion.interpreter.parseWord(`$((${whole.text}))`)
        const [part] = parsed?.parts ?? []
        return part?.type === "ArithmeticExpansion" ? arithmeticValue(part.expression, expansion) : undefined
      },
      assign: (name, word) => {
        runIndexValue(word.text, expansion)
        expansion.frame.scope.setVariable(name, { kind: "text", word })
      },
      again: (text) => expandAgain(text, expansion),
    }
  }
}

/** `$name` or `${name}`: the value as it is. */
function isPlain(part: Extract<WordPart, { type: "SimpleExpansion" | "ParameterExpansion" }>): boolean {
  return part.type === "SimpleExpansion" || part.text === `\${${part.parameter}}`
}

function wordAsPart(word: ShellWord): ShellWord {
  const names = asPart(word.names)
  return names === undefined || names === word.names ? word : { ...word, names }
}

function isList(part: WordPart | undefined): boolean {
  if (part?.type === "SimpleExpansion") return part.text === "$@"
  return part?.type === "ParameterExpansion" && (part.parameter === "@" || part.index?.text === "@")
}
