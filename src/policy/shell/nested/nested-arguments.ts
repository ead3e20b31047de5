import type { Call, Field, Input, Interpreter, Outcome } from "../interpreter.ts"
import { UNKNOWN_OUTCOME } from "../interpreter.ts"
import { printedPaths } from "../output/printed-paths.ts"
import { fileNames, fileText } from "../redirections.ts"
import { knownWord } from "../scope.ts"
import { asPart } from "../name-source.ts"
import type { NameSource } from "../understood-command.ts"
import { findCommand, joinWords, optionValue, runInside, runInsideText } from "./unwrap.ts"

const MOST_LINES = 256
/** So short that it has at most this number of words or lines. */
const MOST_INPUT = 512
/** Stands for words that are only known when the command runs. */
export const UNKNOWN_WORDS: Field = { text: "{}", known: false, pattern: false, splits: true }

const MOST_ACTIONS = 16
const FIND_ACTIONS = new Set(["-exec", "-execdir", "-ok", "-okdir"])

/** `find … -exec command {} ;` */
export function runFind(call: Call, interpreter: Interpreter): void {
  const { argv } = call
  const names = printedPaths("find", call)
  let count = 0
  for (let at = 1; at < argv.length; at += 1) {
    if (!FIND_ACTIONS.has(argv[at]?.text ?? "")) continue
    const rest = argv.slice(at + 1)
    const length = rest.findIndex(({ text }, index) => text === ";" || (text === "+" && rest[index - 1]?.text === "{}"))
    const words = (length === -1 ? rest : rest.slice(0, length)).map((word) => withUnknown(word, "{}", names))
    if (words.length === 0) continue
    count += 1
    if (count > MOST_ACTIONS) {
      interpreter.doubt("length", "find", "it starts too many commands")
      return
    }
    runInside({ ...call, argv: [...argv.slice(0, at + 1), ...words] }, { name: "find", at: at + 1 }, interpreter)
    at += words.length
  }
}

/** A word whose mark is replaced when the command runs. */
function withUnknown(word: Field, mark: string, names?: NameSource): Field {
  if (mark === "" || !word.text.includes(mark)) return word
  const part = asPart(names)
  return part === undefined ? { ...word, known: false } : { ...word, known: false, names: part }
}

const XARGS = {
  short: "aEILnPsdJRS",
  long: "arg-file delimiter max-args max-procs max-chars process-slot-var eof max-lines"
    .split(" ")
    .map((name) => `--${name}`),
}

/** The words or lines of standard input become arguments. */
export function runXargs(call: Call, interpreter: Interpreter): Outcome | undefined {
  const found = findCommand(call.argv, XARGS)
  if (found === undefined) return undefined
  const { at } = found
  const own = call.argv.slice(0, at)
  const mark = replacementMark(own)
  const command = call.argv.slice(at)
  const run = (words: readonly Field[]): Outcome =>
    runInside({ ...call, argv: [...own, ...words] }, { name: "xargs", at }, interpreter)
  const { text, names } = argumentInput(optionValue(own, ["-a", "--arg-file"])?.word, call)
  if (text !== undefined && text.length > MOST_INPUT) interpreter.doubt("length", "xargs", "it reads too many words")
  if (text === undefined) {
    const listed = interpreter.namesIn(names)
    if (mark !== undefined && listed.length > 0) return runEach(listed)
    if (listed.length > 0) return run([...command, ...listed.map((word) => knownWord(word))])
    return run(
      mark === undefined ? [...command, unknownWords(names)] : command.map((word) => withUnknown(word, mark, names)),
    )
  }
  if (mark === undefined) return run([...command, ...splitInput(text, own).map((word) => knownWord(word))])
  return runEach(text.split(/[\n\0]/u).filter((one) => one !== ""))

  /** Once for each line, which takes the place of the mark. */
  function runEach(lines: readonly string[]): Outcome {
    let outcome: Outcome = UNKNOWN_OUTCOME
    for (const line of lines.slice(0, MOST_LINES)) {
      const replaced = (word: Field): Field =>
        mark === undefined ? word : { ...word, text: word.text.replaceAll(mark, () => line.trimStart()) }
      outcome = run(command.map(replaced))
    }
    return { ...outcome, output: undefined }
  }
}

