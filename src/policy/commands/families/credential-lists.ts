import { absolutePath, pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import { holdsCredentials, isCredentialDirectory, isCredentialPath } from "../credential-paths.ts"
import { optionValues, programName, subcommands, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { gitDirectory, hasOwnWorkTree } from "../patch-targets.ts"
import type { ShellWord, UnderstoodCommand } from "../../shell/understood-command.ts"

/** Subcommands of git that show or store what files contain. */
const STORES_FILES: ReadonlySet<string> = new Set("add stage commit stash hash-object update-index".split(" "))
const SHOWS_FILES: ReadonlySet<string> = new Set("grep diff blame annotate apply".split(" "))

/** The credentials that git reads as files of its work tree, or with `--no-index` as any files. */
function readByGit(call: Invocation): string | undefined {
  const [action = ""] = subcommands(call)
  const isStored = STORES_FILES.has(action)
  if (!isStored && !SHOWS_FILES.has(action)) return undefined
  const directory = gitDirectory(call)
  if (directory !== undefined && isCredentialDirectory(directory, call.facts)) return directory
  const isAnywhere = call.words.some(({ text }) => text === "--no-index")
  if (!isAnywhere && !(isStored && hasOwnWorkTree(call))) return undefined
  const at = call.operands.findIndex(({ text }) => text === action)
  const given = call.operands.slice(at + 1)
  const isAll = call.words.some(({ text }) => /^(?:-A|--all|-a|-u|--update)$/u.test(text))
  const here: ShellWord = { text: ".", known: true, pattern: false }
  const searched = isAll || (action === "grep" && given.length < 2) ? [...given, here] : given
  return searched
    .flatMap((word) => pathForms(word, directory, call.facts))
    .find((path) => holdsCredentials(path, call.facts))
}

/** Options with a file that lists other files, whose contents the program copies or prints. */
const LIST_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  tar: ["-T", "--files-from"],
  gtar: ["-T", "--files-from"],
  bsdtar: ["-T", "--files-from"],
  rsync: ["--files-from"],
  sort: ["--files0-from"],
  find: ["-files0-from"],
}
/** They list files of the directory that they are given, which is judged by other rules. */
const LISTERS: ReadonlySet<string> = new Set("git find gfind fd fdfind rg ls echo printf".split(" "))
/** They pass on a part of what they read. */
const FILTERS: ReadonlySet<string> = new Set("grep sort uniq head tail tr sed awk".split(" "))

/** The files with lists that the options of a line name. Their text is read when the line is judged. */
export function listOptionFiles({ commands }: UnderstoodCommand): readonly string[] {
  return commands.flatMap(({ program = "", argv, directory, source }) => {
    const options = source === "remote" ? undefined : LIST_OPTIONS[program]
    if (options === undefined) return []
    return optionValues({ words: argv.slice(1) }, ...options).flatMap((word) => absolutePath(word, directory) ?? [])
  })
}

function readsListedFiles(call: Invocation): boolean {
  if (call.program.endsWith("tar") && isUnpacking(call)) return false
  if (readsListFromInput(call)) return !isListed(call)
  // `tar cfT x.tar list`
  if (call.program.endsWith("tar") && /^[a-zA-Z]*T[a-zA-Z]*$/u.test(call.words[0]?.text ?? "")) return true
  if (/^7za?$/u.test(call.program)) return call.operands.some(({ text }) => text.startsWith("@"))
  return optionValues(call, ...(LIST_OPTIONS[call.program] ?? [])).some((word) => {
    if (word.text === "-" || word.text === "/dev/stdin") return !isListed(call)
    const [path = ""] = pathForms(word, call.command.directory, call.facts)
    const text = call.understood.after.files?.get(path) ?? call.facts.texts?.get(path)
    return text === undefined || text.split(/[\n\0]/u).some((name) => /^[/~-]|(?:^|\/)\.\.(?:\/|$)/u.test(name))
  })
}

/** Programs that read the names of files from their input. */
function readsListFromInput(call: Invocation): boolean {
  const has = (pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
  if (call.program === "git") return has(/^--stdin-paths$/u) && has(/^hash-object$/u)
  if (call.program === "zip") return has(/^-[a-zA-Z]*@$/u)
  if (call.program === "pax") return has(/^-[a-zA-Z]*w/u) && call.operands.length === 0
  return call.program === "cpio" && has(/^-[a-zA-Z]*[op]|^--(?:create|pass-through)$/u)
}

function isUnpacking(call: Invocation): boolean {
  return call.words.some(
    ({ text }, index) =>
      /^-[a-zA-Z]*[xt]|^--(?:extract|get|list)$/u.test(text) || (index === 0 && /^[a-zA-Z]*[xt]/u.test(text)),
  )
}

function isListed(call: Invocation): boolean {
  const { command, understood, facts } = call
  const isCredential = (word: ShellWord, directory: string | undefined): boolean =>
    pathForms(word, directory, facts).some(
      (path) => isCredentialPath(path, facts) || isCredentialDirectory(path, facts),
    )
  if (command.input?.kind === "text") {
    const { word } = command.input
    const lines = word.text.split(/[\n\0]/u)
    return !lines.some((text) => isCredential({ ...word, text }, command.directory))
  }
  const commands = upstream(command, understood)
  if (commands.some(({ argv, directory }) => argv.slice(1).some((word) => isCredential(word, directory)))) return false
  const names = commands.map(({ program }) => programName(program ?? ""))
  const source = names.at(-1) ?? ""
  return LISTERS.has(source) && names.every((name) => LISTERS.has(name) || FILTERS.has(name))
}

/** Credentials that a command reaches by way of git, or by a list of files that is not judged. */
export const CREDENTIAL_LIST_RULES: readonly CommandRule[] = [
  {
    key: "read credentials",
    programs: ["git"],
    when: (call) => readByGit(call) !== undefined,
    does: "reads files that hold keys or logins",
    effects: (call) => [{ kind: "credentials", path: readByGit(call) ?? "" }],
  },
  {
    key: "copy credentials",
    programs: [...Object.keys(LIST_OPTIONS), "git", "zip", "cpio", "pax", "7z", "7za"],
    when: readsListedFiles,
    does: "reads files that a list names, which may hold keys or logins",
    effects: (call) => [{ kind: "credentials", path: call.facts.userHome }],
  },
]
