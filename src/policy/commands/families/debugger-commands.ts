import type { Invocation } from "../invocation.ts"

/** True when a command of gdb on its command line may do more than run the program, stop it and show its state. */
export function runsDebuggerCode(call: Invocation): boolean {
  for (const [index, { text }] of call.words.entries()) {
    // What follows belongs to the program.
    if (text === "--args" || text === "-args") return false
    if (SCRIPT.test(text)) return true
    const given = COMMAND.exec(text)
    const value = given === null ? undefined : (given[1] ?? call.words[index + 1]?.text ?? "")
    if (value !== undefined && !HARMLESS.test(value)) return true
  }
  return false
}

/** A file with commands. Options have one dash or two and may be abbreviated. */
const SCRIPT = /^--?(?:i?x|com[a-z]*|init-c[a-z]*)(?:=|$)/u
const COMMAND = /^--?(?:i?ex|ev[a-z-]*|init-e[a-z-]*)(?:=([^]*))?$/u
/** Calls of functions, files, other languages and shells are not among these. */
const HARMLESS =
  /^\s*(?:(?:r|run|start)(?:\s+[\w./:=@%+-]+)*|(?:bt|backtrace|where)(?:\s+(?:full|-?\d+))*|thread apply all (?:bt|backtrace)(?:\s+full)?|(?:c|continue|n|next|s|step|si|stepi|ni|nexti|fin|finish|up|down|q|quit|k|kill|l|list|disas|disassemble)(?:\s+[\w.:+-]+)*|(?:b|break|tb|tbreak|until|advance|catch|watch|delete|frame|f|thread|info|i|ptype|whatis)(?:\s+[\w.:*&>+-]+)*|(?:p|print|x|display|output)(?:\/\w+)?\s+[\w.$*&>[\]+-]+|set (?:pagination|confirm|width|height|print [\w-]+|disassembly-flavor|breakpoint pending|verbose)\s+[\w-]+|set (?:args|env(?:ironment)?)(?:\s+[\w./:=@%+-]+)*)\s*$/u
