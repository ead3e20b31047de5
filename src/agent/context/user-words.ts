import { ellipsize, takeCodePoints } from "../../base/text.ts"

/** What the user said in messages that a compression removed. It is the last content that a compression gives up. */
export interface UserWords {
  /** Whole messages, oldest first. */
  readonly said: readonly string[]
  /** Lines about older messages, for which there is no room any more, oldest first. */
  readonly listed: readonly string[]
}

export const NO_WORDS: UserWords = { said: [], listed: [] }

export interface WordsBudget {
  readonly saidTokens: number
  readonly listedTokens: number
}

/** A tenth of the window for whole messages, and half as much for the list of older ones; less when the prompt fills the window. */
export function wordsBudget(contextLength: number, room: number): WordsBudget {
  const saidTokens = Math.floor(Math.min(contextLength / 10, room / 4))
  return { saidTokens, listedTokens: Math.floor(saidTokens / 2) }
}

export function mergeWords(earlier: UserWords, later: UserWords): UserWords {
  return { said: [...earlier.said, ...later.said], listed: [...earlier.listed, ...later.listed] }
}

/** Moves the oldest messages to the list until the rest fits, and drops the least important lines until the list fits. */
export function fitWords({ said, listed }: UserWords, budget: WordsBudget): UserWords {
  const kept = fits(said, budget.saidTokens) ? [...said] : said.map((text) => excerpt(text, budget.saidTokens))
  const list = [...listed]
  let tokens = tokensOf(kept)
  while (tokens > budget.saidTokens) {
    const oldest = kept.shift()
    if (oldest === undefined) break
    tokens -= estimateText(oldest)
    list.push(...listLines(oldest))
  }
  return { said: kept, listed: fitList([...new Set(list)], budget.listedTokens) }
}

const SAID = "- Said: "
const RULED_OUT = "- Ruled out: "
const DECIDED = "- Decided: "
const ASKED = "- Asked: "

/** One line per message. Quoted as JSON, so that line breaks survive and the line can be read back. */
export function wordLines({ said, listed }: UserWords): readonly string[] {
  return [...listed, ...said.map((text) => `${SAID}${JSON.stringify(text)}`)]
}

/** Reads what `wordLines` wrote; undefined for any other line. */
export function parseWordLine(line: string): UserWords | undefined {
  if ([RULED_OUT, DECIDED, ASKED].some((opening) => line.startsWith(opening))) return { said: [], listed: [line] }
  if (!line.startsWith(SAID)) return undefined
  try {
    return { said: [String(JSON.parse(line.slice(SAID.length)))], listed: [] }
  } catch {
    return { said: [], listed: [`${ASKED}${line.slice(SAID.length)}`] }
  }
}

function fits(texts: readonly string[], tokens: number): boolean {
  return tokensOf(texts) <= tokens
}

const CHARS_PER_TOKEN = 4

function estimateText(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN)
}

function tokensOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + estimateText(text), 0)
}

const LARGEST_SHARE = 0.25

/** A pasted file must not displace everything else that the user said. */
function excerpt(text: string, budgetTokens: number): string {
  const limit = Math.floor(LARGEST_SHARE * budgetTokens * CHARS_PER_TOKEN)
  if (text.length <= limit) return text
  const start = takeCodePoints(text, Math.floor(limit * 0.7))
  const end = text.slice(-Math.floor(limit * 0.2)).replace(/^[\uDC00-\uDFFF]/u, "")
  return `${start} […${text.length - start.length - end.length} characters…] ${end}`
}

const MAX_LINE_CHARS = 160
const MAX_LINES_PER_MESSAGE = 6

const PROHIBITION =
  /\b(?:never|do(?:es)? not|don['’]t|must not|mustn['’]t|should not|shouldn['’]t|may not|no longer|forbid\w*|forbidden|avoid|without|stop|leave .{1,40} alone|rather than|instead of)\b/iu
const DECISION =
  /\b(?:decid\w*|let['’]s|let us|we['’]ll|we will|i want|i prefer|prefer\w*|always|must|should|from now on|agree\w*|go with|use|uses|call(?:ed)? it|is called|remember|only|instead)\b/iu

/** The sentences in which the user decided something or ruled something out, and what they asked for. */
function listLines(text: string): readonly string[] {
  const sentences = text
    .split(/(?<=[.!?…。！？])\s+|\n+/u)
    .map((sentence) => sentence.replaceAll(/\s+/gu, " ").trim())
    .filter((sentence) => sentence !== "")
  const line = (opening: string, sentence: string): string => `${opening}${ellipsize(sentence, MAX_LINE_CHARS)}`
  const lasting = sentences.flatMap((sentence) => {
    if (PROHIBITION.test(sentence)) return [line(RULED_OUT, sentence)]
    return DECISION.test(sentence) ? [line(DECIDED, sentence)] : []
  })
  const request = sentences.find((sentence) => !PROHIBITION.test(sentence) && !DECISION.test(sentence))
  const asked = request === undefined ? [] : [line(ASKED, text.length <= MAX_LINE_CHARS ? restOf(sentences) : request)]
  return [...asked, ...lasting.slice(0, MAX_LINES_PER_MESSAGE)]
}

/** A short message is listed whole: its sentences that are not listed separately. */
function restOf(sentences: readonly string[]): string {
  return sentences.filter((sentence) => !PROHIBITION.test(sentence) && !DECISION.test(sentence)).join(" ")
}

/** What is dropped first: requests, which are handled, then decisions, then prohibitions; the oldest of each first. */
const DROPPED_FIRST = [ASKED, DECIDED, RULED_OUT]

function fitList(lines: readonly string[], budgetTokens: number): readonly string[] {
  let tokens = tokensOf(lines)
  const dropped = new Set<string>()
  for (const opening of DROPPED_FIRST) {
    for (const line of lines) {
      if (tokens <= budgetTokens) break
      if (!line.startsWith(opening)) continue
      dropped.add(line)
      tokens -= estimateText(line)
    }
  }
  return lines.filter((line) => !dropped.has(line))
}
