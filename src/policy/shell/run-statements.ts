import type {
  AndOr,
  CommandNode,
  CompoundCommand,
  CompoundList,
  Function as FunctionNode,
  Pipeline,
  PipelineNode,
  Redirected,
  Statement,
  Word,
} from "unbash"

import { assertNever } from "../../base/assert-never.ts"
import { arithmeticValue, expandPattern, expandWhole, expandWord, runIndexValue } from "./expansion/expand-word.ts"
import type { Expansion } from "./expansion/expand-word.ts"
import type { Field, Frame, Interpreter, Outcome } from "./interpreter.ts"
import { SILENT, UNKNOWN_OUTCOME } from "./interpreter.ts"
import { joinNames, wordNames } from "./name-source.ts"
import { expandRedirections, redirectOutput } from "./redirections.ts"
import { runCommand } from "./run-command.ts"
import { runTest } from "./run-test.ts"
import { joinDirectories, UNKNOWN, unknownFrom } from "./scope.ts"
import type { Directories, Scope, Value } from "./scope.ts"
import type { NameSource } from "./understood-command.ts"

/** A loop over more words is interpreted once, with its variable unknown. */
const MOST_ITERATIONS = 64
const LONGEST_OUTPUT = 65_536

/** Interprets statements one after the other, also those behind an `exit` that may not be reached. */
export function runStatements(statements: readonly Statement[], frame: Frame, interpreter: Interpreter): Outcome {
  let outcome: Outcome = SILENT
  for (const statement of statements) {
    if (!interpreter.spend(1)) return UNKNOWN_OUTCOME
    outcome = followedBy(outcome, runStatement(statement, frame, interpreter))
  }
  return outcome
}

function followedBy(first: Outcome, second: Outcome): Outcome {
  const output =
    first.output === undefined || second.output === undefined || first.output.length > LONGEST_OUTPUT
      ? undefined
      : first.output + second.output
  const names = output === undefined ? printedNames(first, second) : undefined
  const copies = second.copies ?? first.copies
  return { output, names, copies, index: second.index ?? first.index, result: second.result }
}

function printedNames(first: Outcome, second: Outcome): NameSource | undefined {
  if (first.output === "") return second.names
  return second.output === "" ? first.names : joinNames(first.names, second.names)
}

function runStatement({ command, background }: Statement, frame: Frame, interpreter: Interpreter): Outcome {
  if (background !== true) return runListItem(command, frame, interpreter)
  const outcome = runListItem(command, { ...frame, scope: frame.scope.fork(), background: true }, interpreter)
  return { ...outcome, output: undefined, result: "succeeds" }
}

function runListItem(node: PipelineNode | AndOr, frame: Frame, interpreter: Interpreter): Outcome {
  return node.type === "AndOr" ? runAndOr(node, frame, interpreter) : runPipelineNode(node, frame, interpreter)
}

/** Every command of the list may run. What a skipped one would have changed is uncertain afterwards. */
function runAndOr({ commands, operators }: AndOr, frame: Frame, interpreter: Interpreter): Outcome {
  const { scope } = frame
  const start = scope.directories
  const skipped: Scope[] = []
  let outcome: Outcome = SILENT
  for (const [index, command] of commands.entries()) {
    const operator = index === 0 ? undefined : operators[index - 1]
    if (operator === "||") {
      outcome = runAlternative(outcome, { frame, start, isOnly: index === 1 }, (inside) =>
        runPipelineNode(command, inside, interpreter),
      )
      continue
    }
    const before = scope.fork()
    const isCertain = outcome.result === "succeeds"
    const next = runPipelineNode(command, frame, interpreter)
    if (operator !== undefined) {
      if (endsHere(next, scope, before)) scope.adopt(before)
      else if (!isCertain) skipped.push(before)
    }
    outcome = followedBy(outcome, next)
    if (operator !== undefined && !isCertain) outcome = { ...outcome, result: "open" }
  }
  for (const before of skipped) scope.join(before)
  return outcome
}

/** The right side of `||` runs when the left side failed, and a directory change that failed did not happen. */
function runAlternative(
  first: Outcome,
  { frame, start, isOnly }: { readonly frame: Frame; readonly start: Directories; readonly isOnly: boolean },
  run: (frame: Frame) => Outcome,
): Outcome {
  const { scope } = frame
  const isCertain = first.result === "succeeds" && scope.directories === start
  const failed = scope.fork()
  failed.directories = isOnly ? start : joinDirectories(start, scope.directories)
  const before = failed.fork()
  const next = run({ ...frame, scope: failed })
  if (!isCertain && !endsHere(next, failed, before)) {
    // After `cd a || echo no` the directory is the new one or the old one.
    scope.join(failed)
  }
  if (isCertain) return first
  return { output: undefined, index: next.index ?? first.index, result: "open" }
}

