import { resolve } from "node:path/posix"

import type { Call, Field, Frame, Interpreter, Outcome } from "../interpreter.ts"
import { hiddenDirectory } from "../computed-tail.ts"
import { isLongOption } from "../long-options.ts"
import { nestedSource } from "./nested-shell.ts"
import { knownWord } from "../scope.ts"
import type { Scope } from "../scope.ts"
import type { ShellWord } from "../understood-command.ts"
import type { Wrapper } from "./wrappers.ts"

/** Interprets the command behind a wrapper; undefined when the wrapper starts none. */
export function unwrap(
  call: Call,
  { name, wrapper }: { readonly name: string; readonly wrapper: Wrapper },
  interpreter: Interpreter,
): Outcome | undefined {
  const { argv } = call
  const start = wrapper.subcommands === undefined ? 1 : afterSubcommand(argv, wrapper)
  if (start === undefined) return undefined
  const text = textOption(argv, wrapper)
  if (text !== undefined) {
    return runInsideText(
      call,
      { name, at: text.at, text: joinWords([text.word, ...argv.slice(text.at + 1)]) },
      interpreter,
    )
  }
  const found = findCommand(argv, wrapper, start)
  if (found === undefined) return undefined
  const inside = {
    name,
    at: found.at,
    assignments: found.assignments,
    isBuiltin: wrapper.isBuiltin === true,
    directory: wrapper.directory && optionValue(argv.slice(0, found.at), wrapper.directory)?.word,
  }
  if (wrapper.joins !== true) return runInside(call, inside, interpreter)
  return runInsideText(call, { name, at: found.at, text: joinWords(argv.slice(found.at)) }, interpreter)
}

export interface Inside {
  readonly name: string
  /** Index of the inner program. */
  readonly at: number
  readonly assignments?: Call["assignments"]
  readonly isBuiltin?: boolean
  /** Where the wrapper starts the command. */
  readonly directory?: ShellWord | undefined
}

/** Interprets the words of `argv` from an index on as a command that the words before it start. */
export function runInside(
  call: Call,
  { name, at, assignments = [], isBuiltin = false, directory }: Inside,
  interpreter: Interpreter,
): Outcome {
  const { argv, frame } = call
  const scope = isBuiltin ? frame.scope : frame.scope.fork()
  for (const { name: variable, value } of assignments) scope.setVariable(variable, { kind: "text", word: value })
  if (directory !== undefined) {
    scope.changeDirectory([...hiddenDirectory(directory, interpreter.userHome), directoryOf(directory, scope)])
  }
  const outcome = interpreter.runCall({
    argv: argv.slice(at),
    assignments: [...call.assignments, ...assignments],
    redirections: call.redirections,
    skipsFunctions: true,
    frame: { ...frame, scope, wrappers: wrappersOf(call, name, at) },
  })
  return { ...outcome, result: isBuiltin ? outcome.result : "open" }
}

function directoryOf({ text, known }: ShellWord, { directories: [current] }: Scope): string | undefined {
  if (!known) return undefined
  return text.startsWith("/") ? resolve(text) : current && resolve(current, text)
}

export interface InsideText {
  readonly name: string
  /** Index of the first word that is not part of the wrapper. */
  readonly at: number
  readonly text: ShellWord
  readonly remote?: Pick<Frame, "remote" | "scope">
}

/** Interprets a text that a wrapper passes to a shell. */
export function runInsideText(call: Call, { name, at, text, remote }: InsideText, interpreter: Interpreter): Outcome {
  const { frame } = call
  if (!text.known) interpreter.doubt("script", text.text.slice(0, 200), "the text that a shell runs is partly computed")
  const outcome = interpreter.runText(text.text, {
    ...frame,
    scope: frame.scope.child(),
    source: nestedSource(frame),
    wrappers: wrappersOf(call, name, at),
    ...(remote !== undefined && { ...remote, source: "remote" }),
  })
  return { ...outcome, result: "open" }
}

