import type { ShellWord } from "./understood-command.ts"

/**
 * The program of a command without its directory, in lower case and with look-alike characters folded; undefined when only the shell
 * knows it. File systems may ignore case, and a name that merely looks like a dangerous one is treated as that one.
 */
export function programName(word: ShellWord): string | undefined {
  if (!word.known || word.pattern) return undefined
  // The program that is running, and in a command line that is the shell.
  if (/^\/proc\/[^/]+\/exe$/u.test(word.text)) return "bash"
  const name = word.text.slice(word.text.lastIndexOf("/") + 1)
  return foldName(name)
}

export function foldName(name: string): string {
  return PLAIN_NAME.test(name)
    ? name
    : name.normalize("NFKC").replaceAll(SEQUENCE, "").replaceAll(INVISIBLE, "").toLowerCase()
}

const PLAIN_NAME = /^[a-z0-9._+-]*$/u
/** A colour sequence of a terminal. */
const SEQUENCE = /\p{Cc}\[[\d;?]*[A-Za-z]/gu
/** Control characters, zero-width and bidirectional marks, and other characters that no terminal shows. */
const INVISIBLE = /\p{Cc}|\p{Default_Ignorable_Code_Point}/gu
