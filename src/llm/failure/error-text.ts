/**
 * Two failures share their words: a prompt that is too long (shorten the history) and an output cap that is too large (lower
 * the cap, keep the history). These functions read the numbers of each from what a server said.
 */

/** How many output tokens are left beside this prompt; undefined unless the text is about the output cap. */
export function parseAvailableOutput(text: string): number | undefined {
  const said = text.toLowerCase()
  if (!isAboutOutput(said)) return undefined
  const room = statedRoom(said) ?? roomBesideTokens(said) ?? roomBesideCharacters(said)
  return room !== undefined && room >= 1 ? room : undefined
}

/** The window a server names; undefined without a believable number, since a window is never guessed down. */
export function parseWindow(text: string): number | undefined {
  const said = text.toLowerCase()
  for (const pattern of WINDOW_PATTERNS) {
    const window = numberIn(pattern, said)
    if (window !== undefined && window >= SMALLEST_WINDOW && window <= LARGEST_WINDOW) return window
  }
  return undefined
}

/** The largest image a server takes, from its refusal of a larger one; what it does not name is absent. */
export function parseImageLimit(text: string): { readonly maxSide?: number; readonly maxBytes?: number } {
  const said = text.toLowerCase()
  const side =
    numberIn(/max allowed size[^:]{0,60}:\s*(\d{3,5})/, said) ?? numberIn(/(\d{3,5})\s*(?:px|pixels?)\b/, said)
  const bytes = numberIn(/>\s*(\d{5,9})\s*bytes/, said) ?? bytesIn(said)
  return { ...(side === undefined ? {} : { maxSide: side }), ...(bytes === undefined ? {} : { maxBytes: bytes }) }
}

/** "5 MB", as people write it. */
function bytesIn(said: string): number | undefined {
  const [, amount, unit] = /(\d+(?:\.\d+)?)\s*(k|m)i?b\b/.exec(said) ?? []
  return amount === undefined ? undefined : Math.floor(Number(amount) * (unit === "k" ? 1000 : 1_000_000))
}

const SMALLEST_WINDOW = 1024
const LARGEST_WINDOW = 10_000_000

const WINDOW_PATTERNS = [
  /(?:max(?:imum)?|limit)[\w ]{0,20}\bcontext (?:length|size|window)\D{0,20}?(\d{4,})/,
  /\bcontext (?:length|size|window)(?: of| is| limit| limit is)?[ :(]{1,3}(\d{4,})/,
  /(\d{4,})[- ]tokens? (?:context|limit)/,
  />\s*(\d{4,})\s*(?:max|limit|token)/,
  /(\d{4,})\s*maximum/,
]

const MAXIMUM_CONTEXT = /maximum context length\D{0,10}(\d+)/

function isAboutOutput(said: string): boolean {
  const window = said.includes("maximum context length")
  return (
    (said.includes("max_tokens") && /available[_ ]tokens/.test(said)) ||
    (window && said.includes("in the output")) ||
    (window && said.includes("requested") && said.includes("output tokens"))
  )
}

function statedRoom(said: string): number | undefined {
  return numberIn(/available[_ ]tokens\D{0,5}(\d+)/, said) ?? numberIn(/=\s*(\d+)\s*$/, said)
}

function roomBesideTokens(said: string): number | undefined {
  const window = numberIn(MAXIMUM_CONTEXT, said)
  const prompt = numberIn(/(\d+) of text input/, said)
  if (window === undefined || prompt === undefined) return undefined
  return window - prompt - (numberIn(/(\d+) of tool input/, said) ?? 0)
}

/** Three characters a token is pessimistic for prose, so the cap that follows from it is accepted. */
const CHARACTERS_PER_TOKEN = 3

function roomBesideCharacters(said: string): number | undefined {
  const window = numberIn(MAXIMUM_CONTEXT, said)
  const characters = numberIn(/prompt contains (\d+) characters/, said)
  if (window === undefined || characters === undefined) return undefined
  return window - Math.ceil(characters / CHARACTERS_PER_TOKEN)
}

function numberIn(pattern: RegExp, said: string): number | undefined {
  const digits = pattern.exec(said)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
