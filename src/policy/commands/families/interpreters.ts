import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { optionValues } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
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
    when: (call) =>
      own(call, /^-[a-zA-Z]*[ec]$|^-[ec]./u) && !(call.program === "node" && own(call, /^-c$|^--check$/u)),
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
    key: "awk runs a command",
    programs: ["awk", "gawk", "mawk", "nawk"],
    when: ({ words }) =>
      words.some(({ text }) =>
        /\bsystem\s*\(|\|\s*&?\s*(?:getline|")|"\s*\|\s*getline|print[^;}]*\|\s*"|@load|\/inet\//u.test(text),
      ),
    does: "starts other programs from its script",
    effects: CODE,
  },
  {
    key: "awk writes a file",
    programs: ["awk", "gawk", "mawk", "nawk"],
    when: ({ words }) => words.some(({ text }) => /print[^;}]*>>?\s*"?(?:\/|~|\.\.|\.[a-z])/u.test(text)),
    does: "writes a file from its script",
    effects: [{ kind: "write", path: undefined }],
  },
  {
    key: "sed runs a command",
    programs: ["sed", "gsed"],
    when: (call) => sedScripts(call).some(executesInSed),
    does: "starts other programs from its script",
    effects: CODE,
  },
  {
    key: "sed writes a file",
    programs: ["sed", "gsed"],
    when: (call) => sedScripts(call).some((script) => SED_WRITES.test(script)),
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

/** The scripts of sed: the values of -e and, without them, the first operand. */
function sedScripts(call: Invocation): readonly string[] {
  const given = optionValues(call, "-e", "--expression").map(({ text }) => text)
  return given.length > 0 ? given : call.operands.slice(0, 1).map(({ text }) => text)
}

/** The text of substitutions is no command, but their flag `e` runs the result. */
function executesInSed(script: string): boolean {
  return SED_SUBSTITUTES_AND_EXECUTES.test(script) || SED_EXECUTES.test(script.replaceAll(SED_SUBSTITUTION, "$1"))
}

const SED_SUBSTITUTES_AND_EXECUTES = /s(.)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpIiMm0-9]*e[gpIiMm0-9]*(?:\s*[;}]|$)/su
const SED_SUBSTITUTION =
  /(^|[;{}\n\d$/IM!])\s*s([^\w\s\\])(?:\\.|(?!\2)[^\\])*\2(?:\\.|(?!\2)[^\\])*\2[gpIiMm0-9]*(?=\s*(?:[;}\n]|$))/gsu
const SED_EXECUTES = /(?:^|[;{}\n]|^\d+|\$|\/[IM]*|[\d$]\s*!|\/[IM]*!|[\d$~+],?[\d$~+]+)\s*e(?:\s|$|;)/su
const SED_WRITES =
  /(?:^|[;{}\n]|^\d+|\$|\/[IM]*)\s*[wW]\s+(?!\/dev\/(?:stdout|stderr|null))[/~.]|s(.)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpIiMm0-9]*w\s+(?!\/dev\/(?:stdout|stderr|null))[/~.]/su
