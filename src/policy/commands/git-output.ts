import { posix } from "node:path"
import { AGENT_INSTRUCTIONS, EXECUTED_IN_WORKSPACE, TOOL_SETTINGS } from "../../config/protected-paths.ts"
import { absolutePath } from "./command-paths.ts"
import { optionValues, subcommands } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"
import { gitDirectory, hasOwnWorkTree, patchedFiles } from "./patch-targets.ts"
import { componentGlob, hasGlob } from "./shell-glob.ts"
import type { ShellWord } from "../shell/understood-command.ts"

/** A file that git writes, or a directory with files whose names the command does not say. */
interface GitOutput {
  readonly word: ShellWord
  readonly tree?: true
}

/** Subcommands of git that write files, and do so in another directory when they are given one. */
export const GIT_CHECKOUT: ReadonlySet<string> = new Set(
  "checkout restore reset read-tree checkout-index switch stash merge pull rebase cherry-pick revert".split(" "),
)

/** The files and directories that a git command names and writes. */
export function gitOutput(call: Invocation): readonly GitOutput[] {
  const [action = ""] = subcommands(call)
  const at = call.operands.findIndex(({ text }) => text === action)
  const operands = call.operands.slice(at + 1)
  return [
    ...outputOptions(call, action).map((word) => ({ word })),
    ...namedOutput(action, operands),
    ...(PREFIXED.has(action) ? optionValues(call, "--prefix", "-P") : []).map((word) => ({
      word,
      tree: true as const,
    })),
    ...checkedOut(call, action),
    ...patchedFiles(call).map((word) => ({ word })),
  ]
}

/** They put a whole tree into the directory of `--prefix`. */
const PREFIXED: ReadonlySet<string> = new Set(["read-tree", "subtree", "checkout-index"])

const OUTPUT_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  archive: ["-o"],
  "format-patch": ["-o"],
  "index-pack": ["-o"],
  mailsplit: ["-o"],
  bugreport: ["-o"],
  diagnose: ["-o"],
  config: ["-f", "--file"],
  "credential-store": ["--file"],
  daemon: ["--pid-file"],
  "fast-export": ["--export-marks"],
  "fast-import": ["--export-marks", "--export-pack-edges"],
}

function outputOptions(call: Invocation, action: string): readonly ShellWord[] {
  // Without a value, `git config` only reads.
  if (action === "config" && (!hasValue(call) || isReading(call))) return []
  return optionValues(call, "--output", "--output-directory", "--separate-git-dir", ...(OUTPUT_OPTIONS[action] ?? []))
}

/** A name and a value, or an option that changes what is there. */
function hasValue(call: Invocation): boolean {
  const files = optionValues(call, "-f", "--file").map(({ text }) => text)
  const words = subcommands(call).filter((word) => !files.includes(word))
  return (
    words.length > 2 ||
    call.words.some(({ text }) => /^(?:--(?:unset|re(?:name|move)-section)\S*|--edit|-e)$/u.test(text))
  )
}

function isReading(call: Invocation): boolean {
  return call.words.some(({ text }) => /^(?:--get\S*|--list|-l|get|list)$/u.test(text))
}

function namedOutput(action: string, operands: readonly ShellWord[]): readonly GitOutput[] {
  const [first, second] = operands
  const file = (word: ShellWord | undefined): readonly GitOutput[] => (word === undefined ? [] : [{ word }])
  const tree = (word: ShellWord | undefined): readonly GitOutput[] => (word === undefined ? [] : [{ word, tree: true }])
  switch (action) {
    case "clone":
      return operands.length > 1 ? tree(operands.at(-1)) : []
    case "worktree":
      return first?.text === "add" ? tree(second) : []
    case "submodule":
      return first?.text === "add" ? tree(operands[2]) : []
    case "bundle":
      return first?.text === "create" ? file(second) : []
    case "mailinfo":
      return [...file(first), ...file(second)]
    case "merge-file":
      return file(first)
    default:
      return []
  }
}

/** What git takes from a commit: whatever is in it goes to a work tree of its own, named files replace those of the workspace. */
function checkedOut(call: Invocation, action: string): readonly GitOutput[] {
  const directory = GIT_CHECKOUT.has(action) ? gitDirectory(call) : undefined
  if (directory === undefined) return []
  const absolute = (word: ShellWord): readonly GitOutput[] =>
    pathspecNames(word, directory).flatMap((named) => {
      const path = absolutePath(named, directory)
      return path === undefined ? [] : [{ word: { ...named, text: path, pattern: false }, tree: true }]
    })
  const tree: readonly GitOutput[] = hasOwnWorkTree(call)
    ? [{ word: { text: directory, known: true, pattern: false }, tree: true }]
    : []
  return [...tree, ...checkedOutFiles(call, action).flatMap(absolute)]
}

/** The file that a pathspec names; for a pattern, the protected files that it matches, without those that git may always update. */
export function pathspecNames(word: ShellWord, directory: string): readonly ShellWord[] {
  const [, magic = "", short = ""] = /^:(?:\(([^)]*)\)|([/!^]+))/u.exec(word.text) ?? []
  if (magic.includes("exclude") || /[!^]/u.test(short)) return []
  const text = word.text.replace(/^:(?:\([^)]*\)|[/!^]+)/u, "")
  if (!hasGlob(text) || magic.includes("literal")) return text === "" ? [] : [{ ...word, text }]
  const matches = pathspecGlob(text)
  return [...EXECUTED_IN_WORKSPACE, ...AGENT_INSTRUCTIONS]
    .filter((name) => !UPDATED_BY_GIT.has(name) && matches(name.replaceAll("*", "x")))
    .map((name) => ({ ...word, text: posix.join(directory, name.replaceAll("*", "x")), pattern: false }))
}

const UPDATED_BY_GIT: ReadonlySet<string> = new Set(TOOL_SETTINGS)

/** In a pathspec, `*` matches slashes too. */
function pathspecGlob(pattern: string): (name: string) => boolean {
  const matches = componentGlob(pattern.replaceAll(/(?:\*\*\/)+/gu, "*"))
  // A pattern that matches a directory takes what is in it.
  return (name) => name.split("/").some((_part, index, parts) => matches(parts.slice(0, index + 1).join("/")))
}

/** Files that are taken from another commit than the current one. */
function checkedOutFiles(call: Invocation, action: string): readonly ShellWord[] {
  const at = call.words.findIndex(({ text }) => text === action)
  const words = call.words.slice(at + 1)
  const isCurrent = (word: ShellWord | undefined): boolean => word === undefined || /^(?:HEAD|@)$/u.test(word.text)
  const isFlag = ({ text }: ShellWord): boolean => text.startsWith("-")
  if (action === "restore") {
    const [source] = optionValues({ ...call, words }, "--source", "-s")
    return isCurrent(source) ? [] : words.filter((word) => !isFlag(word) && word !== source)
  }
  if (action !== "checkout" || words.some(({ text }) => /^-[bB]$|^--orphan$/u.test(text))) return []
  const end = words.findIndex(({ text }) => text === "--")
  const before = (end === -1 ? words : words.slice(0, end)).filter((word) => !isFlag(word))
  const files = [...before.slice(1), ...(end === -1 ? [] : words.slice(end + 1))]
  return isCurrent(before[0]) ? [] : files
}
