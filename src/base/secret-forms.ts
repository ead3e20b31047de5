/** The forms in which a secret can appear in a text although its characters do not. */

const SHORTEST_FORM = 8
/** A shorter value split into words could be ordinary text. */
const SHORTEST_SPLIT = 12

/** The literal texts that give a secret away: base64 at each position in a longer text, hexadecimal, URL-encoded and escaped. */
export function encodedForms(secret: string): readonly string[] {
  const hex = Buffer.from(secret).toString("hex")
  const base64 = [0, 1, 2].map((offset) => base64Core(secret, offset))
  const forms = [
    ...base64,
    ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
    hex,
    hex.toUpperCase(),
    percentEncoded(secret),
    percentEncoded(secret).toLowerCase(),
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    Array.from(secret).toReversed().join(""),
  ]
  return [...new Set(forms)].filter((form) => form.length >= SHORTEST_FORM && form !== secret)
}

/** The characters of the base64 text that depend on the secret alone, when `offset` other bytes come before it. */
function base64Core(secret: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
  const text = bytes.toString("base64").replace(/=+$/u, "")
  // A character holds six bits: the first and the last may also hold bits of the neighbours.
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6))
}

function percentEncoded(secret: string): string {
  return Array.from(Buffer.from(secret), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("")
}

/** What code and line breaks put between two parts of a text: quotes, operators and white space. */
const GAP = String.raw`["'${"`"}\s+\\,]{0,6}`

/** Matches the secrets with gaps between their characters. Undefined when none is long enough. */
export function splitPattern(secrets: readonly string[]): RegExp | undefined {
  const patterns = secrets
    .filter((secret) => secret.length >= SHORTEST_SPLIT)
    .map((secret) => Array.from(secret, (character) => RegExp.escape(character)).join(GAP))
  return patterns.length === 0 ? undefined : new RegExp(patterns.join("|"), "gu")
}
