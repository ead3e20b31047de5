import type { Call, Field } from "../interpreter.ts"
import { asPart, HIDDEN_NAMES, joinNames, wordNames } from "../name-source.ts"
import { listedFiles } from "./listed-files.ts"
import { printedPaths } from "./printed-paths.ts"
import { fileNames } from "../redirections.ts"
import { temporaryPath } from "./temporary-path.ts"
import type { NameSource } from "../understood-command.ts"

/** Where the output of a program comes from when its text is not known. */
export function outputNames(name: string, call: Call): NameSource | undefined {
  const complete = completePaths(name, call)
  if (complete.length > 0) return { files: [], isHidden: false, paths: complete, isComplete: true }
  return asPart(joinNames(listedIn(name, call), joinNames(printedPaths(name, call), pathsOf(call.frame.input.names))))
}

/** All that a program can print, where that is known. */
function completePaths(name: string, call: Call): readonly string[] {
  const path = name === "mktemp" ? temporaryPath(call) : undefined
  return path === undefined ? listedFiles(name, call) : [path]
}

/** A program may pass on the paths in its input. */
function pathsOf(names: NameSource | undefined): NameSource | undefined {
  return names?.paths === undefined ? undefined : { ...names, files: [], isHidden: false }
}

function listedIn(name: string, call: Call): NameSource | undefined {
  const kind = KINDS.get(name)
  if (kind === undefined) return undefined
  if (kind === "hides") return HIDDEN_NAMES
  if (kind === "prints") return wordNames(call.argv)
  if (kind === "shows commits") return showsFile(call) ? HIDDEN_NAMES : undefined
  if (kind === "searches" && (name === "rg" || call.argv.some(({ text }) => LISTING_OPTION.test(text))))
    return printsOnlyText(call) ? HIDDEN_NAMES : undefined
  let names = call.frame.input.names
  // The value of an option, as in `head -n 5`, is taken for a file too. There is none of that name.
  for (const word of fileOperands(kind, call)) names = joinNames(names, fileNames(word, call.frame.scope))
  return names
}

type Kind = (typeof ALL_KINDS)[number]
const ALL_KINDS = [
  "passes",
  "runs a script",
  "searches",
  "reads only input",
  "prints",
  "shows commits",
  "hides",
] as const

/** `git show COMMIT:file`, `git cat-file -p`, `git grep -h`: text of files, in contrast to names of files. */
function showsFile(call: Call): boolean {
  const words = call.argv.map(({ text }) => text)
  if (words.includes("cat-file")) return true
  if (words.includes("grep")) return printsOnlyText(call)
  return words.includes("show") && words.some((word) => /^[^-].*:./u.test(word))
}

/** What is found is printed without the name of the file. */
function printsOnlyText({ argv }: Call): boolean {
  const has = (pattern: RegExp): boolean => argv.some(({ text }) => pattern.test(text))
  return has(/^-[a-zA-Z]*[hI]|^--no-filename$/u) && !has(/^-[a-zA-Z]*[lL]|^--(?:files-with|name-only)/u)
}

function fileOperands(kind: Kind, { argv }: Call): readonly Field[] {
  if (kind === "reads only input") return []
  const operands = argv.slice(1).filter(({ text }) => !text.startsWith("-"))
  const hasScript = kind !== "passes" && !argv.some(({ text }) => SCRIPT_OPTION.test(text))
  return hasScript ? operands.slice(1) : operands
}

const SCRIPT_OPTION = /^-[a-zA-Z]*[ef]$|^--(?:expression|file|regexp)/u
/** With these options, programs that search print the names of files. */
const LISTING_OPTION = /^-[a-zA-Z]*[lLrRc]|^--(?:files-with|recursive|count)/u

const KIND_PROGRAMS: Readonly<Record<Kind, string>> = {
  passes: "cat tac head tail sort uniq cut nl paste column shuf comm fold fmt strings tee xargs",
  "runs a script": "sed gsed awk gawk mawk jq yq",
  searches: "grep egrep fgrep rg",
  "reads only input": "tr",
  prints: "echo printf",
  "shows commits": "git",
  // What they print cannot be compared with their input, or comes from another machine.
  hides:
    "base64 base32 basenc xxd openssl uudecode gunzip zcat gzip bzcat bunzip2 xzcat unxz zstdcat rev gpg curl wget nc ncat socat dig envsubst sqlite3 psql mysql",
}

const KINDS: ReadonlyMap<string, Kind> = new Map(
  ALL_KINDS.flatMap((kind) => KIND_PROGRAMS[kind].split(" ").map((name) => [name, kind] as const)),
)
