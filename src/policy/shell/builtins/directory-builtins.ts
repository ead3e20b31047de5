import { resolve } from "node:path/posix"

import { hiddenDirectory } from "../computed-tail.ts"
import type { Call, Field, Interpreter, Outcome } from "../interpreter.ts"
import type { Directories } from "../scope.ts"
import { homeOf, readVariable, scalarOf } from "../expansion/variables.ts"

type Result = Outcome["result"]

/** A directory change counts as successful: what follows runs there or fails. */
export function changeDirectory(call: Call, interpreter: Interpreter): Result {
  const target = operandOf(call)
  call.frame.scope.changeDirectory(targetDirectories(target, call, interpreter))
  return "succeeds"
}

export function pushDirectory(call: Call, interpreter: Interpreter): Result {
  const { scope } = call.frame
  const target = operandOf(call)
  const [top, ...rest] = scope.earlierDirectories
  const before = scope.directories
  if (target === undefined || /^[+-]\d+$/u.test(target.text)) {
    // Without an operand it swaps the two newest directories; a number rotates the stack.
    scope.changeDirectory(target === undefined ? (top ?? [undefined]) : [undefined])
    scope.earlierDirectories = [before, ...rest]
    return "open"
  }
  scope.changeDirectory(targetDirectories(target, call, interpreter))
  scope.earlierDirectories = [before, ...scope.earlierDirectories]
  return "succeeds"
}

export function popDirectory({ argv, frame: { scope } }: Call): Result {
  const [top, ...rest] = scope.earlierDirectories
  if (argv.length > 1) {
    scope.changeDirectory([undefined])
    return "open"
  }
  scope.changeDirectory(top ?? [undefined])
  scope.earlierDirectories = rest
  return "open"
}

function operandOf({ argv }: Call): Field | undefined {
  const rest = argv.slice(1)
  const end = rest.findIndex(({ text }) => text === "--")
  if (end !== -1) return rest[end + 1]
  return rest.find(({ text }) => !/^-[LPe@n]+$/u.test(text))
}

function targetDirectories(target: Field | undefined, call: Call, interpreter: Interpreter): Directories {
  const { frame } = call
  if (target === undefined) return [homeOf(frame, interpreter)]
  if (target.text === "-") {
    const before = scalarOf(readVariable("OLDPWD", frame, interpreter))
    return before?.known === true ? [before.text] : unknownDirectory("-", interpreter)
  }
  const isUnknownTilde = /^~[+-]/u.test(target.text)
  if (!target.known || target.pattern || isUnknownTilde) {
    return [...hiddenDirectory(target, interpreter.userHome), ...unknownDirectory(target.text, interpreter)]
  }
  const here = frame.scope.directories.map((directory) =>
    target.text.startsWith("/") ? resolve(target.text) : directory && resolve(directory, target.text),
  )
  const hidden = here.includes(undefined) ? hiddenDirectory({ ...target, known: false }, interpreter.userHome) : []
  return [...new Set([...searchedDirectories(target.text, call, interpreter), ...hidden, ...here])]
}

function unknownDirectory(text: string, interpreter: Interpreter): Directories {
  interpreter.doubt("directory", text, "the directory that the command changes to is not known")
  return [undefined]
}

/** The shell looks up relative directories in CDPATH first. */
function searchedDirectories(target: string, { frame }: Call, interpreter: Interpreter): Directories {
  if (frame.scope.variable("CDPATH") === undefined || /^(?:\/|\.\.?(?:\/|$))/u.test(target)) return []
  const search = scalarOf(readVariable("CDPATH", frame, interpreter))
  if (search?.known !== true) return [undefined]
  const [directory] = frame.scope.directories
  return search.text
    .split(":")
    .filter((path) => path !== "")
    .map((path) =>
      path.startsWith("/") || directory !== undefined ? resolve(directory ?? "/", path, target) : undefined,
    )
    .slice(0, 2)
}
