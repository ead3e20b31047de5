/**
 * Servers report two problems in similar words: a prompt that is too long (shorten the history) and an output limit
 * that is too high (lower the limit, keep the history). These functions read the numbers of either from an error
 * message.
 */

/** The output tokens that the prompt leaves available; undefined unless the message is about the output limit. */
export function parseAvailableOutputTokens(message: string): number | undefined {
  const text = message.toLowerCase()
  if (!isAboutOutputLimit(text)) return undefined
  const available = statedOutputTokens(text) ?? outputLeftByTokens(text) ?? outputLeftByCharacters(text)
  return available !== undefined && available >= 1 ? available : undefined
}

/**
 * The context window in the message; undefined without a plausible number, because the window must not be lowered by a
 * guess.
 */
export function parseContextWindow(message: string): number | undefined {
  const text = message.toLowerCase()
  for (const pattern of WINDOW_PATTERNS) {
    const window = numberIn(pattern, text)
    if (window !== undefined && window >= MIN_WINDOW && window <= MAX_WINDOW) return window
  }
  return undefined
}

/** The image limits in the message that rejected an image; absent where it contains none. */
export function parseImageLimit(message: string): { readonly maxSide?: number; readonly maxBytes?: number } {
  const text = message.toLowerCase()
  const side =
    numberIn(/max allowed size[^:]{0,60}:\s*(\d{3,5})/, text) ?? numberIn(/(\d{3,5})\s*(?:px|pixels?)\b/, text)
  const bytes = numberIn(/>\s*(\d{5,9})\s*bytes/, text) ?? bytesIn(text)
  return { ...(side === undefined ? {} : { maxSide: side }), ...(bytes === undefined ? {} : { maxBytes: bytes }) }
}

/** Reads sizes such as "5 MB". */
function bytesIn(text: string): number | undefined {
  const [, amount, unit] = /(\d+(?:\.\d+)?)\s*(k|m)i?b\b/.exec(text) ?? []
  return amount === undefined ? undefined : Math.floor(Number(amount) * (unit === "k" ? 1000 : 1_000_000))
}

const MIN_WINDOW = 1024
const MAX_WINDOW = 10_000_000

const WINDOW_PATTERNS = [
  /(?:max(?:imum)?|limit)[\w ]{0,20}\bcontext (?:length|size|window)\D{0,20}?(\d{4,})/,
  /\bcontext (?:length|size|window)(?: of| is| limit| limit is)?[ :(]{1,3}(\d{4,})/,
  /(\d{4,})[- ]tokens? (?:context|limit)/,
  />\s*(\d{4,})\s*(?:max|limit|token)/,
  /(\d{4,})\s*maximum/,
]

const MAXIMUM_CONTEXT = /maximum context length\D{0,10}(\d+)/

function isAboutOutputLimit(text: string): boolean {
  const window = text.includes("maximum context length")
  return (
    (text.includes("max_tokens") && /available[_ ]tokens/.test(text)) ||
    (window && text.includes("in the output")) ||
    (window && text.includes("requested") && text.includes("output tokens"))
  )
}

function statedOutputTokens(text: string): number | undefined {
  return numberIn(/available[_ ]tokens\D{0,5}(\d+)/, text) ?? numberIn(/=\s*(\d+)\s*$/, text)
}

function outputLeftByTokens(text: string): number | undefined {
  const window = numberIn(MAXIMUM_CONTEXT, text)
  const prompt = numberIn(/(\d+) of text input/, text)
  if (window === undefined || prompt === undefined) return undefined
  return window - prompt - (numberIn(/(\d+) of tool input/, text) ?? 0)
}

/** Pessimistic for prose, so that the server accepts the resulting limit. */
const CHARACTERS_PER_TOKEN = 3

function outputLeftByCharacters(text: string): number | undefined {
  const window = numberIn(MAXIMUM_CONTEXT, text)
  const characters = numberIn(/prompt contains (\d+) characters/, text)
  if (window === undefined || characters === undefined) return undefined
  return window - Math.ceil(characters / CHARACTERS_PER_TOKEN)
}

function numberIn(pattern: RegExp, text: string): number | undefined {
  const digits = pattern.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
