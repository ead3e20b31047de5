/**
 * A path in the form in which file systems that ignore case, Unicode forms, invisible characters and dots or spaces at the end of a name
 * compare it, so that `.GIT/config` and `.git./config` count as `.git/config`.
 */
export function foldedPath(path: string): string {
  const visible = ASCII.test(path) ? path : path.normalize("NFKC").replaceAll(IGNORED, "")
  const lower = visible.toLowerCase()
  return TRAILING.test(lower) ? lower.replaceAll(TRAILING_ALL, "$1") : lower
}

const ASCII = /^[ -~]*$/u
/** What HFS+ leaves out when it compares names. */
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu
/** Dots and spaces at the end of a name that does not consist of dots. */
const TRAILING = /[^./][. ]+(?:\/|$)/u
const TRAILING_ALL = /([^./])[. ]+(?=\/|$)/gu