/** Whether what follows only runs when this command did not. */
function endsHere({ result }: Outcome, scope: Scope, before: Scope): boolean {
  return result === "leaves" || (result === "breaks" && !scope.differsFrom(before))
}

function runPipelineNode(node: PipelineNode, frame: Frame, interpreter: Interpreter): Outcome {
  return node.type === "Pipeline" ? runPipeline(node, frame, interpreter) : runNode(node, frame, interpreter)
}

/** Each command of a pipeline runs in a subshell and reads what the one before it writes. */
function runPipeline({ commands, prefixes }: Pipeline, frame: Frame, interpreter: Interpreter): Outcome {
  const [only] = commands
  if (only !== undefined && commands.length === 1) {
    const outcome = runNode(only, frame, interpreter)
    return prefixes.some(({ type }) => type === "Negation") ? { ...outcome, result: "open" } : outcome
  }
  let outcome: Outcome = UNKNOWN_OUTCOME
  for (const [position, command] of commands.entries()) {
    const input: Frame["input"] =
      position === 0
        ? frame.input
        : {
            from: outcome.index === undefined ? undefined : { kind: "command", index: outcome.index },
            text: outcome.output,
            names: outcome.names,
            copies: outcome.copies,
          }
    outcome = runNode(command, { ...frame, scope: frame.scope.fork(), input }, interpreter)
  }
  return { ...outcome, result: outcome.result === "succeeds" ? "succeeds" : "open" }
}

function runNode(node: CommandNode, frame: Frame, interpreter: Interpreter): Outcome {
  if (!interpreter.spend(1)) return UNKNOWN_OUTCOME
  switch (node.type) {
    case "Command":
      return interpreter.withAlternatives(frame, (alternative) => runCommand(node, alternative, interpreter))
    case "Redirected":
      return runRedirected(node, frame, interpreter)
    case "Function":
      return defineFunction(node, frame, interpreter)
    case "Coproc": {
      const inside: Frame = { ...frame, scope: frame.scope.fork(), background: true, input: NO_INPUT }
      if (node.body.type === "CompoundList") runStatements(node.body.commands, inside, interpreter)
      else runNode(node.body, inside, interpreter)
      return { ...SILENT, output: undefined }
    }
    case "ArithmeticCommand":
    case "TestCommand":
      return interpreter.withAlternatives(frame, (alternative) => runCompound(node, alternative, interpreter))
    default:
      return runCompound(node, frame, interpreter)
  }
}

const NO_INPUT: Frame["input"] = { from: undefined, text: undefined }

function runRedirected({ command, redirects }: Redirected, frame: Frame, interpreter: Interpreter): Outcome {
  const { redirections, input } = expandRedirections(redirects, { frame, interpreter })
  if (redirections.some(({ target }) => !/^(?:\d+|-)$/u.test(target.text))) {
    interpreter.emit({ argv: [], assignments: [], redirections, frame: { ...frame, input: input ?? frame.input } })
  }
  const outcome = runCompound(command, { ...frame, input: input ?? frame.input }, interpreter)
  return redirectOutput(outcome, redirections, frame.scope)
}

/** Functions that the shell calls by itself. */
const CALLED_BY_SHELL = new Set(["command_not_found_handle", "command_not_found_handler"])

/** The body is interpreted where the function is called. */
function defineFunction({ name, body }: FunctionNode, frame: Frame, interpreter: Interpreter): Outcome {
  const text = frame.text.slice(body.pos, body.end)
  frame.scope.setFunction(name.value, text)
  if (CALLED_BY_SHELL.has(name.value)) {
    interpreter.runText(text, { ...frame, scope: frame.scope.fork(), source: "function", input: NO_INPUT })
  }
  return SILENT
}