/** What becomes arguments: a file that an option names, or standard input. */
function argumentInput(file: Field | undefined, { frame }: Call): Pick<Input, "text" | "names"> {
  if (file === undefined || /^(?:-|\/dev\/stdin)$/u.test(file.text)) return frame.input
  const text = fileText(file, frame.scope)
  return text === undefined ? { text, names: fileNames(file, frame.scope) } : { text }
}

function unknownWords(names: NameSource | undefined): Field {
  const part = asPart(names)
  return part === undefined ? UNKNOWN_WORDS : { ...UNKNOWN_WORDS, names: part }
}

function replacementMark(own: readonly Field[]): string | undefined {
  if (own.some(({ text }) => text === "-i" || text === "--replace")) return "{}"
  return optionValue(own, ["-I", "-J", "--replace"])?.word.text
}

/** Splits as xargs does: at blanks, with quotes and backslashes; or at a delimiter. */
function splitInput(text: string, own: readonly Field[]): readonly string[] {
  if (own.some((word) => /^-\w*0$|^--null$/u.test(word.text))) return text.split("\0").filter((word) => word !== "")
  const delimiter = optionValue(own, ["-d", "--delimiter"])?.word.text
  if (delimiter !== undefined)
    return text.split(delimiter === String.raw`\n` ? "\n" : delimiter).filter((word) => word !== "")
  const words: string[] = []
  for (const match of text.matchAll(/(?:"[^"\n]*"|'[^'\n]*'|\\[^]|[^\s"'\\])+/gu)) {
    words.push(match[0].replaceAll(/"([^"\n]*)"|'([^'\n]*)'|\\([^])/gu, "$1$2$3"))
    if (words.length >= MOST_INPUT) break
  }
  return words
}

const PARALLEL = {
  short: "jSaIdNnLPCE",
  long: "jobs sshlogin arg-file delimiter max-args max-procs colsep joblog results timeout delay retries halt tmpdir workdir tagstring basefile env"
    .split(" ")
    .map((name) => `--${name}`),
}

/** `parallel command ::: a b`; without `:::` the lines of standard input are the arguments, or whole commands. */
export function runParallel(call: Call, interpreter: Interpreter): Outcome {
  const found = findCommand(call.argv, PARALLEL)
  const start = found?.at ?? call.argv.length
  const separator = call.argv.findIndex(({ text }) => /^:::\+?:?\+?$/u.test(text))
  const command = call.argv.slice(start, separator === -1 ? undefined : separator)
  const after = separator === -1 ? [] : call.argv.slice(separator + 1).filter(({ text }) => !text.startsWith(":::"))
  const file =
    call.argv[separator]?.text.startsWith("::::") === true
      ? after[0]
      : optionValue(call.argv.slice(0, start), ["-a", "--arg-file"])?.word
  const isRead = separator === -1 || file !== undefined
  const input = argumentInput(file, call)
  const args = isRead ? parallelArguments(input, interpreter) : after
  const text = joinWords(command.length === 0 ? [knownWord("{}")] : command)
  const at = Math.min(start, call.argv.length)
  let outcome: Outcome = UNKNOWN_OUTCOME
  if ((args?.length ?? 0) > MOST_LINES) interpreter.doubt("length", "parallel", "it has too many arguments")
  for (const word of (args ?? [unknownWords(input.names)]).slice(0, MOST_LINES)) {
    const whole = text.text.includes("{}") ? text.text.replaceAll("{}", word.text) : `${text.text} ${word.text}`
    const isComputed = command.length === 0 && !word.known
    if (word.names !== undefined) interpreter.emit({ ...call, argv: [...command, word] })
    outcome = runInsideText(
      call,
      { name: "parallel", at, text: { text: whole, known: text.known && !isComputed, pattern: false } },
      interpreter,
    )
  }
  return { ...outcome, output: undefined }
}

/** The lines that `parallel` reads; undefined when they are not known. */
function parallelArguments(
  { text, names }: Pick<Input, "text" | "names">,
  interpreter: Interpreter,
): readonly Field[] | undefined {
  const lines = text === undefined ? interpreter.namesIn(names) : text.split("\n").filter((line) => line !== "")
  return text === undefined && lines.length === 0 ? undefined : lines.map(knownWord)
}
