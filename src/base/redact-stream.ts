import { KEY_PREFIXES } from "./key-prefixes.ts"
import { createStreamedForms, RECOGNISED_CHARS } from "./streamed-forms.ts"

/** Masks secrets in text that arrives in pieces. One per stream. */
export interface StreamMask {
  /** Adds text and returns what may be shown now. */
  feed(delta: string): string
  /** Returns the held text at the end of the stream. */
  flush(): string
}

export interface StreamMaskOptions {
  /** Masks a whole text. */
  readonly redact: (text: string) => string
  /** Values that are always masked. Values may be added while the text streams, never removed. */
  readonly secrets: readonly string[]
  /** Encoded forms of them. */
  readonly encoded: readonly string[]
}

/**
 * Shows the text as the redactor would mask it as a whole, with two exceptions. Holds back only the end of the text, and only while it may
 * be the beginning of a secret; plain words pass at once after a single scan.
 *
 * The exceptions: of an encoded secret the first three characters are shown, because they are the beginning of ordinary words too; and a
 * secret that is split by quotes, spaces or commas is masked only in the stored text, because every word would have to wait for the next.
 */
export function createStreamMask({ redact, secrets, encoded }: StreamMaskOptions): StreamMask {
  const forms = createStreamedForms(encoded)
  let firstCharacters = new Set<number>()
  let knownSecrets = 0
  /** The shown part of the current line: some secrets are recognised by the text before them. */
  let line = ""
  /** The last word of `line`. */
  let word = ""
  let held = ""
  /** The end of the shown text, in which an encoded secret may have begun. */
  let tail = ""

  const isHarmless = (delta: string): boolean => {
    if (RISKY.test(delta) || forms.touches(tail, delta)) return false
    const start = lastWordStart(delta)
    const last = start === 0 ? word + delta : delta.slice(start)
    if (last !== "" && (last.endsWith("-") || OPEN_WORD.test(last))) return false
    if (secrets.length !== knownSecrets) {
      firstCharacters = new Set(secrets.map((secret) => secret.charCodeAt(0)))
      knownSecrets = secrets.length
    }
    if (secrets.length > 0 && touchesSecret(delta, secrets, firstCharacters)) return false
    word = last
    return true
  }
  const show = (ready: string): string => {
    if (ready === "") return ""
    const decoded = forms.mask(line, ready)
    const masked = redact(line + decoded)
    const visible = masked.startsWith(line) ? masked.slice(line.length) : redact(decoded)
    tail = endOf(tail + ready)
    line = currentLine(visible === ready ? line + ready : commonEnd(visible, ready))
    word = line.slice(lastWordStart(line))
    return visible
  }

  return {
    feed: (delta) => {
      if (delta === "") return ""
      if (held === "" && isHarmless(delta)) {
        // Only concatenated here; the few deltas that may hold a secret are scanned below.
        const start = delta.lastIndexOf("\n") + 1
        line = start > 0 ? delta.slice(start) : line + delta
        tail = endOf(tail + delta)
        return delta
      }
      line = currentLine(line)
      const text = line + held + delta
      const open = Math.max(forms.heldFrom(text, openFrom(text, secrets)), line.length)
      const cut = text.length - open > MAX_HELD ? text.length : open
      held = text.slice(cut)
      return show(text.slice(line.length, cut))
    },
    flush: () => {
      const remaining = show(held)
      line = ""
      word = ""
      held = ""
      tail = ""
      return remaining
    },
  }
}

function endOf(text: string): string {
  return text.slice(1 - RECOGNISED_CHARS)
}

/** Masks nothing. */
export const NO_MASK: StreamMask = { feed: (delta) => delta, flush: () => "" }

/** A private key has a few thousand characters; no secret that the redactor knows is longer. */
const MAX_HELD = 8192
/** The text before a secret on its line that identifies it is shorter than this. */
const MAX_CONTEXT = 100

function currentLine(text: string): string {
  const start = text.lastIndexOf("\n") + 1
  if (start === 0 && text.length <= MAX_CONTEXT) return text
  return text.slice(Math.max(start, text.length - MAX_CONTEXT))
}

/** The text after a masked part: only this is context for what follows. */
function commonEnd(a: string, b: string): string {
  let length = 0
  while (length < Math.min(a.length, b.length) && a.at(-1 - length) === b.at(-1 - length)) length += 1
  return length === 0 ? "" : a.slice(-length)
}

/** A pattern that matches every beginning of the literal: `s`, `sk`, `sk-…`. */
function prefixPattern(literal: string, rest: string): string {
  return literal.split("").reduceRight((inner, character) => `${escaped(character)}(?:$|${inner})`, rest)
}

function escaped(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_]/g, String.raw`\$&`)
}

