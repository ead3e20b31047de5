import { filePath, fileText } from "../redirections.ts"
import type { Call, Field, Frame, Interpreter, Outcome } from "../interpreter.ts"
import { UNKNOWN_OUTCOME } from "../interpreter.ts"
import { knownWord } from "../scope.ts"

/** Shells whose `-c` text is interpreted as bash. */
export const SHELLS = new Set(
  "bash sh zsh dash ksh ksh93 mksh pdksh ash rbash fish posh yash oksh loksh hush".split(" "),
)

/** A shell: its `-c` text, script or input is interpreted in a shell of its own. */
export function runShell(call: Call, interpreter: Interpreter): Outcome {
  const { argv, frame } = call
  const index = interpreter.emit(call)
  const [shell = knownWord("sh")] = argv
  const { command, rest, startFile } = readArguments(argv)
  const scope = frame.scope.child()
  const inside: Frame = { ...frame, scope, source: nestedSource(frame) }
  if (startFile !== undefined) runFile(startFile, { call, inside }, interpreter)
  if (command !== undefined) {
    scope.program = rest[0] ?? shell
    scope.positional = rest.slice(1)
    return { ...runUnlessUnknown(command, { call, inside }, interpreter), index }
  }
  const [script] = rest
  scope.positional = rest.slice(1)
  if (script === undefined || isStandardInput(script)) return { ...runInput(call, inside, interpreter), index }
  scope.program = script
  return { ...runFile(script, { call, inside }, interpreter), index }
}

/** A script that the line does not write itself is trusted like any program. */
function runFile(
  script: Field,
  { call: { frame }, inside }: { readonly call: Call; readonly inside: Frame },
  interpreter: Interpreter,
): Outcome {
  const text = fileText(script, frame.scope)
  if (text !== undefined) return interpreter.runText(text, inside)
  const reason = scriptDoubt(script, frame)
  if (reason !== undefined) interpreter.doubt("script", script.text, reason)
  return UNKNOWN_OUTCOME
}

function scriptDoubt(script: Field, frame: Frame): string | undefined {
  if (script.process !== undefined) return "the shell runs what another command prints"
  if (!script.known && script.splits === true) return "the script that the shell runs is computed"
  const path = filePath(script, frame.scope)
  if (path !== undefined && frame.scope.files.has(path)) return "the line itself writes the script that it runs"
  return OPEN_FILE.test(path ?? "") ? "the shell runs an open file" : undefined
}

const OPEN_FILE = /^\/(?:dev\/(?:fd|tcp|udp)|proc\/[^/]+\/fd)\//u

function runUnlessUnknown(
  command: Field,
  { call, inside }: { readonly call: Call; readonly inside: Call["frame"] },
  interpreter: Interpreter,
): Outcome {
  if (!command.known) {
    interpreter.doubt("script", command.text, "the text that the shell runs is partly computed")
  }
  const outcome = interpreter.runText(command.text, { ...inside, input: call.frame.input })
  return { ...outcome, result: "open" }
}

function runInput(call: Call, inside: Call["frame"], interpreter: Interpreter): Outcome {
  const { input } = call.frame
  if (input.text !== undefined) return interpreter.runText(input.text, { ...inside, input: NO_INPUT })
  if (input.from !== undefined) {
    if (input.from.kind === "text") interpreter.runText(input.from.word.text, { ...inside, input: NO_INPUT })
    if (input.from.kind !== "file" || isWritten(input.from.path, call)) {
      interpreter.doubt("script", call.argv[0]?.text ?? "sh", "the shell runs what another command prints")
    }
  }
  return UNKNOWN_OUTCOME
}

export function nestedSource({ source }: Frame): Frame["source"] {
  return source === "remote" ? "remote" : "nested"
}

function isWritten(path: Field, { frame }: Call): boolean {
  const absolute = filePath(path, frame.scope)
  return absolute === undefined || frame.scope.files.has(absolute)
}

const NO_INPUT = { from: undefined, text: undefined } as const

function isStandardInput({ text }: Field): boolean {
  return text === "-" || text === "/dev/stdin" || text === "/dev/fd/0" || text === "/proc/self/fd/0"
}

const LONG_WITH_VALUE = new Set(["--rcfile", "--init-file", "--init-command", "--command", "--features"])

interface ShellArguments {
  readonly command: Field | undefined
  /** Script and arguments, or `$0` and arguments behind a `-c` text. */
  readonly rest: readonly Field[]
  /** Runs before everything else. */
  readonly startFile?: Field | undefined
}

function readArguments(argv: readonly Field[]): ShellArguments {
  let readsCommand = false
  let startFile: Field | undefined
  let at = 1
  for (; at < argv.length; at += 1) {
    const { text } = argv[at] ?? knownWord("")
    if (text === "--" || text === "-") {
      if (text === "--" || readsCommand) at += 1
      break
    }
    if (text.startsWith("--command="))
      return { command: knownWord(text.slice("--command=".length)), rest: argv.slice(at + 1) }
    if (text.startsWith("--")) {
      if (text === "--command") readsCommand = true
      else if (LONG_WITH_VALUE.has(text)) {
        at += 1
        if (text.endsWith("file")) startFile = argv[at]
      }
      continue
    }
    if (!/^[-+][A-Za-z]/u.test(text)) break
    if (text.startsWith("-") && text.includes("c")) readsCommand = true
    if (/s/u.test(text) && !readsCommand && text.startsWith("-")) {
      return { command: undefined, rest: [knownWord("-"), ...argv.slice(at + 1).filter((word) => word.text !== "--")] }
    }
    if (/[oO]$/u.test(text)) at += 1
  }
  const rest = argv.slice(at)
  return readsCommand ? { command: rest[0], rest: rest.slice(1), startFile } : { command: undefined, rest, startFile }
}
