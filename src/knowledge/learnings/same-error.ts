import { errorWords } from "./error-words.ts"

/** What distinguishes an error from others of the same tool. */
export interface ErrorTraits {
  /** Codes and exception classes: `TS2345`, `EADDRINUSE`, `KeyError`. */
  readonly codes: ReadonlySet<string>
  /** Codes that name one problem, not a class of them. */
  readonly specificCodes: ReadonlySet<string>
  /** Words that are not in every second error message. */
  readonly words: ReadonlySet<string>
}

export function errorTraits(text: string): ErrorTraits {
  const found = Array.from(text.matchAll(CODE), ([code]) => code.toLowerCase())
  const codes = new Set(found.filter((code) => code !== "error" && code !== "exception"))
  const words = [...errorWords(text)].filter((word) => isTelling(word) && !isBroad(word))
  return { codes, specificCodes: new Set([...codes].filter((code) => !isBroad(code))), words: new Set(words) }
}

/**
 * Whether two texts report the same problem: they share a code that names it, or most of the telling words of the stored one. Different
 * codes are different problems, whatever words they share. When the tool of the stored one is not known, one shared word is not enough.
 */
export function isSameError(
  reported: ErrorTraits,
  stored: ErrorTraits,
  { sameTool }: { readonly sameTool: boolean },
): boolean {
  if (count(reported.codes, stored.codes) === 0 && reported.codes.size > 0 && stored.codes.size > 0) return false
  if (count(reported.specificCodes, stored.specificCodes) > 0) return true
  const shared = count(reported.words, stored.words)
  if (shared < (sameTool ? 1 : 2)) return false
  const ofStored = shared / stored.words.size
  const ofReported = shared / reported.words.size
  return shared === 1
    ? ofStored === 1 && ofReported >= MIN_SHARE_OF_ONE
    : ofStored >= MIN_SHARE && ofStored + ofReported >= 1
}

const MIN_SHARE = 0.5
const MIN_SHARE_OF_ONE = 0.3
const MIN_LENGTH = 3

const CODE = /\b(?:ERR_[A-Z][A-Z_]+|E[A-Z]{4,}|[A-Z]{1,6}\d{3,5}|[A-Z][A-Za-z]*(?:Error|Exception|Warning))\b/gu

/** Exception classes and system errors stand for many problems: another file is missing, another value is wrong. */
function isBroad(code: string): boolean {
  return /(?:error|exception|warning)$/u.test(code) || SYSTEM_ERRORS.has(code)
}

function isTelling(word: string): boolean {
  if (COMMON.has(word)) return false
  return word.length >= MIN_LENGTH || !/^[a-z\d]+$/u.test(word)
}

function count(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  return [...a].filter((word) => b.has(word)).length
}

const SYSTEM_ERRORS = wordSet(
  "enoent eacces eperm eexist enotdir eisdir einval enospc emfile ebusy econnrefused econnreset etimedout enotfound epipe elifecycle eintegrity",
)

/** Words of error messages in general, and names of programs: they say who failed, not why. */
const COMMON = wordSet(`
  error errors errored err fail fails failed failing failure fatal warning warn warnings exception panic panicked abort aborted
  cannot could couldn can not don won doesn didn isn wasn unable invalid illegal bad wrong incorrect unexpected unknown undefined null none nan
  missing found find exists exist existing expected required requires require requested request requests need needs needed got received provided given
  file files directory directories dir folder path paths line lines column position char character characters byte bytes
  code codes exit exited status errno signal command commands cmd argument arguments args option options flag parameter input output stdin stdout stderr
  run running ran execute executing execution executable call called calling use used using try trying tried retry again
  open opening read reading write writing access accessing load loading parse parsing create creating
  module modules package packages library dependency version name named names type types value values object string number int
  function method class property properties key field variable test tests testing build building compile compiled install installed installing
  has have had does did will would should must may might only also than then there here where which what while because due before after during between
  you your please see note help info details more about like same other another such any all some each every one two first last
  process server client host port connection connect connected network service resource target source local remote
  permission denied allowed refused rejected timeout timed out time
  npm npx node pnpm yarn pip pip3 python python3 pytest git cargo rustc docker curl wget ssh psql make gcc bash shell java maven gradle
  ruby gem php composer apt brew kubectl terraform tsc eslint webpack vite jest vitest mocha main src lib bin app index
  http https www com org response respond reason message messages stack trace traceback at no new old
`)

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/u))
}
