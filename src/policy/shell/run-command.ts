import type { Assignment, Command, Redirection as RedirectionNode } from "unbash"

import { runVariableCommands } from "./nested/command-variables.ts"
import { evaluateNumber, expandWhole, expandWord, runIndexValue } from "./expansion/expand-word.ts"
import type { Expansion } from "./expansion/expand-word.ts"
import type { Call, Field, Frame, Interpreter, Outcome } from "./interpreter.ts"
import { joinNames } from "./name-source.ts"
import { rememberNamedCommands } from "./named-commands.ts"
import { expandRedirections, redirectOutput } from "./redirections.ts"
import { knownWord, UNKNOWN } from "./scope.ts"
import type { Value } from "./scope.ts"
import type { ShellWord, SimpleCommand } from "./understood-command.ts"
import { readVariable, scalarOf } from "./expansion/variables.ts"

/** Expands a simple command, interprets its program and applies its assignments and redirections. */
export function runCommand(node: Command, frame: Frame, interpreter: Interpreter): Outcome {
  if (frame.scope.hasAliases()) runAlias(node, frame, interpreter)
  const expansion: Expansion = { frame, interpreter }
  const argv = expandArguments(node, expansion)
  const assignments = node.prefix.filter((item) => item.type === "Assignment")
  if (argv.length === 0) return runAssignments(node, assignments, expansion)
  const values = assignments.map((one) => ({ name: one.name, value: assignedValue(one, expansion) }))
  const { redirections, input } = expandRedirections(redirectionsOf(node), expansion)
  const call: Call = {
    argv,
    assignments: values.map(({ name, value }) => ({ name, value: shownValue(value) })),
    redirections,
    frame: { ...frame, input: input ?? frame.input },
  }
  const outcome = withTemporary(values, frame, () => interpreter.runCall(call))
  return redirectOutput(outcome, redirections, frame.scope)
}

function redirectionsOf({ prefix, suffix }: Command): readonly RedirectionNode[] {
  return [...prefix, ...suffix].filter((item) => item.type !== "Assignment" && item.type !== "Word")
}

function expandArguments({ name, suffix }: Command, expansion: Expansion): readonly Field[] {
  if (name === undefined) return []
  const argv = [...expandWord(name, expansion)]
  for (const item of suffix) {
    if (item.type === "Word") argv.push(...expandWord(item, expansion))
    else if (item.type === "Assignment") argv.push(expandDeclaration(item, expansion))
  }
  return argv
}

/** An argument of `export`, `declare` and so on, which is not split. */
function expandDeclaration(node: Assignment, expansion: Expansion): Field {
  if (node.value.type === "ArrayValue") {
    const value = assignedValue(node, expansion)
    expansion.frame.scope.setVariable(node.name, value)
    rememberNamedCommands(node.name, value, expansion.frame.scope, expansion.interpreter)
    return knownWord(node.text)
  }
  const { text, known, names } = expandWhole(node.value, expansion)
  const index = node.index === undefined ? "" : `[${expandWhole(node.index, expansion).text}]`
  return {
    text: `${node.name}${index}${node.append === true ? "+" : ""}=${text}`,
    known,
    pattern: false,
    ...(names !== undefined && { names }),
  }
}

function runAssignments(node: Command, assignments: readonly Assignment[], expansion: Expansion): Outcome {
  const { frame, interpreter } = expansion
  const shown: SimpleCommand["assignments"][number][] = []
  for (const assignment of assignments) {
    const value = assignedValue(assignment, expansion)
    frame.scope.setVariable(assignment.name, value)
    rememberNamedCommands(assignment.name, value, frame.scope, interpreter)
    shown.push({ name: assignment.name, value: shownValue(value) })
  }
  const { redirections, input } = expandRedirections(redirectionsOf(node), expansion)
  const call: Call = { argv: [], assignments: shown, redirections, frame: { ...frame, input: input ?? frame.input } }
  const index = interpreter.emit(call)
  runVariableCommands(shown, call, interpreter)
  // `$(<file)` prints the file.
  const isPrinted = node.prefix.length + node.suffix.length > 0 && input !== undefined
  const printed = isPrinted ? { output: input.text, names: input.names } : { output: "" }
  return redirectOutput({ ...printed, index, result: "succeeds" }, redirections, frame.scope)
}

