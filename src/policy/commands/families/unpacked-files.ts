import { posix } from "node:path"
import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, optionValues, programName, subcommands, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { NETWORK_PROGRAMS } from "../network-target.ts"
import { UNPACKING_PROGRAMS, unpacking } from "../archives.ts"
import {
  appliesUnknownPatch,
  appliesPatch,
  gitDirectory,
  hasOwnWorkTree,
  patchedFiles,
  targetDirectory,
} from "../patch-targets.ts"
import { GIT_CHECKOUT } from "../git-output.ts"
import { COPYING_PROGRAMS, copiesUnknownNames } from "../copied-names.ts"
import { writtenPaths } from "../written-paths.ts"
import { isSteeringDirectory, pathClass } from "../path-classes.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

const isTar = (call: Invocation): boolean => call.program.endsWith("tar")

/** The letters of the first word without a dash, as in `tar xPf`, and of the options. */
const tarLetters = (call: Invocation): string => {
  const first = call.words[0]?.text ?? ""
  const bundle = /^[a-zA-Z]+$/u.test(first) ? first : ""
  return [bundle, ...call.flags.filter((flag) => /^-[a-zA-Z]/u.test(flag))].join("")
}

const unpacks = (call: Invocation): boolean => {
  if (isTar(call)) return tarLetters(call).includes("x") || hasFlag(call, /^--(?:extract|get)$/u)
  if (call.program === "cpio") return hasFlag(call, /^-[a-zA-Z]*i|^--extract$/u) && !hasFlag(call, /^-[a-zA-Z]*t/u)
  if (call.program === "pax") return hasFlag(call, /^-[a-zA-Z]*r/u)
  if (/^7z|^7za/u.test(call.program)) return /^[xe]$/u.test(call.operands[0]?.text ?? "")
  return call.program === "unzip" ? !hasFlag(call, /^-[a-zA-Z]*[ltvpZ]/u) : true
}

/** The archive itself says where its files go: absolute names and `..` are followed. */
const followsAbsoluteNames = (call: Invocation): boolean => {
  if (isTar(call)) return tarLetters(call).includes("P") || hasFlag(call, /^--absolute-names$/u)
  if (call.program === "cpio") return !hasFlag(call, /^--no-absolute-filenames$/u)
  if (call.program === "unzip") return hasFlag(call, /^-[a-zA-Z]*:/u)
  if (/^7z|^7za/u.test(call.program)) return hasFlag(call, /^-spf/u)
  return call.program === "pax" || (call.program === "git" && hasFlag(call, /^--unsafe-paths$/u))
}

/** The directories that receive files whose names the command line does not say. */
function receivingDirectories(call: Invocation): readonly (string | undefined)[] {
  const { command, program, facts } = call
  const forms = (words: readonly ShellWord[]): readonly string[] =>
    words.flatMap((word) => pathForms(word, command.directory, facts))
  if (program === "git") {
    if (appliesPatch(call)) return [targetDirectory(call)]
    return hasOwnWorkTree(call) && GIT_CHECKOUT.has(subcommands(call)[0] ?? "") ? [gitDirectory(call)] : []
  }
  if (program === "patch") {
    const values = new Set(optionValues(call, "-d", "--directory", "-i", "--input", "-p", "-o", "-D", "-B", "-z"))
    return call.operands.some((word) => !values.has(word)) ? [] : [targetDirectory(call)]
  }
  const written = writtenPaths(call).filter(({ method, derived }) => method !== "delete" && derived === undefined)
  const named = forms(written.map(({ word }) => word))
  const isArchive = program !== "cp" && program !== "rsync"
  const hasTarget = optionValues(call, ...(TARGET_OPTIONS[program] ?? TAR_OPTIONS)).length > 0
  return isArchive && !hasTarget ? [command.directory] : named
}

const TAR_OPTIONS = ["-C", "--directory", "--one-top-level"]
const TARGET_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  unzip: ["-d"],
  cpio: ["-D", "--directory"],
  "7z": ["-o"],
  "7za": ["-o"],
  pax: [],
}

