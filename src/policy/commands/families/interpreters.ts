import { readAwkProgram } from "../awk-program.ts"
import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { moduleCall } from "../python-module.ts"
import { readSedProgram, sedArguments } from "../../shell/sed-program.ts"
import type { SedProgram } from "../../shell/sed-program.ts"
import { INTERPRETERS, SCRIPT_RUNNERS, SHELLS } from "./foreign-code.ts"

/** The options of an interpreter itself, before its script. */
function ownOptions(call: Invocation): readonly string[] {
  const found: string[] = []
  for (const { text } of call.words) {
    if (!text.startsWith("-") || text === "--" || text === "-") break
    found.push(text)
    // What follows -m belongs to the module.
    if (/^-[a-zA-Z]*m$/u.test(text)) break
  }
  return found
}

const own = (call: Invocation, pattern: RegExp): boolean => ownOptions(call).some((option) => pattern.test(option))
const readsHereDocument = (call: Invocation): boolean => call.command.input?.kind === "text" && isWithoutScript(call)
const isWithoutScript = (call: Invocation): boolean =>
  call.operands.every(({ text }) => /^(?:-|\/dev\/(?:stdin|fd\/0)|\/proc\/self\/fd\/0)$/u.test(text)) &&
  !own(call, /^-[a-zA-Z]*[mc]$|^--version$|^-V$/u)