const NAMED_KEYS = [
  ...[...KEY_PREFIXES, "AIza", "xai-", "AKIA"].map((prefix) => prefixPattern(prefix, "[A-Za-z0-9_-]*$")),
  prefixPattern("gAAAA", "[A-Za-z0-9_=-]*$"),
  prefixPattern("SG.", "[A-Za-z0-9_.-]*$"),
  prefixPattern("eyJ", "[A-Za-z0-9_.=-]*$"),
].join("|")

/** A delta without one of these neither contains a whole key nor begins a secret that is recognised by its context. */
const RISKY = new RegExp(
  String.raw`[=:+"&]|--|BEGIN|(?:${[...KEY_PREFIXES, "AIza", "xai-", "gAAAA", "AKIA", "SG.", "eyJ"].map(escaped).join("|")})`,
)

const OPEN_WORD = new RegExp(`^(?:${NAMED_KEYS})`)

/** The start of the word at the end of a text; the length of the text when it ends with no word. */
function lastWordStart(text: string): number {
  let start = text.length
  while (start > 0 && isWordCharacter(text.charCodeAt(start - 1))) start -= 1
  return start
}

function isWordCharacter(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 45
  )
}

/** Whether a known value is in the text or begins at its end. */
function touchesSecret(text: string, secrets: readonly string[], firstCharacters: ReadonlySet<number>): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (!firstCharacters.has(text.charCodeAt(at))) continue
    const rest = text.slice(at)
    if (secrets.some((secret) => secret.startsWith(rest) || rest.startsWith(secret))) return true
  }
  return false
}

/** Unfinished secrets at the end of a text, one pattern for each kind that the redactor masks. */
const OPEN: readonly { readonly needs: string; readonly pattern: RegExp }[] = [
  {
    needs: "=",
    pattern:
      /(?<![A-Za-z0-9_])[A-Z0-9_]{0,64}(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)[A-Z0-9_]{0,64}[ \t]{0,8}=[ \t]{0,8}(?:["']?[^\s"']*)?$/,
  },
  { needs: "=", pattern: /(?:^|\n)[ \t]*[A-Za-z0-9_.~[\]%-]+=\S*[ \t]*$/ },
  {
    needs: '"',
    pattern:
      /"(?:api_?key|token|secret|password|access_token|refresh_token|auth_token|bearer|secret_value|raw_secret|secret_input|key_material)"\s{0,8}:\s{0,8}(?:"(?:[^"\\]|\\.)*\\?)?$/i,
  },
  {
    needs: "",
    pattern: /authorization["']?\s{0,8}[:=]\s{0,8}["']?(?:b|be|bea|bear|beare|bearer|bearer\s{1,8}[^\s"',]*)?$/i,
  },
  { needs: ":", pattern: /(?<!\d)\d{8,}:[A-Za-z0-9_-]*$/ },
  {
    needs: ":",
    pattern: /(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?)(?:\+[a-z0-9]{1,16})?:(?:\/|\/\/\S*)?$/i,
  },
  { needs: "+", pattern: /(?<![A-Za-z0-9_+])\+(?:[1-9]\d*)?$/ },
  { needs: "-", pattern: /-{1,4}$|-----(?:B|BE|BEG|BEGI|BEGIN|BEGIN [A-Z0-9 ]{0,80}-{0,5})?$/ },
]

/** The start of the part of a text that must be held back; the length of the text when there is none. */
function openFrom(text: string, secrets: readonly string[]): number {
  let from = Math.min(openKey(text), openKeyBlock(text))
  for (const { needs, pattern } of OPEN) {
    if (text.includes(needs)) from = Math.min(from, pattern.exec(text)?.index ?? from)
  }
  for (const secret of secrets) from = Math.min(from, openSecret(text, secret))
  // Do not split a complete value because its end may be the beginning of another secret.
  for (const secret of secrets) {
    const at = text.indexOf(secret, Math.max(0, from - secret.length + 1))
    if (at !== -1 && at < from) from = at
  }
  return from
}

/** An API key is one run of characters; only the last run of the text can still grow. */
function openKey(text: string): number {
  let start = text.length
  while (start > 0 && isKeyCharacter(text.charCodeAt(start - 1))) start -= 1
  const found = OPEN_KEY.exec(text.slice(start))
  return found === null ? text.length : start + found.index
}

const OPEN_KEY = new RegExp(`(?<![A-Za-z0-9_-])(?:${NAMED_KEYS})`)

function isKeyCharacter(code: number): boolean {
  return isWordCharacter(code) || code === 46 || code === 61
}

/** A private key from its first line on, until its last line or a line that cannot be part of a key. */
function openKeyBlock(text: string): number {
  const header = text.lastIndexOf("-----BEGIN ")
  return header !== -1 && KEY_BLOCK.test(text.slice(header)) ? header : text.length
}

const KEY_BLOCK =
  /^-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----\r?(?:\n[A-Za-z0-9+/=:,. ]{0,100}\r?)*(?:\n-{0,5}|\n-----E[A-Z0-9 ]{0,80}-{0,5})?$/

function openSecret(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length > 0; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return text.length - length
  }
  return text.length
}
