import { KEY_PREFIXES } from "./key-prefixes.ts"
import { encodedForms, splitPattern } from "./secret-forms.ts"
import { NO_MASK, createStreamMask } from "./redact-stream.ts"
import type { StreamMask } from "./redact-stream.ts"

export interface RedactOptions {
  /** For source code: keeps assignments and JSON fields, because names such as MAX_TOKENS are common there. */
  readonly codeFile?: boolean
  /** Redacts even when the user has disabled redaction: for text that leaves the machine or is stored for others. */
  readonly force?: boolean
  /** Masks known secrets only: for text that a user judges, in which an invented key could hide code. */
  readonly knownOnly?: boolean
}

export interface Redactor {
  redact(text: string, options?: RedactOptions): string
  /** Masks one text while it streams. */
  stream(): StreamMask
  /** Masks these values from now on, even in open streams: a refreshed token is not known at the start. */
  addSecrets(values: readonly string[]): void
}

/**
 * The only redactor. `secrets` are the values that are known at the start. Every rule takes time linear in the text, and text
 * without a rule's marker characters costs that rule a single scan.
 */
export function createRedactor(options: { readonly enabled: boolean; readonly secrets: readonly string[] }): Redactor {
  // Longest first, so that a secret is not masked as a shorter one that is its prefix.
  const secrets: string[] = []
  const encoded: string[] = []
  let split: RegExp | undefined
  const addSecrets: Redactor["addSecrets"] = (values) => {
    const added = new Set(values.filter((value) => value.length >= SHORTEST_SECRET && !secrets.includes(value)))
    if (added.size === 0) return
    secrets.push(...added)
    secrets.sort(byLength)
    encoded.push(...[...added].flatMap(encodedForms))
    encoded.sort(byLength)
    split = splitPattern(secrets)
  }
  addSecrets(options.secrets)
  const redact: Redactor["redact"] = (text, { codeFile = false, force = false, knownOnly = false } = {}) => {
    if (text === "" || !(options.enabled || force)) return text
    let result = text
    for (const secret of secrets) if (result.includes(secret)) result = result.replaceAll(secret, () => mask(secret))
    for (const form of encoded) if (result.includes(form)) result = result.replaceAll(form, "***")
    if (split !== undefined) result = result.replace(split, "***")
    if (knownOnly) return result
    for (const rule of codeFile ? CODE_RULES : RULES) result = rule(result)
    return result
  }
  return {
    redact,
    stream: () => (options.enabled ? createStreamMask({ redact, secrets, encoded }) : NO_MASK),
    addSecrets,
  }
}

function byLength(a: string, b: string): number {
  return b.length - a.length
}

const SHORTEST_SECRET = 8

function mask(secret: string): string {
  return secret.length >= 18 ? `${secret.slice(0, 6)}...${secret.slice(-4)}` : "***"
}

/** API keys with a known prefix. */
function redactKnownPrefixes(text: string): string {
  return text.replace(KNOWN_PREFIX, mask)
}

const KNOWN_PREFIX = new RegExp(
  `(?<![A-Za-z0-9_-])(?:(?:${KEY_PREFIXES.join("|")})[A-Za-z0-9_-]{10,}|(?:AIza|xai-)[A-Za-z0-9_-]{30,}|gAAAA[A-Za-z0-9_=-]{20,}|` +
    `AKIA[A-Z0-9]{16}|SG\\.[A-Za-z0-9_-]{10,}(?:\\.[A-Za-z0-9_-]+)*)(?![A-Za-z0-9_-])`,
  "g",
)

/** `NAME=value`; matches the whole name first and tests it afterwards, since searching inside it would take quadratic time. */
function redactAssignments(text: string): string {
  if (!text.includes("=")) return text
  return text.replace(ASSIGNMENT, (whole, name: string, equals: string, quote: string, value: string) =>
    SECRET_NAME.test(name) ? `${name}${equals}${quote}${mask(value)}` : whole,
  )
}