/** The names of the files are in an archive, a patch or another directory, so they may include start-up files. */
function unpacksIntoHome(call: Invocation): boolean {
  if (call.program !== "git" && call.program !== "patch" && !unpacks(call)) return false
  if (call.program !== "cp" && call.program !== "rsync" && followsAbsoluteNames(call)) return true
  const isHome = receivingDirectories(call).some((path) => path === "/" || path === call.facts.userHome)
  if (!isHome) return false
  // A patch whose text is known is judged by the files that it names.
  if (appliesPatch(call) && patchedFiles(call).length > 0) return false
  if (call.program === "cp")
    return (
      hasFlag(call, /^-[a-zA-Z]*T|^--no-target-directory$/u) ||
      call.operands.some(({ text }) => /\/\.$|[*]/u.test(text))
    )
  return call.program !== "rsync" || call.operands.some(({ text }) => text.endsWith("/") || text.includes("*"))
}

/** The names in the replacement of `s,old,new,`: `s,x,AGENTS.md,`. What a group inserts is not known. */
function namesProtected(expression: string, { facts }: Invocation): boolean {
  const separator = /^(?:flags=\w*;)?s(.)/u.exec(expression)?.[1]
  const replacement = separator === undefined ? undefined : expression.split(separator)[2]
  if (replacement === undefined) return true
  const path = posix.join(facts.workspaceRoot, replacement)
  const found = pathClass(path, facts)
  return (found !== undefined && found !== "project env/config") || isSteeringDirectory(path, facts)
}

/** The sandbox protects files that others obey. */
const obeyedFile: CommandRule["effects"] = ({ facts }) => [{ kind: "write", path: `${facts.workspaceRoot}/.envrc` }]

const FOLLOWING_PROGRAMS = "tar gtar bsdtar unzip 7z 7za cpio pax rsync cp patch git".split(" ")

/** Archives and patches, which name the files that they write themselves. */
export const UNPACKED_FILE_RULES: readonly CommandRule[] = [
  {
    key: "unpack into the home or the root directory",
    programs: FOLLOWING_PROGRAMS,
    when: unpacksIntoHome,
    does: "may replace any file in the home or in the system",
    effects: (call) => [{ kind: "write", path: call.facts.userHome }],
  },
  {
    key: "copy files with unknown names into the project",
    programs: COPYING_PROGRAMS,
    when: copiesUnknownNames,
    does: "may write files that other programs or agents obey: the names cannot be looked up",
    effects: obeyedFile,
  },
  {
    key: "copy files with unknown names into the project",
    programs: ["patch", "git"],
    when: appliesUnknownPatch,
    does: "may change files that other programs or agents obey: the names in the patch cannot be looked up",
    effects: obeyedFile,
  },
  {
    key: "unpack into the home or the root directory",
    programs: UNPACKING_PROGRAMS.filter((name) => !FOLLOWING_PROGRAMS.includes(name)),
    when: (call) => {
      const to = unpacking(call)?.to
      return to === "/" || to === call.facts.userHome
    },
    does: "may replace any file in the home or in the system",
    effects: (call) => [{ kind: "write", path: call.facts.userHome }],
  },
  {
    key: "apply a patch from another machine",
    programs: ["patch", "git"],
    when: (call) =>
      appliesPatch(call) &&
      upstream(call.command, call.understood).some(({ program }) => NETWORK_PROGRAMS.has(programName(program ?? ""))),
    does: "changes files as another machine says",
    effects: [{ kind: "code" }],
  },
  {
    key: "write a file that other programs execute",
    programs: ["tar", "gtar", "bsdtar"],
    when: (call) =>
      unpacks(call) &&
      [
        ...optionValues(call, "--transform", "--xform"),
        ...(call.program === "bsdtar" ? optionValues(call, "-s") : []),
      ].some(({ text, known }) => !known || namesProtected(text, call)),
    does: "unpacks files under names that other programs or agents obey",
    effects: (call) => [{ kind: "write", path: `${call.facts.workspaceRoot}/.git/hooks` }],
  },
]