/** `node "$(command)" …`: which script runs is only known when the line runs. It may be Hermes itself. */
const runsComputedScript = (call: Invocation): boolean => {
  if (own(call, /^-[a-zA-Z]*[mce]$|^--(?:eval|print|version|help|test|check)$/u)) return false
  const script = call.words.find(({ text }) => !text.startsWith("-"))
  return script?.known === false && COMPUTED.test(script.text)
}
const COMPUTED = /^["']?(?:\$\w+|\$\{[^}]*\}|\$\([^]*\)|`[^]*`)["']?$/u
const WITH_CODE = /^(?:timeit|code|runpy)$/u

/** `python3 -m timeit CODE`, `python3 -m pdb -c CODE`. */
function runsModuleCode(call: Invocation): boolean {
  const module = moduleCall(call)
  if (module === undefined) return false
  if (module.program === "pdb") return hasFlag(module, /^-c|^--command/u)
  return WITH_CODE.test(module.program) && module.operands.length > 0
}

/** `ruby -c app.rb`. perl runs the `BEGIN` blocks of the file: that is like running a script of the project. */
function checksSyntax(call: Invocation): boolean {
  if (call.program === "node") return own(call, /^-c$|^--check$/u)
  if (call.program !== "perl" && call.program !== "ruby") return false
  const [script] = call.operands
  return (
    ownOptions(call).every((option) => /^-[wc]+$/u.test(option)) &&
    script?.known === true &&
    !/^(?:-$|[<>]\(|\/dev\/|\/proc\/)/u.test(script.text)
  )
}

const OTHER_INTERPRETERS = INTERPRETERS.filter((name) => !SCRIPT_RUNNERS.includes(name))

export const INTERPRETER_RULES: readonly CommandRule[] = [
  {
    key: "shell command via -c/-lc flag",
    programs: SHELLS,
    when: (call) => own(call, /^-[a-z]*c$/u),
    does: "runs a command line of its own",
    effects: CODE,
    remote: true,
  },
  {
    key: "script execution via -e/-c flag",
    programs: SCRIPT_RUNNERS,
    when: (call) => own(call, /^-[a-zA-Z]*[ec]$|^-[ec]./u) && !checksSyntax(call),
    does: "runs code from the command line",
    effects: CODE,
    remote: true,
  },
  {
    key: "inline code of an interpreter",
    programs: SCRIPT_RUNNERS,
    when: (call) =>
      call.program === "node"
        ? own(call, /^--(?:eval|print)(?:=|$)|^-(?:p|pe)$/u)
        : call.program === "perl" && own(call, /^-E/u),
    does: "runs code from the command line",
    effects: CODE,
  },
  {
    key: "inline code of an interpreter",
    programs: [...OTHER_INTERPRETERS, "lua5.4"],
    when: (call) => OTHER_INLINE.get(call.program)?.test(call.words.map(({ text }) => text).join("\n")) === true,
    does: "runs code from the command line",
    effects: CODE,
  },
  {
    key: "script execution via heredoc",
    programs: SCRIPT_RUNNERS,
    when: readsHereDocument,
    does: "runs code from a here-document",
    effects: CODE,
    remote: true,
  },
  {
    key: "inline code of an interpreter",
    programs: OTHER_INTERPRETERS,
    when: readsHereDocument,
    does: "runs code from a here-document",
    effects: CODE,
  },
  {
    key: "code from the output of another command",
    programs: INTERPRETERS,
    when: (call) =>
      call.command.input?.kind === "command" &&
      call.operands.every(({ text }) => text === "-" || text === "/dev/stdin") &&
      ownOptions(call).every((option) => /^-[uBsSIOqw]*$|^-$|^--input-type/u.test(option)),
    does: "runs what another command prints",
    effects: CODE,
  },
  {
    key: "inline code of an interpreter",
    programs: ["python", "python2", "python3", "pypy", "pypy3"],
    when: runsModuleCode,
    does: "runs code from the command line",
    effects: CODE,
  },
  {
    key: "run a script whose name is computed",
    programs: [...SHELLS, ...INTERPRETERS],
    when: runsComputedScript,
    does: "runs a script whose name is only known when the command runs",
    effects: CODE,
  },
  {
    key: "awk runs a command",
    programs: ["awk", "gawk", "mawk", "nawk"],
    when: ({ words }) =>
      words.some(({ text }) => /\bsystem\s*\(|\|\s*(?:&\s*)?(?:getline|")|@load|\/inet\//u.test(text)),
    does: "starts other programs from its script",
    effects: CODE,
  },
  {
    key: "awk writes a file",
    programs: ["awk", "gawk", "mawk", "nawk"],
    when: ({ words, facts }) =>
      readAwkProgram(words, facts.userHome).writes.some(({ text }) => WRITTEN_ELSEWHERE.test(text)),
    does: "writes a file from its script",
    effects: [{ kind: "write", path: undefined }],
  },
  {
    key: "sed runs a command",
    programs: ["sed", "gsed"],
    when: (call) => (sedProgram(call)?.executes.length ?? 0) > 0,
    does: "starts other programs from its script",
    effects: CODE,
  },
  {
    key: "sed writes a file",
    programs: ["sed", "gsed"],
    when: (call) => sedProgram(call)?.writes.some((path) => WRITTEN_ELSEWHERE.test(path)) === true,
    does: "writes a file from its script",
    effects: [{ kind: "write", path: undefined }],
  },
]

const OTHER_INLINE: ReadonlyMap<string, RegExp> = new Map([
  ["php", /^-r|^-[a-z]*r$|^-B|^-R/mu],
  ["lua", /^-e/mu],
  ["luajit", /^-e/mu],
  ["lua5.4", /^-e/mu],
  ["deno", /^eval$/mu],
  ["bun", /^-e|^--eval|^-p$/mu],
  ["osascript", /^-e/mu],
  ["rscript", /^-e/mu],
  ["tclsh", /^-c$/mu],
  ["julia", /^-e|^--eval|^-E/mu],
  ["elixir", /^-e|^--eval/mu],
  ["groovy", /^-e/mu],
  ["scala", /^-e/mu],
  ["pypy", /^-c/mu],
  ["pypy3", /^-c/mu],
  ["nodejs", /^-e|^--eval|^-p/mu],
  ["guile", /^-c/mu],
  ["racket", /^-e/mu],
  ["ghci", /^-e/mu],
  ["pwsh", /^-(?:c|command|e|enc\w*)$/imu],
  ["expect", /^-c/mu],
  ["ts-node", /^-e|^--eval|^-p/mu],
  ["tsx", /^-e|^--eval|^-p/mu],
])

/** What the program of a sed command does beside editing text. */
function sedProgram({ words }: Invocation): SedProgram | undefined {
  const { script } = sedArguments(words)
  return script === undefined ? undefined : readSedProgram(script)
}

/** A file in another directory, or one whose name is computed. */
const WRITTEN_ELSEWHERE = /^(?!\/dev\/(?:stdout|stderr|null|tty)$)(?:[/~]|\.\.|\.[a-z]|\$\w|`)/u