function wrappersOf({ argv, frame }: Call, program: string, at: number): Frame["wrappers"] {
  const words = argv.slice(0, at).map(({ text, known, pattern }) => ({ text, known, pattern }))
  return [...frame.wrappers, { program, argv: words }]
}

export function joinWords(words: readonly ShellWord[]): ShellWord {
  return {
    text: words.map(({ text }) => text).join(" "),
    known: words.every(({ known }) => known),
    pattern: false,
  }
}

function afterSubcommand(argv: readonly Field[], { subcommands = [], ...wrapper }: Wrapper): number | undefined {
  let at = 1
  while (argv[at]?.text.startsWith("-") === true) at += takesNextWord(argv[at]?.text ?? "", wrapper) ? 2 : 1
  const found = subcommands.find((words) => words.every((word, index) => argv[at + index]?.text === word))
  return found && at + found.length
}

export interface FoundCommand {
  readonly at: number
  readonly assignments: Call["assignments"]
}

export function findCommand(argv: readonly Field[], wrapper: Wrapper, start = 1): FoundCommand | undefined {
  const assignments: Call["assignments"][number][] = []
  let operands = wrapper.operands ?? 0
  let optionsEnded = false
  const dashes = wrapper.afterDashes === true ? argv.findIndex(({ text }, at) => at >= start && text === "--") : -1
  for (let at = dashes === -1 ? start : dashes; at < argv.length; at += 1) {
    const word = argv[at] ?? knownWord("")
    if (!optionsEnded && word.text.startsWith("-")) {
      if (wrapper.without?.test(word.text) === true) return undefined
      if (word.text === "--") optionsEnded = true
      else if (takesNextWord(word.text, wrapper)) at += 1
      continue
    }
    const assigned = wrapper.assignments === true ? /^([A-Za-z_]\w*(?:%%|\(\))?)=(.*)$/su.exec(word.text) : null
    if (assigned !== null) {
      assignments.push({
        name: assigned[1] ?? "",
        value: { text: assigned[2] ?? "", known: word.known, pattern: false },
      })
      continue
    }
    if (operands > 0) {
      operands -= 1
      continue
    }
    return { at, assignments }
  }
  return undefined
}

export function takesNextWord(option: string, { short = "", long = [] }: Pick<Wrapper, "short" | "long">): boolean {
  if (option.startsWith("--")) return long.some((name) => isLongOption(option, name))
  const letters = option.slice(1)
  const at = letters.split("").findIndex((letter) => short.includes(letter))
  return at !== -1 && at === letters.length - 1
}

/** The value of the first of these options, attached or in the next word. */
export function optionValue(
  argv: readonly Field[],
  names: readonly string[],
): { readonly word: ShellWord; readonly at: number } | undefined {
  for (const [at, word] of argv.entries()) {
    if (at === 0) continue
    if (word.text === "--") return undefined
    for (const name of names) {
      const next = argv[at + 1]
      const isLong = name.startsWith("--")
      if (next !== undefined && (isLong ? isLongOption(word.text, name) : word.text === name))
        return { word: next, at: at + 1 }
      const equals = isLong && word.text.startsWith("--") ? word.text.indexOf("=") : -1
      if (equals !== -1 && isLongOption(word.text.slice(0, equals), name))
        return { word: { ...word, text: word.text.slice(equals + 1) }, at }
      if (isLong || !/^-[A-Za-z]+/u.test(word.text) || word.text.startsWith("--")) continue
      // Packed behind other short options, or with its value attached.
      const letter = name.slice(1)
      if (letter.length !== 1) continue
      if (word.text.startsWith(name) && word.text.length > 2) return { word: { ...word, text: word.text.slice(2) }, at }
      if (word.text.endsWith(letter) && /^-[A-Za-z]+$/u.test(word.text) && next !== undefined)
        return { word: next, at: at + 1 }
    }
  }
  return undefined
}

function textOption(argv: readonly Field[], { texts }: Wrapper): ReturnType<typeof optionValue> {
  return texts === undefined || texts.length === 0 ? undefined : optionValue(argv, texts)
}
