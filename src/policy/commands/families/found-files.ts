import { isWithin } from "../../file-floor.ts"
import type { ShellWord } from "../../shell/understood-command.ts"
import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import { optionValues, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { isOutsideProject } from "../path-classes.ts"
import { componentGlob } from "../shell-glob.ts"

/** `find ~/Documents -exec truncate -s 0 {} +`. */
function changesOutside(call: Invocation): boolean {
  const end = call.words.findIndex(({ text }) => /^[-(!]/u.test(text) && !/^-[HLP]$/u.test(text))
  return (
    call.words
      .slice(0, Math.max(end, 0))
      .some((word) =>
        pathForms(word, call.command.directory, call.facts).some((path) => isOutsideProject(path, call.facts)),
      ) && replacesFound(call)
  )
}

/** `-exec cp {} x` only reads what is found. */
function replacesFound(call: Invocation): boolean {
  const texts = (call.isWrapper ? call.command.argv : call.words).map(({ text }) => text)
  if (texts.includes("cp") || texts.includes("mv") || texts.includes("install"))
    return /^(?:;|\+|)$/u.test(texts[texts.lastIndexOf("{}") + 1] ?? "")
  return changesFiles(call.command.program, call.isWrapper ? call.command.argv : call.words)
}

/** `find ~ -name .bashrc -exec sed -i … {} \;`, `find ~ -name config.yaml | xargs cp x`. */
function changesFound(call: Invocation): boolean {
  const isAboveHome = call.words.some((word) =>
    pathForms(word, call.command.directory, call.facts).some((path) => isWithin(call.facts.userHome, path)),
  )
  if (!isAboveHome) return false
  const patterns = optionValues(call, "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex")
  const isSought = patterns.some(({ text }) => {
    const matches = componentGlob(text.slice(text.lastIndexOf("/") + 1).toLowerCase())
    return SOUGHT.some(matches) || /bash|profile|zsh|ssh|hermes|netrc/iu.test(text)
  })
  return (
    isSought &&
    (changesFiles(call.command.program, call.isWrapper ? call.command.argv : call.words) || feedsChange(call))
  )
}

const SOUGHT = [
  ".bashrc",
  ".bash_profile",
  ".profile",
  ".zshrc",
  ".zshenv",
  "config.yaml",
  "permissions.yaml",
  ".gitconfig",
]

function feedsChange({ command, understood }: Invocation): boolean {
  return understood.commands.some(
    (other) =>
      other !== command && upstream(other, understood).includes(command) && changesFiles(other.program, other.argv),
  )
}

function changesFiles(program: string | undefined, words: readonly ShellWord[]): boolean {
  const texts = words.map(({ text }) => text)
  const names = [program ?? "", ...texts.filter((text) => CHANGERS.has(text))]
  if (names.some((name) => CHANGERS.has(name))) return true
  return (
    (texts.includes("sed") || texts.includes("perl") || program === "sed" || program === "perl") &&
    texts.some((text) => /^-[a-zA-Z0-9]*i|^--in-place/u.test(text))
  )
}

const CHANGERS: ReadonlySet<string> = new Set(
  "cp mv tee truncate dd ln install patch ed ex sponge gzip shred rm unlink rename chmod chown".split(" "),
)

/** Files that `find` passes to a program which changes them. */
export const FOUND_FILE_RULES: readonly CommandRule[] = [
  {
    key: "overwrite a file outside the project",
    programs: ["find", "gfind"],
    when: changesOutside,
    does: "changes files outside the project that it finds",
    effects: (call) => [{ kind: "write", path: call.facts.userHome }],
  },
  {
    key: "change protected files that are found",
    programs: ["find", "gfind"],
    when: changesFound,
    does: "changes files of the account or of Hermes that it finds",
    effects: (call) => [{ kind: "write", path: call.facts.userHome }],
  },
]
