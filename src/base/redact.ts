import { KEY_PREFIXES } from "./key-prefixes.ts"
import { NO_MASK, createStreamMask } from "./redact-stream.ts"
import type { StreamMask } from "./redact-stream.ts"

export interface RedactOptions {
  /** Source code: assignments and JSON fields are left alone, because names such as MAX_TOKENS are everywhere there. */
  readonly codeFile?: boolean
  /** Redact even when the person switched redaction off: for what leaves the machine or is kept for others. */
  readonly force?: boolean
}

export interface Redactor {
  redact(text: string, options?: RedactOptions): string
  /** For one text that is shown while it arrives. */
  stream(): StreamMask
  /** Masks these values from now on, in streams that are open too: what a login was renewed to is known to nobody at the start. */
  learn(values: readonly string[]): void
}

/**
 * The one redactor of the product. `secrets` are the values that are known at the start. Every rule
 * takes time linear in the text, and text without a rule's telltale characters costs that rule a single scan.
 */
export function createRedactor(options: { readonly enabled: boolean; readonly secrets: readonly string[] }): Redactor {
  // The longest first, so that none is taken for the shorter one it begins with.
  const secrets: string[] = []
  const learn: Redactor["learn"] = (values) => {
    const news = new Set(values.filter((value) => value.length >= SHORTEST_SECRET && !secrets.includes(value)))
    if (news.size === 0) return
    secrets.push(...news)
    secrets.sort((a, b) => b.length - a.length)
  }
  learn(options.secrets)
  const redact: Redactor["redact"] = (text, { codeFile = false, force = false } = {}) => {
    if (text === "" || !(options.enabled || force)) return text
    let result = text
    for (const secret of secrets) if (result.includes(secret)) result = result.replaceAll(secret, () => mask(secret))
    for (const rule of codeFile ? CODE_RULES : RULES) result = rule(result)
    return result
  }
  return { redact, stream: () => (options.enabled ? createStreamMask({ redact, secrets }) : NO_MASK), learn }
}

const SHORTEST_SECRET = 8

function mask(secret: string): string {
  return secret.length >= 18 ? `${secret.slice(0, 6)}...${secret.slice(-4)}` : "***"
}

/** Issued keys that begin with a name of their issuer. */
function redactKnownPrefixes(text: string): string {
  return text.replace(KNOWN_PREFIX, mask)
}

const KNOWN_PREFIX = new RegExp(
  `(?<![A-Za-z0-9_-])(?:(?:${KEY_PREFIXES.join("|")})[A-Za-z0-9_-]{10,}|(?:AIza|xai-)[A-Za-z0-9_-]{30,}|gAAAA[A-Za-z0-9_=-]{20,}|` +
    `AKIA[A-Z0-9]{16}|SG\\.[A-Za-z0-9_-]{10,}(?:\\.[A-Za-z0-9_-]+)*)(?![A-Za-z0-9_-])`,
  "g",
)

/** `NAME=value`; the name is taken as a whole and judged afterwards, since searching inside it would cost quadratic time. */
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

/** A block without its end line was cut: then the key lines that are left go. */
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

/** Only a line that is nothing but pairs is a form body: the query of a web address must keep working. */
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

/** The order is part of the contract: each rule works on the result of the one before. */
const RULES: readonly ((text: string) => string)[] = [
  redactKnownPrefixes,
  redactAssignments,
  redactJsonFields,
  ...ANYWHERE,
]
const CODE_RULES: readonly ((text: string) => string)[] = [redactKnownPrefixes, ...ANYWHERE]