const ASSIGNMENT = /(?<![A-Za-z0-9_])([A-Z_][A-Z0-9_]*)([ \t]{0,8}=(?!=)[ \t]{0,8})(["']?)([^\s"']+)/g
const SECRET_NAME = /API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH/

function redactJsonFields(text: string): string {
  if (!text.includes('"')) return text
  return text.replace(JSON_FIELD, (_whole, opening: string, value: string) => `${opening}${mask(value)}"`)
}

const JSON_FIELD =
  /("(?:api_?key|token|secret|password|access_token|refresh_token|auth_token|bearer|secret_value|raw_secret|secret_input|key_material)"\s{0,8}:\s{0,8}")([^"\\]+(?:\\.[^"\\]*)*|(?:\\.[^"\\]*)+)"/gi

function redactBearer(text: string): string {
  return text.replace(BEARER, (_whole, opening: string, value: string) => `${opening}${mask(value)}`)
}

const BEARER = /(authorization["']?\s{0,8}[:=]\s{0,8}["']?bearer\s{1,8})([^\s"',]+)/gi

function redactTelegramTokens(text: string): string {
  return text.includes(":") ? text.replace(TELEGRAM, "$1:***") : text
}

const TELEGRAM = /(?<!\d)(\d{8,}):[A-Za-z0-9_-]{30,}/g

/** Also masks a block that was cut before its end line. */
function redactPrivateKeys(text: string): string {
  if (!text.includes("PRIVATE KEY")) return text
  let result = ""
  let position = 0
  const endless = new Set<string>()
  for (const header of text.matchAll(PRIVATE_KEY)) {
    if (header.index < position) continue
    const footer = `-----END ${header[1] ?? ""}-----`
    const bodyStart = header.index + header[0].length
    const footerAt = endless.has(footer) ? -1 : text.indexOf(footer, bodyStart)
    if (footerAt === -1) endless.add(footer)
    const end = footerAt === -1 ? bodyStart + keyLinesLength(text, bodyStart) : footerAt + footer.length
    if (end === bodyStart) continue
    result += `${text.slice(position, header.index)}[REDACTED PRIVATE KEY]`
    position = end
  }
  return result + text.slice(position)
}

function keyLinesLength(text: string, start: number): number {
  const lines = new RegExp(KEY_LINES.source, "y")
  lines.lastIndex = start
  return lines.exec(text)?.[0].length ?? 0
}

const PRIVATE_KEY = /-----BEGIN ((?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?)-----/g
const KEY_LINES = /(?:\r?\n[A-Za-z0-9+/=]{16,})+/

function redactDatabasePasswords(text: string): string {
  return text.includes("://") ? text.replace(DATABASE_URL, "$1***@") : text
}

const DATABASE_URL =
  /(?<![A-Za-z0-9])((?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?)(?:\+[a-z0-9]{1,16})?:\/\/[^\s:@/]{0,256}:)[^\s@]{1,512}@/gi

function redactWebTokens(text: string): string {
  return text.includes("eyJ") ? text.replace(WEB_TOKEN, mask) : text
}

const WEB_TOKEN = /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_=-]{4,}){0,2}/g

/** Only a line that consists of pairs is a form body, so that the query of a URL stays unchanged. */
function redactFormBodies(text: string): string {
  if (!text.includes("&") || !text.includes("=")) return text
  return text.split("\n").map(redactFormLine).join("\n")
}

function redactFormLine(line: string): string {
  const body = line.trim()
  if (!body.includes("&") || /\s/.test(body)) return line
  const pairs = body.split("&")
  if (!pairs.every((pair) => FORM_PAIR.test(pair))) return line
  const redacted = pairs.map((pair) => {
    const name = pair.slice(0, pair.indexOf("="))
    return FORM_SECRETS.has(name.toLowerCase()) ? `${name}=***` : pair
  })
  return line.replace(body, () => redacted.join("&"))
}

const FORM_PAIR = /^[A-Za-z0-9_.~[\]%-]+=/
const FORM_SECRETS = new Set([
  "token",
  "access_token",
  "refresh_token",
  "id_token",
  "auth_token",
  "api_key",
  "apikey",
  "key",
  "auth",
  "client_secret",
  "client_assertion",
  "secret",
  "password",
  "passwd",
  "code",
  "code_verifier",
  "assertion",
  "jwt",
  "signature",
  "session",
])

function redactPhoneNumbers(text: string): string {
  if (!text.includes("+")) return text
  return text.replace(PHONE, (number) => {
    const kept = number.length <= 8 ? 2 : 4
    return `${number.slice(0, kept)}****${number.slice(-kept)}`
  })
}

const PHONE = /(?<![A-Za-z0-9_+])\+[1-9]\d{6,14}(?![A-Za-z0-9_])/g

const ANYWHERE = [
  redactBearer,
  redactTelegramTokens,
  redactPrivateKeys,
  redactDatabasePasswords,
  redactWebTokens,
  redactFormBodies,
  redactPhoneNumbers,
]

/** The order matters: each rule works on the result of the one before. */
const RULES: readonly ((text: string) => string)[] = [
  redactKnownPrefixes,
  redactAssignments,
  redactJsonFields,
  ...ANYWHERE,
]
const CODE_RULES: readonly ((text: string) => string)[] = [redactKnownPrefixes, ...ANYWHERE]
