import type { Call, Interpreter } from "../interpreter.ts"
import { knownWord } from "../scope.ts"
import { runInsideText } from "./unwrap.ts"

/** Calls of other languages that start a program: with one literal text for a shell, or with literal words. */
const PROCESS_CALL =
  /\b(?:system|popen[23]?|exec\w*|spawn\w*|shell_exec|passthru|proc_open|getoutput|getstatusoutput|check_output|check_call|call|run|Popen|capture2e?|capture3)\s{0,8}\(?\s{0,8}(?=["'`[])((?:\[?\s{0,8}(?:"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|`(?:\\[^]|[^`\\])*`)\s{0,8}\]?,?\s{0,8}){1,64})/gu
const LITERAL = /"((?:\\[^]|[^"\\])*)"|'((?:\\[^]|[^'\\])*)'|`((?:\\[^]|[^`\\])*)`/gu
/** Backticks in Perl, Ruby and PHP, `%x(…)` in Ruby and `qx(…)` in Perl. */
const BACKTICKS = /`([^`]+)`|(?:%x|qx)\s*[({[/|!]([^)}\]/|!]+)/gu
/** `print | "command"` and `"command" | getline` in awk. */
const AWK_PIPE = /\|&?\s*"((?:\\.|[^"\\])+)"|"((?:\\.|[^"\\])+)"\s*\|&?\s*getline/gu
const AWK_COMPUTED = /\bsystem\s*\(\s*(?!["')])|\bprintf?\b[^|;{}\n]{0,500}\|(?!\|)&?\s*(?!["|\s])/u

const MOST_TEXTS = 32

/** Interprets texts that code in another language passes to a shell. What else the code does is not judged here. */
export function runCode(call: Call, interpreter: Interpreter): void {
  const [program] = call.argv
  const name = program?.text.slice(program.text.lastIndexOf("/") + 1) ?? ""
  const isAwk = name.endsWith("awk")
  const input = call.frame.input.text
  const codes = [...call.argv.slice(1).map(({ text }) => text), ...(input === undefined || isAwk ? [] : [input])]
  for (const [index, code] of codes.entries()) {
    if (code.length < 4) continue
    const at = Math.min(index + 1, call.argv.length)
    if (isAwk && AWK_COMPUTED.test(code)) interpreter.doubt("script", code.slice(0, 200), "awk runs computed text")
    const calls = Array.from(code.matchAll(PROCESS_CALL), ([, literals = ""]) => literals)
    if (calls.length > MOST_TEXTS) interpreter.doubt("length", name, "it starts too many commands")
    for (const literals of calls.slice(0, MOST_TEXTS)) {
      runInsideText(call, { name, at, text: knownWord(shellText(literals)) }, interpreter)
    }
    const matches = [
      ...(name.startsWith("python") || name === "node" || isAwk ? [] : code.matchAll(BACKTICKS)),
      ...(isAwk ? code.matchAll(AWK_PIPE) : []),
    ]
    for (const match of matches.slice(0, MOST_TEXTS)) {
      const text = match.slice(1).findLast((group) => group !== undefined) ?? ""
      runInsideText(call, { name, at, text: knownWord(text.replaceAll(/\\(["'`\\$])/gu, "$1")) }, interpreter)
    }
  }
}

/** One literal is a text for a shell, several are words. */
function shellText(literals: string): string {
  const words = Array.from(literals.matchAll(LITERAL), ([, ...groups]) =>
    (groups.find((group) => group !== undefined) ?? "").replaceAll(/\\(["'`\\$])/gu, "$1"),
  )
  const [only] = words
  if (words.length === 1 && only !== undefined) return only
  return words.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ")
}
