import { outputTargets } from "./command-paths.ts"
import { isCodeVariable } from "./code-variables.ts"
import { programName } from "./invocation.ts"
import { isReadingCommand } from "./read-only.ts"
import type { SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"

/**
 * Whether a line needs `.git/config` only for what git keeps there itself, such as the upstream of a branch. The other commands of the line may
 * only read: the file also names programs that git starts, and they must not write it.
 */
export function keepsGitSettings(understood: UnderstoodCommand): boolean {
  return onlyRunsGit(understood, isKeeping)
}

/**
 * Whether a line lets git update the working tree, for example with a branch. What git writes then comes from the history, also where a command
 * could not write it. The other commands of the line may only read.
 */
export function updatesTree(understood: UnderstoodCommand): boolean {
  return onlyRunsGit(understood, isUpdating)
}

function onlyRunsGit(understood: UnderstoodCommand, is: (command: SimpleCommand) => boolean): boolean {
  // After `source FILE`, `git` may be a function.
  if (understood.doubts.length > 0 || (understood.after.sourced?.size ?? 0) > 0) return false
  for (const [name, value] of understood.after.variables) if (isCodeVariable(name, value)) return false
  const { commands } = understood
  return commands.some(is) && commands.every((command) => is(command) || isReadingCommand(command))
}

function isUpdating(command: SimpleCommand): boolean {
  return isPlainGit(command) && TREE_SUBCOMMANDS.has(command.argv[1]?.text ?? "")
}

function isKeeping(command: SimpleCommand): boolean {
  if (!isPlainGit(command)) return false
  const [, subcommand, ...rest] = command.argv
  const words = rest.map(({ text }) => text)
  return subcommand?.text === "config" ? setsHarmlessKey(words) : SUBCOMMANDS.has(subcommand?.text ?? "")
}

/** A git command that starts no other program and is written out completely. */
function isPlainGit(command: SimpleCommand): boolean {
  if (command.argv[0]?.text !== "git" || programName(command.program ?? "") !== "git" || command.source !== "line")
    return false
  if (command.wrappers.length > 0 || command.assignments.length > 0 || command.background) return false
  if (outputTargets(command).some(({ text }) => text !== "/dev/null")) return false
  if (command.argv.some(({ known }) => !known)) return false
  return !command.argv.slice(2).some(({ text }) => STARTS_PROGRAM.test(text))
}

/** Whether a command of such a line changes `.git/config`, in contrast to `git push` or `git fetch` alone. */
export function writesGitSettings({ argv }: SimpleCommand): boolean {
  const [, subcommand, ...rest] = argv.map(({ text }) => text)
  const has = (pattern: RegExp): boolean => rest.some((word) => pattern.test(word))
  switch (subcommand) {
    case "config":
      return true
    case "push":
      return has(/^(?:-u|--set-upstream)$/u)
    case "remote":
      return has(/^(?:add|remove|rm|rename|set-url|set-branches)$/u)
    case "branch":
      return has(/^(?:-u|--set-upstream-to\b.*|--unset-upstream|-[mMcC]|--move|--copy|-t|--track\b.*)$/u)
    case "checkout":
    case "switch":
      return has(/^(?:-t|--track\b.*)$/u)
    default:
      return false
  }
}

/** These write the remotes and branches that the user names. */
const SUBCOMMANDS: ReadonlySet<string> = new Set(["push", "fetch", "remote", "branch", "checkout", "switch", "init"])

/** These write files of commits, of a stash or of the index. `apply` and `am` write what a patch says. */
const TREE_SUBCOMMANDS: ReadonlySet<string> = new Set(
  "checkout switch restore pull merge rebase reset stash cherry-pick revert fetch clone commit add".split(" "),
)

/** Options and transports with which git starts a program. */
const STARTS_PROGRAM = /^--(?:exec|receive-pack|upload-pack|upload-file|template|config|recurse-submodules)|^-x|::/u

/** `git config KEY VALUE` for keys that name no program and no file. */
function setsHarmlessKey(words: readonly string[]): boolean {
  const operands = words.filter((word) => !word.startsWith("-"))
  const options = words.filter((word) => word.startsWith("-"))
  return options.every((word) => word === "--local" || word === "--unset") && HARMLESS_KEY.test(operands[0] ?? "")
}

const HARMLESS_KEY =
  /^(?:user\.(?:name|email|signingkey)|branch\..+\.(?:remote|merge|rebase)|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote|followtags)|init\.defaultbranch|core\.(?:autocrlf|filemode|ignorecase|longpaths|quotepath|eol|safecrlf|abbrev)|commit\.gpgsign|fetch\.prune|merge\.(?:ff|conflictstyle)|rebase\.(?:autosquash|autostash)|rerere\.enabled|diff\.algorithm|color\.[a-z.]+|advice\.[a-z]+)$/iu
