import type { NameSource, ShellWord } from "../../shell/understood-command.ts"
import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import { invocations } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { printedCredential } from "../printed-names.ts"
import { writtenPaths } from "../written-paths.ts"

/** Programs that show, copy or send what the files in their arguments contain. */
const READERS =
  "cat bat tac head tail less more nl od xxd hexdump base64 base32 strings sort tar zip cp mv ln install scp rsync openssl gpg dd gzip".split(
    " ",
  )

/** Programs that show parts of the files in their arguments. */
const SEARCHERS = "sed gsed awk gawk mawk grep egrep fgrep rg cut jq yq diff cmp curl wget nc python3 node perl".split(
  " ",
)

/** What they print are names of files in the directory that they are given, which other rules judge. */
const LISTERS: ReadonlySet<string> = new Set("git find gfind fd fdfind rg ls grep egrep fgrep".split(" "))

/** The program reads files whose names are in a list that is not known when the line is judged. */
function readsHiddenNames(call: Invocation): boolean {
  const inputs = call.command.redirections.flatMap(({ operator, target }) => (operator === "<" ? [target] : []))
  return [...call.words, ...inputs].some((word: ShellWord) => word.names !== undefined && areHidden(word.names, call))
}

function areHidden({ files, isHidden }: NameSource, call: Invocation): boolean {
  // A file that is not there has no names in it, and what is in the others is judged.
  return isHidden || files.some((path) => isReplaced(path, call))
}

/** The line itself writes the list, so that it has another text when it is used. */
function isReplaced(path: string, { understood, facts }: Invocation): boolean {
  if (understood.after.files?.get(path) !== undefined) return false
  return understood.commands.some((command) => {
    const [call] = command.source === "remote" ? [] : invocations(command, understood, facts)
    return (
      call !== undefined &&
      !LISTERS.has(call.program) &&
      writtenPaths(call).some(
        ({ method, word }) => method !== "delete" && pathForms(word, command.directory, facts).includes(path),
      )
    )
  })
}

/** A file with keys or logins whose name a program prints that was given it. */
function printedName(call: Invocation): string | undefined {
  const inputs = call.command.redirections.flatMap(({ operator, target }) => (operator === "<" ? [target] : []))
  for (const word of [...call.words, ...inputs]) {
    const found = word.names?.paths === undefined ? undefined : printedCredential(word, call.facts)
    if (found !== undefined) return found
  }
  return undefined
}

/** Names that come from a decoder, from another machine or from a file that cannot be read may be those of credentials. */
export const HIDDEN_NAME_RULES: readonly CommandRule[] = [
  {
    key: "read credentials",
    programs: [...READERS, ...SEARCHERS],
    when: (call) => printedName(call) !== undefined,
    does: "reads files whose names another command prints, which may hold keys or logins",
    effects: (call) => [{ kind: "credentials", path: printedName(call) ?? "" }],
  },
  {
    key: "read credentials",
    programs: READERS,
    when: readsHiddenNames,
    does: "reads files whose names are not known, which may hold keys or logins",
    effects: (call) => [{ kind: "credentials", path: call.facts.userHome }],
  },
]
