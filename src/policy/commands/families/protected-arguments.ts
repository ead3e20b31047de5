import { posix } from "node:path"
import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import { isCredentialPath } from "../credential-paths.ts"
import { upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { pathClass } from "../path-classes.ts"
import type { PathClass } from "../path-classes.ts"
import { READ_ONLY_PROGRAMS } from "../read-only-programs.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

/** What a program that is not known to only read would change, or what its text would read. */
interface NamedPath {
  readonly path: string
  readonly kind: "write" | "credentials"
}

/**
 * A path in an argument: the word itself, the value of an option, a part of a list, a name in a text. Programs have too many options that
 * write files for a table of them, so every program counts as writing that is not known to only read.
 */
function namedPath(call: Invocation): NamedPath | undefined {
  if (call.isWrapper) return undefined
  const isReader = isKnownReader(call)
  if (!isReader || EDITORS.has(call.program))
    for (const word of call.words) {
      if (!couldName(word.text, call) || (isReader && !isText(word.text))) continue
      const found = pathIn(word.text, word, call, isText(word.text) ? "text" : "argument")
      if (found !== undefined) return found
    }
  if (PASSES_TEXT_ON.has(call.program)) return undefined
  for (const text of inputTexts(call)) {
    const found = couldName(text, call) ? pathIn(text, KNOWN, call, "text") : undefined
    if (found !== undefined) return found
  }
  return undefined
}

const KNOWN: ShellWord = { text: "", known: true, pattern: false }

/** Most words have nothing that all of the protected paths have, and this runs for every word. */
function couldName(text: string, { facts, command }: Invocation): boolean {
  return (
    text.includes("/.") ||
    text.includes("~") ||
    text.includes(facts.hermesHome) ||
    (text.includes(".") && command.directory === facts.userHome)
  )
}

function pathIn(text: string, word: ShellWord, call: Invocation, kind: "argument" | "text"): NamedPath | undefined {
  for (const part of text.slice(0, MAX_TEXT).split(kind === "text" ? TEXT_SEPARATORS : ARGUMENT_SEPARATORS)) {
    if (part === "" || !couldName(part, call)) continue
    const name = withoutOption(part).replace(/^~(?=\/|$)/u, call.facts.userHome)
    for (const path of pathForms({ ...word, text: name }, call.command.directory, call.facts)) {
      if (kind === "text" && isCredentialPath(path, call.facts)) return { path, kind: "credentials" }
      if (isSteering(path, call)) return { path, kind: "write" }
    }
  }
  return undefined
}

const MAX_TEXT = 20_000
const ARGUMENT_SEPARATORS = /[=,:;{}>|@%]+/u
const TEXT_SEPARATORS = /[\s=,:;{}<>|@%'"`()[\]]+/u

/** `-MF/path`: the value begins where a path does. */
function withoutOption(part: string): string {
  if (!part.startsWith("-")) return part
  const at = part.search(/[/~]|\.\.?\//u)
  return at === -1 ? part : part.slice(at)
}

const isText = (text: string): boolean => /[\s'"()]/u.test(text)

/** Text that the program reads: a here-document, or what `echo` passes to it. */
function inputTexts(call: Invocation): readonly string[] {
  const { input } = call.command
  if (input?.kind === "text") return [input.word.text]
  if (input?.kind !== "command") return []
  return upstream(call.command, call.understood)
    .filter(({ program }) => program === "echo" || program === "printf")
    .flatMap(({ argv }) => argv.slice(1).map(({ text }) => text))
}

const CHANGED_CLASSES: ReadonlySet<PathClass> = new Set<PathClass>([
  "hermes file",
  "hermes home",
  "user-sensitive",
  "start-up",
  "account credentials",
])

const PUBLIC = /^known_hosts|\.pub$/u

/** Keys have rules of their own, and the files next to them that contain no secrets are read by many programs. */
function isSteering(path: string, { facts }: Invocation): boolean {
  const found = pathClass(path, facts)
  return found !== undefined && CHANGED_CLASSES.has(found) && !PUBLIC.test(posix.basename(path))
}

/** Rules of their own say what these write, or they show and compare files, or start other programs that are judged themselves. */
function isKnownReader({ program }: Invocation): boolean {
  return READ_ONLY_PROGRAMS.get(program) === "any" || READERS.has(program)
}

/** They open files, which is for the user; but their commands name other ones. */
const EDITORS: ReadonlySet<string> = new Set("vi vim nvim view emacs nano less man".split(" "))

const READERS: ReadonlySet<string> = new Set(
  (
    "less more most bat batcat open xdg-open view vi vim nvim nano emacs code subl source . shellcheck colordiff delta vimdiff sdiff zcat bzcat xzcat zless " +
    "tar gtar bsdtar zip cp gcp mv gmv ln install rsync scp sftp ssh ssh-add ssh-keygen ssh-copy-id ssh-keyscan mosh chmod chown chgrp touch mkdir " +
    "rm grm rmdir unlink shred tee sponge sort uniq xxd sed gsed awk gawk mawk nawk find gfind fd fdfind tree file git gh glab hub echo printf export declare " +
    "typeset readonly local alias unalias set unset env sudo doas test [ [[ ( { cd for case select read eval exec trap man info which docker podman kubectl oc " +
    "helm aws gcloud az curl wget rg ag ack hermes hermes-agent date time xargs parallel crontab op pass gpg gpg2 trash trash-put " +
    "truncate fallocate dd patch split csplit unzip 7z 7za cpio script rename mmv setfacl chattr mkfifo stat nix direnv mise perl ruby"
  ).split(" "),
)

/** They write, print or send the text as it is. */
const PASSES_TEXT_ON: ReadonlySet<string> = new Set(
  (
    "cat tee echo printf grep egrep fgrep rg ag wc head tail sort uniq less more git gh glab hub curl wget ssh sh bash zsh dash ksh read mapfile readarray : true " +
    "jq tr cut column fold fmt base64 base32 xxd od md5sum sha1sum sha256sum sed gsed awk gawk mawk nawk diff patch kubectl docker podman mail sendmail nc tac rev nl " +
    "test [ [[ xargs parallel pbcopy xclip xsel wl-copy gpg openssl hermes sudo paste comm join clip.exe sponge dd tar zip gzip prettier shfmt shellcheck"
  ).split(" "),
)

/** Paths of the account and of Hermes in any argument of a program that may write or read them. */
export const PROTECTED_ARGUMENT_RULES: readonly CommandRule[] = [
  {
    key: "give a program a protected file",
    programs: ["*"],
    when: (call) => namedPath(call)?.kind === "write",
    does: "gives a program that may change it a start-up file, a key or a file of Hermes",
    effects: (call) => [{ kind: "write", path: namedPath(call)?.path }],
  },
  {
    key: "read credentials",
    programs: ["*"],
    when: (call) => namedPath(call)?.kind === "credentials",
    does: "names a file that holds keys or logins in a text that a program interprets",
    effects: (call) => [{ kind: "credentials", path: namedPath(call)?.path ?? "" }],
  },
]
