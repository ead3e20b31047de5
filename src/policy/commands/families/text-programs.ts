import { posix } from "node:path"
import { readAwkProgram } from "../awk-program.ts"
import { absolutePath, pathForms } from "../command-paths.ts"
import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { isCredentialPath } from "../credential-paths.ts"
import { optionValues } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { hasGlob } from "../shell-glob.ts"
import { readSedProgram, sedArguments } from "../../shell/sed-program.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

/** How a program that is no shell takes text that it runs. */
interface TextProgram {
  /** Options whose value is code. */
  readonly options?: readonly string[]
  /** Options whose value names a file with code. */
  readonly files?: readonly string[]
  /** The operands are files with code. */
  readonly operands?: true
  /** Without a file, the code is the standard input. */
  readonly input?: true
  /** Only such text starts another program or opens other files. Without it, any text counts. */
  readonly starts?: RegExp
}

const EVALUATES = (...options: readonly string[]): TextProgram => ({ options })
const STATISTICS = /\b(?:system2?|unix|dos|shell_cmd|popen2?|pipe|exec|spawn|source|unlink|file\.remove|eval)\s*\(/u

/** By the names of programs in lower case. Interpreters that are usual for scripts have rules of their own. */
const TEXT_PROGRAMS: Readonly<Record<string, TextProgram>> = {
  // `!command`, `r !command`, `w !command`; `e`, `r` and `w` with a name open another file.
  "ed red": { input: true, starts: /^[^\n]*!|^[\d,;.$%+-]*[ \t]*[eErwWf][ \t]+\S/mu },
  m4: { operands: true, input: true, starts: /\b(?:e?syscmd|builtin|indir|s?include|undivert)\b/u },
  // `!<`, `!=` and `!>` compare.
  dc: { options: ["-e", "--expression"], files: ["-f", "--file"], operands: true, input: true, starts: /!(?![<=>])/u },
  "make gmake bmake": { files: ["-f", "--file", "--makefile"] },
  "awk gawk mawk nawk": { files: ["-f", "--file", "-E", "--exec", "-i", "--include"] },
  "sed gsed": { files: ["-f", "--file"] },
  "just task rake ninja": { files: ["-f", "--justfile", "-t", "--taskfile", "--rakefile"] },
  gnuplot: {
    options: ["-e"],
    input: true,
    starts: /\bsystem\b|(?:^|[\n;])\s*(?:!|shell\b|load\b)|["']\s*[<|]|`/u,
  },
  octave: { options: ["--eval"], input: true, starts: STATISTICS },
  r: { options: ["-e"], input: true, starts: STATISTICS },
  sqlite3: {
    input: true,
    starts:
      /^\s*\.(?:loa?d?|sh?e?l?l?|sys?t?e?m?|exc?e?l?|www?)(?:\s|$)|^\s*\.(?:re?a?d?|im?p?o?r?t?|on?c?e?|ou?t?p?u?t?)\s+["']?\||\b(?:load_extension|writefile|edit)\s*\(/imu,
  },
  "psql pgcli": { input: true, starts: /\\!|\\[go]x?\s*\||\bprogram\s+['"$]/iu },
  "mysql mariadb": { input: true, starts: /\\!|^\s*system\s|\\P\s|\binto\s+(?:out|dump)file\b/imu },
  "gdb lldb": { input: true },
  "rpm rpmbuild rpmspec": { options: ["-E", "--eval"], starts: /%\(|%\{(?:lua|shrink|load)/u },
  // A flag that means something else for other programs.
  "nu elvish xonsh rc es osh ysh yash": EVALUATES("-c", "--commands"),
  "ghc runghc ocaml gforth clojure clj bb jrunscript kotlin iex crystal nim io pike newlisp picolisp": EVALUATES("-e"),
  "sbcl clisp ecl ccl": EVALUATES("--eval", "-x", "-eval", "-e"),
  erl: EVALUATES("-eval"),
  "swipl gprolog": EVALUATES("-g", "-t", "--goal", "--query-goal"),
  maxima: { options: ["--batch-string", "-r", "--run-string"], input: true, starts: /\bsystem\s*\(|:lisp\b/u },
  gp: { input: true, starts: /\b(?:system|extern|externstr)\s*\(|^\s*\\?!/mu },
  "texlua luatex": EVALUATES("-e"),
  mix: EVALUATES("-e", "--eval"),
  "ftp lftp": { input: true, starts: /^\s*!/mu },
}

const PROGRAMS: ReadonlyMap<string, TextProgram> = new Map(
  Object.entries(TEXT_PROGRAMS).flatMap(([names, program]) => names.split(" ").map((name) => [name, program] as const)),
)

/** Options that let a typesetter or compiler run commands that its input names. */
const RUN_FLAGS: Readonly<Record<string, RegExp>> = {
  "tex pdftex xetex luatex etex latex pdflatex xelatex lualatex latexmk tectonic":
    /^-{1,2}(?:shell-escape|enable-write18)$/u,
  "groff troff pic eqn nroff": /^-[a-zA-Z]*U|^--unsafe/u,
  tcc: /^-run$/u,
}

const RUN_FLAG_PROGRAMS: ReadonlyMap<string, RegExp> = new Map(
  Object.entries(RUN_FLAGS).flatMap(([names, flag]) => names.split(" ").map((name) => [name, flag] as const)),
)

/** A text is known, or only the shell can compute it. A file of the project is neither: it is an ordinary script. */
type Code = { readonly text: string } | "computed"

function codesOf(call: Invocation, { options = [], files = [], operands, input }: TextProgram): readonly Code[] {
  const given = optionValues(call, ...options).map(wordCode)
  const values = new Set(optionValues(call, ...options, ...files))
  const named = [
    ...optionValues(call, ...files),
    ...(operands === true ? call.operands.filter((word) => !values.has(word)) : []),
  ]
  const read = [...named.flatMap((word) => fileCode(word, call)), ...attachedSubstitutions(call, files)]
  const readsInput = input === true && given.length === 0 && named.every(({ text }) => isStandardInput(text))
  return [...given, ...read, ...(readsInput ? inputCode(call) : [])]
}

/** The parser separates `--file=<(command)` into two words. */
function attachedSubstitutions({ words }: Invocation, files: readonly string[]): readonly Code[] {
  return words.some(
    ({ text }, index) => text.startsWith("<(") && files.includes(words[index - 1]?.text.slice(0, -1) ?? ""),
  )
    ? ["computed"]
    : []
}

function wordCode({ known, text }: ShellWord): Code {
  return known ? { text } : COMPUTED_CALL.test(text) ? "computed" : { text }
}

/** Nothing but an expansion: a part of it, such as a number, is common. */
const COMPUTED_CALL = /^(?:\$\w+|\$\{[^}]*\}|\$\([^]*\)|`[^]*`)$/u

function fileCode(word: ShellWord, call: Invocation): readonly Code[] {
  if (/^[<>]\(/u.test(word.text) || /^\/(?:dev|proc\/self)\/fd\/[1-9]/u.test(word.text)) return ["computed"]
  if (isStandardInput(word.text)) return inputCode(call)
  return writtenCode(absolutePath(word, call.command.directory), call)
}

function isStandardInput(text: string): boolean {
  return /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/u.test(text)
}

/** What this shell wrote to the file before. */
function writtenCode(path: string | undefined, { understood }: Invocation): readonly Code[] {
  const { files } = understood.after
  if (path === undefined || files === undefined || !files.has(path)) return []
  const text = files.get(path)
  return [text === undefined ? "computed" : { text }]
}

function inputCode(call: Invocation): readonly Code[] {
  const { input } = call.command
  switch (input?.kind) {
    case "text":
      return [{ text: input.word.text }]
    case "file":
      return /^[<>]\(/u.test(input.path.text)
        ? ["computed"]
        : writtenCode(absolutePath(input.path, call.command.directory), call)
    case "command":
      return [printedText(call, input.index) ?? "computed"]
    default:
      return []
  }
}

/** The words of `echo` and `printf`. Their escapes are resolved as far as they separate lines. */
function printedText({ understood }: Invocation, index: number): Code | undefined {
  const { program, argv = [] } = understood.commands[index] ?? {}
  if (program !== "echo" && program !== "printf") return undefined
  const words = argv.slice(1)
  if (!words.every(({ known }) => known)) return undefined
  return { text: words.map(({ text }) => text.replaceAll(/\\n/gu, "\n").replaceAll(/\\t/gu, "\t")).join("\n") }
}

function runsText(call: Invocation): boolean {
  const program = PROGRAMS.get(call.program)
  if (program === undefined) return false
  return codesOf(call, program).some(
    (code) => code === "computed" || program.starts === undefined || program.starts.test(code.text),
  )
}

/** A file that the script of awk or sed opens by itself: `getline < "file"`, `r file`. */
function opensCredential(call: Invocation): string | undefined {
  const { facts, command } = call
  const script = call.program.endsWith("sed") ? sedArguments(call.words).script : undefined
  for (const text of script === undefined ? [] : readSedProgram(script).reads) {
    const found = pathForms({ ...script, text, known: true, pattern: false }, command.directory, facts).find((path) =>
      isCredentialPath(path, facts),
    )
    if (found !== undefined) return found
  }
  for (const { text } of call.words) {
    if (text.length < SHORTEST_SCRIPT) continue
    for (const [, quoted, plain] of text.matchAll(OPENED_FILE)) {
      const name = (quoted ?? plain ?? "").replace(/^~(?=\/)/u, facts.userHome)
      // These programs open a file by its exact name: `".*"` is a part of a regular expression.
      if (hasGlob(name)) continue
      const base = name.startsWith("/") ? "/" : (command.directory ?? "/")
      // A literal after an expression, such as `ENVIRON["HOME"] "/.netrc"`, continues a path.
      const found = [posix.resolve(base, name), posix.join(facts.userHome, name)].find((path) =>
        isCredentialPath(path, facts),
      )
      if (found !== undefined) return found
    }
  }
  return undefined
}

const SHORTEST_SCRIPT = 6
// No line is crossed before the command, because a program of empty lines would take quadratic time.
const OPENED_FILE = /"([^"\n]{2,200})"|(?:^|[;{}\n\d$/!])[^\S\n]*[rRwW]\s+([^\s;}]{2,200})/gu

/** Programs that are no shells and run text: editors, calculators, macro processors, clients of databases, other languages. */
export const TEXT_PROGRAM_RULES: readonly CommandRule[] = [
  {
    key: "run a program from a script",
    programs: [...PROGRAMS.keys()],
    when: runsText,
    does: "runs text that can start other programs",
    effects: CODE,
  },
  {
    key: "run a program from a script",
    programs: [...RUN_FLAG_PROGRAMS.keys()],
    when: (call) => call.words.some(({ text }) => RUN_FLAG_PROGRAMS.get(call.program)?.test(text) === true),
    does: "lets its input start other programs",
    effects: CODE,
  },
  {
    key: "run a program from a script",
    programs: ["awk", "gawk", "mawk", "nawk"],
    // `@name(…)` calls the function that a variable names, and a computed name before a parenthesis may be `system`.
    when: (call) =>
      call.words.some(({ known, text }) => /@\s*\w+\s*\(/u.test(text) || (!known && /\$\{?\w+\}?\s*\(/u.test(text))) ||
      optionValues(call, "-l", "--load").some(({ text }) => text.includes("/")),
    does: "may start other programs from its script",
    effects: CODE,
  },
  {
    key: "read credentials",
    programs: ["awk", "gawk", "mawk", "nawk", "sed", "gsed"],
    when: (call) => opensCredential(call) !== undefined,
    does: "reads a file that holds keys or logins",
    effects: (call) => [{ kind: "credentials", path: opensCredential(call) ?? "" }],
  },
  {
    key: "read credentials",
    programs: ["awk", "gawk", "mawk", "nawk"],
    when: (call) => readAwkProgram(call.words, call.facts.userHome).reads.some((word) => couldBeCredential(word, call)),
    does: "reads files whose names are in its input or put together by its script",
    effects: (call) => [{ kind: "credentials", path: call.facts.userHome }],
  },
]

/** `getline line < $1`, or a name that the program puts together. */
function couldBeCredential(word: ShellWord, { command, facts }: Invocation): boolean {
  if (!word.known && /^(?:\$\{_\})+$/u.test(word.text)) return true
  return pathForms(word, command.directory, facts).some((path) => isCredentialPath(path, facts))
}
