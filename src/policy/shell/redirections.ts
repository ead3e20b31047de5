import { resolve } from "node:path/posix"

import type { Redirection as RedirectionNode, Word } from "unbash"

import { expandHereDocument, expandWhole, expandWord } from "./expansion/expand-word.ts"
import type { Expansion } from "./expansion/expand-word.ts"
import { COMPUTED_INPUT } from "./interpreter.ts"
import type { Field, Input, Outcome } from "./interpreter.ts"
import { HIDDEN_NAMES } from "./name-source.ts"
import type { Scope } from "./scope.ts"
import type { NameSource, Redirection } from "./understood-command.ts"

export interface ExpandedRedirections {
  readonly redirections: readonly Redirection[]
  /** Undefined when standard input is not redirected. */
  readonly input: Input | undefined
}

const LONGEST_FILE = 65_536
/** More texts than this are not kept: such a file counts as one whose text is not known. */
const MOST_TEXTS = 256
const MOST_FILES = 10_000

export function expandRedirections(nodes: readonly RedirectionNode[], expansion: Expansion): ExpandedRedirections {
  const redirections: Redirection[] = []
  let input: Input | undefined
  for (const node of nodes) {
    const descriptor = node.descriptor?.type === "FileDescriptor" ? node.descriptor.value : undefined
    const isStandardInput = descriptor === undefined || descriptor === 0
    if (node.type === "HereDoc") {
      const word = expandHereDocument(node.body, node.delimiter?.quoted ?? false, expansion)
      if (isStandardInput)
        input = { from: { kind: "text", word }, text: word.known ? word.text : undefined, names: word.names }
    } else if (node.type === "HereString") {
      const word = node.target && expandWhole(node.target, expansion)
      if (word === undefined || !isStandardInput) continue
      input = { from: { kind: "text", word }, text: word.known ? `${word.text}\n` : undefined, names: word.names }
    } else {
      const target = node.target && expandTarget(node.target, expansion)
      if (target === undefined) continue
      redirections.push({ operator: node.operator, descriptor, target: plain(target) })
      if (node.operator === "<&" && isStandardInput && target.text !== "-")
        input = { ...COMPUTED_INPUT, names: HIDDEN_NAMES }
      if ((node.operator === "<" || node.operator === "<>") && isStandardInput) {
        const text = fileText(target, expansion.frame.scope)
        const names = text === undefined ? fileNames(target, expansion.frame.scope) : undefined
        input = { from: { kind: "file", path: plain(target) }, text, names }
      }
    }
  }
  return { redirections, input }
}

function expandTarget(word: Word, expansion: Expansion): Field {
  const [field, ...others] = expandWord(word, expansion)
  return field !== undefined && others.length === 0 ? field : expandWhole(word, expansion)
}

function plain({ text, known, pattern, names }: Field): Redirection["target"] {
  return names === undefined ? { text, known, pattern } : { text, known, pattern, names }
}

/** The text of a file or process substitution that is read, as far as the line itself wrote it. */
export function fileText(word: Field, scope: Scope): string | undefined {
  if (word.process !== undefined) return word.process.output
  const path = filePath(word, scope)
  return path === undefined ? undefined : scope.files.get(path)
}

/** The words in a file whose text is not known. */
export function fileNames(word: Field, scope: Scope): NameSource | undefined {
  // What a program makes of a text that is known is not known either.
  if (word.process !== undefined) return word.process.output === undefined ? word.process.names : HIDDEN_NAMES
  const path = filePath(word, scope)
  return path === undefined ? HIDDEN_NAMES : { files: [path], isHidden: false }
}

export function filePath(word: Field, { directories }: Scope): string | undefined {
  const [directory] = directories
  if (!word.known || word.pattern || word.text === "") return undefined
  return word.text.startsWith("/") ? resolve(word.text) : directory && resolve(directory, word.text)
}

/** Remembers what a command writes to files, and returns what is left for the next command of a pipeline. */
export function redirectOutput(outcome: Outcome, redirections: readonly Redirection[], scope: Scope): Outcome {
  let { output } = outcome
  for (const { operator, descriptor, target } of redirections) {
    if (operator === "<" || operator === "<&" || operator === "<>") continue
    if (descriptor !== undefined && descriptor !== 1 && !operator.startsWith("&")) continue
    if (operator === ">&" && /^(?:\d+|-)$/u.test(target.text)) {
      if (target.text !== "1") output = ""
      continue
    }
    rememberFile(target, { text: output, appends: operator.endsWith(">>") }, scope)
    if (outcome.copies !== undefined && output === undefined) rememberCopy(target, outcome.copies, scope)
    output = ""
  }
  return output === outcome.output ? outcome : { ...outcome, output }
}

/** A file that may have the content of a program stands for that program. */
export function rememberCopy(target: Field, program: string, scope: Scope): void {
  const path = filePath(target, scope)
  if (path !== undefined && !path.startsWith("/dev/") && scope.copies.size < MOST_TEXTS) scope.copies.set(path, program)
}

export function rememberFile(
  target: Field,
  { text, appends }: { readonly text: string | undefined; readonly appends: boolean },
  scope: Scope,
): void {
  const path = filePath(target, scope)
  if (path === undefined || path.startsWith("/dev/")) return
  const before = appends ? scope.files.get(path) : ""
  const isKnown = text !== undefined && before !== undefined && (before + text).length <= LONGEST_FILE
  // Appending to a file that the line did not write leaves it unknown.
  const whole = isKnown && (!appends || scope.files.has(path)) ? before + text : undefined
  const isNew = !scope.files.has(path)
  if (isNew && scope.files.size >= MOST_FILES) return
  scope.files.set(path, isNew && scope.files.size >= MOST_TEXTS ? undefined : whole)
}
