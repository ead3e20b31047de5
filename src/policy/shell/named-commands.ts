import type { Interpreter } from "./interpreter.ts"
import type { Scope, Value } from "./scope.ts"

/** Arrays of bash in which a name stands for a program or for the text of an alias. */
const TABLE = /^BASH_(?:CMDS|ALIASES)(?=$|\[)/u

/** `BASH_CMDS[name]=/bin/program` does the same as `hash -p`, `BASH_ALIASES[name]=text` the same as `alias`. */
export function rememberNamedCommands(written: string, value: Value, scope: Scope, interpreter: Interpreter): void {
  const name = scope.variableName(written)
  if (!TABLE.test(name)) return
  if (value.kind !== "list") {
    doubtNamedCommand(name, interpreter)
    return
  }
  for (const [key, { text, known }] of value.items) {
    if (name === "BASH_ALIASES") scope.setAlias(key, known ? text : undefined)
    else scope.setFunction(key, known ? programBody(text) : undefined)
  }
}

/** A builtin writes to such an array. */
export function doubtNamedCommand(name: string, interpreter: Interpreter): void {
  if (TABLE.test(name)) interpreter.doubt("program", name, "it changes which program a name stands for")
}

/** The body of a function that stands for a program. */
export function programBody(path: string): string {
  return `{ command '${path.replaceAll("'", "")}' "$@"; }`
}