function shownValue(value: Value): ShellWord {
  if (value.kind === "list") {
    const words = [...value.items.values()]
    return {
      text: `(${words.map(({ text }) => text).join(" ")})`,
      known: words.every(({ known }) => known),
      pattern: false,
    }
  }
  return scalarOf(value) ?? { text: "", known: false, pattern: false }
}

function assignedValue(assignment: Assignment, expansion: Expansion): Value {
  const { frame, interpreter } = expansion
  const { value, name, append, index } = assignment
  const before = append === true || index !== undefined ? readVariable(name, frame, interpreter) : undefined
  if (value.type === "ArrayValue") {
    const items = new Map(append === true && before?.kind === "list" ? before.items : [])
    for (const element of value.elements) {
      // An element with an index is not split.
      const isIndexed = /^\[.+\]\+?=/su.test(element.text)
      for (const field of isIndexed ? [expandWhole(element, expansion)] : expandWord(element, expansion)) {
        runIndexValue(field.text, expansion)
        const [, key, text] = /^\[([^\]]*)\]\+?=(.*)$/su.exec(field.text) ?? []
        if (key !== undefined) evaluateNumber(key, expansion)
        if (key !== undefined && text !== undefined) items.set(key, { ...field, text })
        else items.set(String(items.size), field)
      }
    }
    return { kind: "list", items }
  }
  const word = expandWhole(value, expansion)
  runIndexValue(word.text, expansion)
  if (index !== undefined) {
    const key = expandWhole(index, expansion)
    // The index of a list is arithmetic.
    evaluateNumber(key.text, expansion)
    if (!key.known) return UNKNOWN
    const items = new Map<string, ShellWord>(before?.kind === "list" ? before.items : [])
    if (before?.kind === "text") items.set("0", before.word)
    items.set(key.text, word)
    return { kind: "list", items }
  }
  if (append !== true) return { kind: "text", word }
  const start = before === undefined ? undefined : scalarOf(before)
  if (start === undefined) {
    // Only the beginning of the search path is known.
    return name === "PATH" ? UNKNOWN : { kind: "text", word: { ...word, text: `$${name}${word.text}`, known: false } }
  }
  const names = joinNames(start.names, word.names)
  return {
    kind: "text",
    word: {
      text: start.text + word.text,
      known: start.known && word.known,
      pattern: false,
      ...(names !== undefined && { names }),
    },
  }
}

/** `name=value program`: the variables exist only while the program runs. */
function withTemporary(
  values: readonly { readonly name: string; readonly value: Value }[],
  { scope }: Frame,
  run: () => Outcome,
): Outcome {
  if (values.length === 0) return run()
  const before = values.map(({ name }) => ({ name, value: scope.variable(name) }))
  for (const { name, value } of values) scope.setVariable(name, value)
  try {
    return run()
  } finally {
    for (const { name, value } of before) {
      if (value === undefined) scope.forgetVariable(name)
      else scope.setVariable(name, value)
    }
  }
}

/** Whether the shell expands aliases is an option, so the command is also interpreted as it was written. */
function runAlias({ name, end }: Command, frame: Frame, interpreter: Interpreter): void {
  if (name === undefined || name.parts !== undefined || name.text !== name.value) return
  const alias = frame.scope.alias(name.value)
  const mark = `alias ${name.value}`
  if (alias === undefined || frame.active.includes(mark)) return
  if (alias.text === undefined) {
    interpreter.doubt("program", name.value, "it is an alias whose text is not known")
    return
  }
  const rest = frame.text.slice(name.end, end)
  // A blank at the end of an alias makes the shell expand the next word as well: `alias sudo='sudo '`.
  const expanded = /\s$/u.test(alias.text)
    ? rest.replace(/^(\s*)([^\s'"$;&|<>]+)/u, (whole, space: string, word: string) => {
        const next = frame.scope.alias(word)?.text
        return next === undefined ? whole : `${space}${next}`
      })
    : rest
  interpreter.runText(`${alias.text} ${expanded}`, {
    ...frame,
    source: "alias",
    active: [...frame.active, mark],
  })
}
