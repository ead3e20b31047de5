import { KEY_PREFIXES } from "./key-prefixes.ts"

/** Masks secrets in text that arrives in pieces. One per stream. */
export interface StreamMask {
  /** What of the text so far may be shown now. */
  feed(delta: string): string
  /** The rest, at the end of the text. */
  flush(): string
}

export interface StreamMaskOptions {
  /** Masks a whole text. */
  readonly redact: (text: string) => string
  /** Values that are masked wherever they stand. More may be added while the text arrives, none is taken away. */
  readonly secrets: readonly string[]
}

/**
 * Shows what the redactor would make of the whole text. Only the end of the text is ever held back, and only while it may be the
 * beginning of a secret: plain words pass at once, and cost one look at their characters.
 */
export function createStreamMask({ redact, secrets }: StreamMaskOptions): StreamMask {
  let firstCharacters = new Set<number>()
  let knownSecrets = 0
  /** What of the present line is shown already: some secrets are known by what stands before them. */
  let line = ""
  /** The word at its end. */
  let word = ""
  let held = ""

  const isHarmless = (delta: string): boolean => {
    if (RISKY.test(delta)) return false
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
    const masked = redact(line + ready)
    const visible = masked.startsWith(line) ? masked.slice(line.length) : redact(ready)
    line = presentLine(visible === ready ? line + ready : commonEnd(visible, ready))
    word = line.slice(lastWordStart(line))
    return visible
  }

  return {
    feed: (delta) => {
      if (delta === "") return ""
      if (held === "" && isHarmless(delta)) {
        // Joined, not read: reading it is for the few deltas that may matter.
        const start = delta.lastIndexOf("\n") + 1
        line = start > 0 ? delta.slice(start) : line + delta
        return delta
      }
      line = presentLine(line)
      const text = line + held + delta
      const open = Math.max(openFrom(text, secrets), line.length)
      const cut = text.length - open > MOST_HELD ? text.length : open
      held = text.slice(cut)
      return show(text.slice(line.length, cut))
    },
    flush: () => {
      const rest = show(held)
      line = ""
      word = ""
      held = ""
      return rest
    },
  }
}

/** Passes everything on. */
export const NO_MASK: StreamMask = { feed: (delta) => delta, flush: () => "" }

/** A private key has some thousand characters; what is longer is no secret that the redactor knows. */
const MOST_HELD = 8192
/** What stands before a secret on its line is shorter than this. */
const MOST_CONTEXT = 100

function presentLine(text: string): string {
  const start = text.lastIndexOf("\n") + 1
  if (start === 0 && text.length <= MOST_CONTEXT) return text
  return text.slice(Math.max(start, text.length - MOST_CONTEXT))
}

/** What stands behind a masked part: only that says something about what follows. */
function commonEnd(a: string, b: string): string {
  let length = 0
  while (length < Math.min(a.length, b.length) && a.at(-1 - length) === b.at(-1 - length)) length += 1
  return length === 0 ? "" : a.slice(-length)
}

/** `sk-` from its first letter on: `s`, `sk`, `sk-…`. */
function growing(literal: string, rest: string): string {
  return literal.split("").reduceRight((inner, character) => `${escaped(character)}(?:$|${inner})`, rest)
}

function escaped(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_]/g, String.raw`\$&`)
}

const NAMED_KEYS = [
  ...[...KEY_PREFIXES, "AIza", "xai-", "AKIA"].map((prefix) => growing(prefix, "[A-Za-z0-9_-]*$")),
  growing("gAAAA", "[A-Za-z0-9_=-]*$"),
  growing("SG.", "[A-Za-z0-9_.-]*$"),
  growing("eyJ", "[A-Za-z0-9_.=-]*$"),
].join("|")

/** Without one of these in it no delta begins a secret that is known by its surroundings, or holds a whole key. */
const RISKY = new RegExp(
  String.raw`[=:+"&]|--|BEGIN|(?:${[...KEY_PREFIXES, "AIza", "xai-", "gAAAA", "AKIA", "SG.", "eyJ"].map(escaped).join("|")})`,
)

const OPEN_WORD = new RegExp(`^(?:${NAMED_KEYS})`)

/** Where the word begins with which a text ends; its length when it ends with none. */
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

/** A known value is in the text, or begins at its end. */
function touchesSecret(text: string, secrets: readonly string[], firstCharacters: ReadonlySet<number>): boolean {
  for (let at = 0; at < text.length; at += 1) {
    if (!firstCharacters.has(text.charCodeAt(at))) continue
    const rest = text.slice(at)
    if (secrets.some((secret) => secret.startsWith(rest) || rest.startsWith(secret))) return true
  }
  return false
}

/** What may still become a secret at the end of a text, each kind as the redactor knows it when it is whole. */
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

/** Where the part of a text begins that must wait; its length when none has to. */
function openFrom(text: string, secrets: readonly string[]): number {
  let from = Math.min(openKey(text), openKeyBlock(text))
  for (const { needs, pattern } of OPEN) {
    if (text.includes(needs)) from = Math.min(from, pattern.exec(text)?.index ?? from)
  }
  for (const secret of secrets) from = Math.min(from, openSecret(text, secret))
  // A value that is there as a whole is not cut in two because its end may be the beginning of something else.
  for (const secret of secrets) {
    const at = text.indexOf(secret, Math.max(0, from - secret.length + 1))
    if (at !== -1 && at < from) from = at
  }
  return from
}

/** An issued key is one run of characters; only the last run of the text can still grow. */
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

/** A private key from its first line on, until its last one is there or something stands where only key lines can. */
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
