/** Lower-case letters and digits only, so that quotes, spaces, invisible characters and concatenation do not hide a value. */
export function canonical(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "")
}

const MAX_DECODED_CHARS = 200_000
const MAX_DEPTH = 3

/** A text, and what its parts say that are encoded in base64, hexadecimal or as part of a URL. */
export function withDecodedForms(text: string, depth = 0): readonly string[] {
  const bounded = text.slice(0, MAX_DECODED_CHARS)
  if (depth >= MAX_DEPTH) return [bounded]
  const decoded = DECODERS.map(({ find, decode }) => find(bounded).map(decode).filter(isReadable).join("\n")).filter(
    (found) => found !== "",
  )
  return [bounded, ...decoded.flatMap((found) => withDecodedForms(found, depth + 1))]
}

interface Decoder {
  readonly find: (text: string) => readonly string[]
  readonly decode: (run: string) => string
}

const DECODERS: readonly Decoder[] = [
  { find: matching(/[A-Za-z0-9+/_-]{12,}={0,2}/gu), decode: (run) => Buffer.from(run, "base64").toString("latin1") },
  {
    find: matching(/(?:(?:\\x|0x|\s)?[0-9A-Fa-f]{2}){6,}/gu),
    decode: (run) => Buffer.from(run.replaceAll(/\\x|0x|\s/gu, ""), "hex").toString("latin1"),
  },
  { find: wordsWith(/%[0-9A-Fa-f]{2}/u), decode: decodePercent },
  { find: wordsWith(/&#x?[0-9A-Fa-f]{2,5};/u), decode: decodeEntities },
  { find: wordsWith(/\\u[0-9A-Fa-f]{4}/u), decode: decodeEscapes },
]

function matching(pattern: RegExp): Decoder["find"] {
  return (text) => Array.from(text.matchAll(pattern), ([run]) => run)
}

/** Not one pattern for the whole word: for a long word without a match it would take a time that grows with the square of its length. */
function wordsWith(pattern: RegExp): Decoder["find"] {
  return (text) => (pattern.test(text) ? text.split(/\s+/u).filter((word) => pattern.test(word)) : [])
}

function decodePercent(run: string): string {
  return run.replaceAll(/%([0-9A-Fa-f]{2})/gu, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

function decodeEntities(run: string): string {
  return run.replaceAll(/&#(x?)([0-9A-Fa-f]{2,5});/gu, (_, hex: string, code: string) =>
    String.fromCodePoint(Number.parseInt(code, hex === "" ? 10 : 16) || 32),
  )
}

function decodeEscapes(run: string): string {
  return run.replaceAll(/\\u([0-9A-Fa-f]{4})/gu, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** Most runs of letters decode to noise, which says nothing. */
function isReadable(text: string): boolean {
  return text.length >= 6 && !/[^\t\n\r -~]/u.test(text)
}

/** The forms in which a text may have given a value away: as it is, backwards, and with each letter moved by 13. */
export function disguises(value: string): readonly string[] {
  return [value, Array.from(value).toReversed().join(""), value.replaceAll(/[a-z]/gu, rotate)]
}

function rotate(letter: string): string {
  return String.fromCharCode(((letter.charCodeAt(0) - 97 + 13) % 26) + 97)
}
