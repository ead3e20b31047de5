import type { Call, Field, Frame, Interpreter, Outcome } from "../interpreter.ts"
import { programBody } from "../named-commands.ts"
import { nestedSource } from "../nested/nested-shell.ts"
import { filePath, fileText } from "../redirections.ts"

type Result = Outcome["result"]

const NO_TEXT: Outcome = { output: undefined, index: undefined, result: "open" }

/** Programs that print settings for the shell that evaluates them, as their manuals ask for. */
const PRINTS_SETTINGS =
  /^(?:\$|<)\(\s*(?:ssh-agent(?: -[sc])?|direnv (?:hook|export) \w+|(?:\/(?:opt\/homebrew|usr\/local|home\/linuxbrew\/\.linuxbrew)\/bin\/)?brew shellenv(?: \w+)?|(?:pyenv|rbenv|nodenv|jenv|goenv) (?:init|virtualenv-init)(?: --?\w*)*|(?:starship|zoxide) init \w+|fnm env(?: --?[\w-]+)*|(?:mise|rtx) activate(?: \w+)?|dircolors(?: -\w+)?|(?:kubectl|helm|gh|docker|minikube|kind|npm|pip|poetry|rustup) completions? ?(?:-s )?\w*|minikube docker-env|conda shell\.\w+ hook|thefuck --alias)\s*\)$/u

/** The text runs in the same shell. */
export function evaluateText({ argv, frame }: Call, interpreter: Interpreter): Outcome {
  const words = argv.slice(1).filter(({ text }, index) => index > 0 || text !== "--")
  const text = words.map((word) => word.text).join(" ")
  if (PRINTS_SETTINGS.test(text)) return NO_TEXT
  if (words.some(({ known }) => !known)) interpreter.doubt("script", text.slice(0, 200), "eval runs computed text")
  return interpreter.runText(text, { ...frame, source: nestedSource(frame) })
}

/** A file that a developer would source is trusted like a script that is run by its name. */
export function sourceFile(call: Call, interpreter: Interpreter): Outcome {
  const { argv, frame } = call
  const rest = argv.slice(1).filter(({ text }, index) => index > 0 || text !== "--")
  const [file, ...positional] = rest
  if (file === undefined) return NO_TEXT
  const inside: Frame = { ...frame, source: nestedSource(frame) }
  const text = STANDARD_INPUT.test(file.text) ? frame.input.text : fileText(file, frame.scope)
  if (text !== undefined) {
    const before = frame.scope.positional
    if (positional.length > 0) frame.scope.positional = positional
    const outcome = interpreter.runText(text, inside)
    if (positional.length > 0) frame.scope.positional = before
    return outcome.result === "breaks" ? { ...outcome, result: "open" } : outcome
  }
  frame.scope.sourced.add(file.text)
  const reason = sourceDoubt(file, frame)
  if (reason !== undefined) interpreter.doubt("script", file.text, reason)
  return NO_TEXT
}

const STANDARD_INPUT = /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/u

function sourceDoubt(file: Field, frame: Frame): string | undefined {
  if (PRINTS_SETTINGS.test(file.text)) return undefined
  if (file.process !== undefined) return "the shell runs what another command prints"
  if (!file.known || file.pattern) return "the file that the shell runs is not known"
  const path = filePath(file, frame.scope)
  if (path !== undefined && frame.scope.files.has(path)) return "the line itself writes the file that it runs"
  return /^\/(?:dev|proc|tmp|var\/tmp|run)\//u.test(path ?? file.text)
    ? "the file that the shell runs is temporary or not an ordinary file"
    : undefined
}

export function evaluateTrap({ argv, frame }: Call, interpreter: Interpreter): Result {
  const [text, ...signals] = argv.slice(1).filter((word, index) => index > 0 || word.text !== "--")
  if (text === undefined || signals.length === 0 || /^-[lp]?$/u.test(text.text) || text.text === "") return "succeeds"
  if (!text.known) interpreter.doubt("script", text.text, "the command of the trap is computed")
  interpreter.runText(text.text, { ...frame, scope: frame.scope.fork(), source: nestedSource(frame) })
  return "succeeds"
}

export function defineAlias({ argv, frame: { scope } }: Call): Result {
  for (const { text, known } of argv.slice(1)) {
    const at = text.indexOf("=")
    if (at > 0) scope.setAlias(text.slice(0, at), known ? text.slice(at + 1) : undefined)
  }
  return "succeeds"
}

export function unsetAlias({ argv, frame: { scope } }: Call): Result {
  for (const { text } of argv.slice(1)) {
    if (text === "-a") scope.unsetAliases()
    else scope.unsetAlias(text)
  }
  return "succeeds"
}

/** `hash -p file name` makes a name stand for another program, `enable -f` loads a library into the shell. */
export function hashProgram({ argv, frame: { scope } }: Call, interpreter: Interpreter): Result {
  const [, option, file, ...names] = argv
  if (option === undefined || file === undefined) return "succeeds"
  if (/^-[A-Za-z]*f/u.test(option.text)) interpreter.doubt("script", file.text, "the shell loads code from a file")
  if (/^-[A-Za-z]*p/u.test(option.text)) {
    for (const name of names) scope.setFunction(name.text, file.known ? programBody(file.text) : undefined)
  }
  return "succeeds"
}