function runCompound(node: CompoundCommand, frame: Frame, interpreter: Interpreter): Outcome {
  const expansion = { frame, interpreter }
  switch (node.type) {
    case "BraceGroup":
      return runList(node.body, frame, interpreter)
    case "Subshell": {
      const outcome = runList(node.body, { ...frame, scope: frame.scope.fork() }, interpreter)
      return outcome.result === "leaves" ? { ...outcome, result: "open" } : outcome
    }
    case "If":
      runList(node.clause, frame, interpreter)
      return runBranches(
        [
          (inside) => runList(node.then, inside, interpreter),
          ...node.elif.map((branch) => (inside: Frame) => {
            runList(branch.clause, inside, interpreter)
            return runList(branch.then, inside, interpreter)
          }),
          (inside) => (node.else === undefined ? SILENT : runList(node.else, inside, interpreter)),
        ],
        frame,
      )
    case "Case": {
      expandWhole(node.word, expansion)
      for (const pattern of node.items.flatMap((item) => item.pattern)) expandPattern(pattern, expansion)
      const branches = node.items.map((item) => (inside: Frame) => runList(item.body, inside, interpreter))
      return runBranches([...branches, () => SILENT], frame)
    }
    case "While":
      return runLoop(frame, (inside) => {
        runList(node.clause, inside, interpreter)
        return runList(node.body, inside, interpreter)
      })
    case "For":
      return runFor(node.name.value, wordsOf(node.wordlist, frame, interpreter), {
        expansion,
        body: (inside) => runList(node.body, inside, interpreter),
      })
    case "Select":
      // Each word may be the one that is chosen.
      return runFor(node.name.value, wordsOf(node.wordlist, frame, interpreter), {
        expansion,
        body: (inside) => runList(node.body, inside, interpreter),
      })
    case "ArithmeticFor":
      arithmeticValue(node.initialize, expansion)
      return runLoop(frame, (inside) => {
        arithmeticValue(node.test, { frame: inside, interpreter })
        const outcome = runList(node.body, inside, interpreter)
        arithmeticValue(node.update, { frame: inside, interpreter })
        return outcome
      })
    case "TestCommand":
      runTest(node.expression, expansion)
      return { ...SILENT, result: "open" }
    case "ArithmeticCommand":
      arithmeticValue(node.expression, expansion)
      return { ...SILENT, result: "open" }
    default:
      return assertNever(node)
  }
}

function runList({ commands }: CompoundList, frame: Frame, interpreter: Interpreter): Outcome {
  return runStatements(commands, frame, interpreter)
}

function runBranches(branches: readonly ((frame: Frame) => Outcome)[], frame: Frame): Outcome {
  const before = frame.scope.fork()
  let isFirst = true
  let index: number | undefined
  for (const branch of branches) {
    const scope = before.fork()
    const outcome = branch({ ...frame, scope })
    index = outcome.index ?? index
    if (endsHere(outcome, scope, before)) continue
    if (isFirst) frame.scope.adopt(scope)
    else frame.scope.join(scope)
    isFirst = false
  }
  return { output: undefined, index, result: "open" }
}

/** An unknown number of rounds: the second one sees what the first one changed. */
function runLoop(frame: Frame, round: (frame: Frame) => Outcome): Outcome {
  const { scope } = frame
  const before = scope.fork()
  const { index } = round(frame)
  if (!scope.differsFrom(before)) return { output: undefined, index, result: "open" }
  const first = scope.directories
  scope.widen(before)
  round({ ...frame, scope })
  scope.join(before)
  if (first.join("\0") !== before.directories.join("\0"))
    scope.directories = [...new Set([...scope.directories, undefined])]
  return { output: undefined, index, result: "open" }
}

/** The words of a loop; where they are not known, what is known of each. */
type LoopWords = { readonly fields: readonly Field[] } | { readonly each: Value }

function wordsOf(words: readonly Word[] | undefined, frame: Frame, interpreter: Interpreter): LoopWords {
  const { positional } = frame.scope
  if (words === undefined) return positional === undefined ? { each: UNKNOWN } : withinLimit(positional)
  const fields = words.flatMap((word) => expandWord(word, { frame, interpreter }))
  return fields.some(({ splits }) => splits === true) ? { each: eachOf(fields) } : withinLimit(fields)
}

function withinLimit(fields: readonly Field[]): LoopWords {
  return fields.length > MOST_ITERATIONS ? { each: eachOf(fields) } : { fields }
}

function eachOf(fields: readonly Field[]): Value {
  const [first] = fields
  return unknownFrom(fields.length === 1 ? first?.names : wordNames(fields))
}

function runFor(
  name: string,
  words: LoopWords,
  { expansion, body }: { readonly expansion: Expansion; readonly body: (frame: Frame) => Outcome },
): Outcome {
  const { frame } = expansion
  if ("each" in words) {
    return runLoop(frame, (inside) => {
      inside.scope.setVariable(name, words.each)
      return body(inside)
    })
  }
  let outcome: Outcome = SILENT
  for (const { text, known, pattern, names } of words.fields) {
    const word = names === undefined ? { text, known, pattern } : { text, known, pattern, names }
    runIndexValue(text, expansion)
    frame.scope.setVariable(name, { kind: "text", word })
    outcome = followedBy(outcome, body(frame))
  }
  return { ...outcome, result: "open" }
}
