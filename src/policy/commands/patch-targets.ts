import { posix } from "node:path"
import type { ShellWord, UnderstoodCommand } from "../shell/understood-command.ts"
import { DECODING, inputFiles } from "./archives.ts"
import { absolutePath } from "./command-paths.ts"
import { invocations, optionValues, programName, subcommands, upstream } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"
import type { CommandFacts } from "./command-verdict.ts"

/** True for `patch`, `git apply` and `git am`: what they write is named in a file or in their input. */
export function appliesPatch(call: Invocation): boolean {
  if (call.program === "patch") return true
  return call.program === "git" && /^(?:apply|am)$/u.test(subcommands(call)[0] ?? "")
}

/** The directory that git writes files in: `-C`, `--work-tree` and `GIT_WORK_TREE` change it. */
export function gitDirectory(call: Invocation): string | undefined {
  const variable = gitWorkTree(call)
  const end = call.words.findIndex(({ text }) => !text.startsWith("-") && text === subcommands(call)[0])
  const before = { ...call, words: end === -1 ? call.words : call.words.slice(0, end) }
  const options = optionValues(before, "--work-tree")
  const changed = [...optionValues(before, "-C"), ...(options.length > 0 ? options : [variable])]
  return changed.reduce(
    (directory, word) => (word === undefined ? directory : absolutePath(word, directory)),
    call.command.directory,
  )
}

/** The value of `GIT_WORK_TREE`, also of one that an earlier command exported. */
function gitWorkTree({ command, understood }: Invocation): ShellWord | undefined {
  const own = command.assignments.findLast(({ name }) => name === "GIT_WORK_TREE")?.value
  const given = command.wrappers.flatMap(({ argv }) => argv).findLast(({ text }) => text.startsWith("GIT_WORK_TREE="))
  if (own !== undefined) return own
  if (given !== undefined) return { ...given, text: given.text.slice(given.text.indexOf("=") + 1) }
  const { variables } = understood.after
  if (!variables.has("GIT_WORK_TREE")) return undefined
  const text = variables.get("GIT_WORK_TREE")
  return { text: text ?? "$GIT_WORK_TREE", known: text !== undefined, pattern: false }
}

/** Whether git writes its files in another directory than that of the repository. */
export function hasOwnWorkTree(call: Invocation): boolean {
  return optionValues(call, "--work-tree").length > 0 || gitWorkTree(call) !== undefined
}

/** The files with patches that a line applies. Their text is read when the line is judged. */
export function patchFiles(understood: UnderstoodCommand, facts: CommandFacts): readonly string[] {
  return understood.commands.flatMap((command) => {
    if (command.source === "remote" || !PROGRAMS.test(command.program ?? "")) return []
    const [call] = invocations(command, understood, facts)
    return call === undefined || !appliesPatch(call) ? [] : namedFiles(call)
  })
}

const PROGRAMS = /^(?:git|patch)$/iu

interface PatchWords {
  readonly operands: readonly ShellWord[]
  /** Files that are redirected or printed to the command. */
  readonly input: readonly ShellWord[]
}

function patchWords(call: Invocation): PatchWords {
  const action = subcommands(call)[0]
  const operands =
    call.program === "git"
      ? call.operands.slice(call.operands.findIndex(({ text }) => text === action) + 1)
      : [...call.operands.slice(1, 2), ...optionValues(call, "-i", "--input")]
  return { operands, input: inputFiles(call) }
}

function namedFiles(call: Invocation): readonly string[] {
  const { command } = call
  const { operands, input } = patchWords(call)
  const directory = call.program === "git" ? gitDirectory(call) : command.directory
  return [
    ...operands.flatMap((word) => absolutePath(word, directory) ?? []),
    ...input.flatMap((word) => absolutePath(word, command.directory) ?? []),
  ].filter((path) => posix.basename(path) !== "-")
}

/** True when the file with a patch is not known, or when its text is decompressed, decoded or decrypted before it is applied. */
export function appliesUnknownPatch(call: Invocation): boolean {
  if (!appliesPatch(call)) return false
  const { operands, input } = patchWords(call)
  return (
    [...operands, ...input].some(({ known }) => !known) ||
    upstream(call.command, call.understood).some(({ program }) => DECODING.has(programName(program ?? "")))
  )
}

/** The files that a patch changes, as far as its text is known. */
export function patchedFiles(call: Invocation): readonly ShellWord[] {
  if (!appliesPatch(call)) return []
  const { command, facts, understood } = call
  const known = namedFiles(call).flatMap((path) => understood.after.files?.get(path) ?? facts.texts?.get(path) ?? [])
  const piped = upstream(command, understood).flatMap(({ program, argv }) =>
    program === "echo" || program === "printf" || program === "cat" ? argv.slice(1).map(({ text }) => text) : [],
  )
  const texts = [...known, ...piped, ...(command.input?.kind === "text" ? [command.input.word.text] : [])]
  const start = targetDirectory(call)
  if (start === undefined) return []
  const names = new Set(texts.flatMap(changedNames))
  return [...names].map((name) => ({ text: posix.resolve(start, name), known: true, pattern: false }))
}

/** Where the names in a patch start. */
export function targetDirectory(call: Invocation): string | undefined {
  const directory = call.program === "git" ? gitDirectory(call) : call.command.directory
  const [given] = optionValues(call, ...(call.program === "git" ? ["--directory"] : ["-d", "--directory"]))
  return given === undefined ? directory : absolutePath(given, directory)
}

/** A name counts with and without its first directory, which `-p` decides about. */
function changedNames(patch: string): readonly string[] {
  const lines = patch.slice(0, MAX_PATCH_CHARS).replaceAll("\\n", "\n").matchAll(CHANGED)
  return Array.from(lines)
    .slice(0, MAX_NAMES)
    .flatMap(([, header, plain]) => {
      const name = (header ?? plain ?? "").trim().replace(/^"(.*)"$/u, "$1")
      const slash = name.indexOf("/")
      return name === "/dev/null" || name === "" ? [] : slash > 0 ? [name, name.slice(slash + 1)] : [name]
    })
}

const MAX_PATCH_CHARS = 1_000_000
const MAX_NAMES = 5000
const CHANGED = /^(?:\+\+\+|\*\*\*|---)[ \t]([^\t\n]+)|^(?:rename|copy) to ([^\n]+)/gmu
