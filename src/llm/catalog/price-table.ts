import { parsePrice, type Prices } from "./prices.ts"

/** Returns the prices that this release has fixed for a model, under the vendor's own name for it. */
export function tablePrices(vendor: PricedVendor, model: string): Prices | undefined {
  const rows: Readonly<Record<string, Row>> = TABLE[vendor]
  const row = Object.hasOwn(rows, model) ? rows[model] : undefined
  if (row === undefined) return undefined
  const [input, output, cacheRead, cacheWrite] = row
  return {
    input: parsePrice(input),
    output: parsePrice(output),
    cacheRead: parsePrice(cacheRead),
    cacheWrite: parsePrice(cacheWrite),
    source: "table",
    version: "2026-11",
  }
}

export type PricedVendor = keyof typeof TABLE

export function isPricedVendor(name: string): name is PricedVendor {
  return Object.hasOwn(TABLE, name)
}

/** USD per million tokens: input, output, cache read, cache write. */
type Row = readonly [input: number, output: number, cacheRead?: number, cacheWrite?: number]

const OPUS: Row = [5, 25, 0.5, 6.25]
const OPUS_4: Row = [15, 75, 1.5, 18.75]
const SONNET: Row = [3, 15, 0.3, 3.75]
const HAIKU: Row = [1, 5, 0.1, 1.25]
const MINIMAX: Row = [0.3, 1.2]

const TABLE = {
  anthropic: {
    "claude-opus-4-8": OPUS,
    "claude-opus-4-8-fast": [10, 50, 1, 12.5],
    "claude-opus-4-7": OPUS,
    "claude-opus-4-6": OPUS,
    "claude-opus-4-5": OPUS,
    "claude-sonnet-4-6": SONNET,
    "claude-sonnet-4-5": SONNET,
    "claude-sonnet-4-20250514": SONNET,
    "claude-3-5-sonnet-20241022": SONNET,
    "claude-haiku-4-5": HAIKU,
    "claude-opus-4-20250514": OPUS_4,
    "claude-3-opus-20240229": OPUS_4,
    "claude-3-5-haiku-20241022": [0.8, 4, 0.08, 1],
    "claude-3-haiku-20240307": [0.25, 1.25, 0.03, 0.3],
  },
  openai: {
    "gpt-4o": [2.5, 10, 1.25],
    "gpt-4o-mini": [0.15, 0.6, 0.075],
    "gpt-4.1": [2, 8, 0.5],
    "gpt-4.1-mini": [0.4, 1.6, 0.1],
    "gpt-4.1-nano": [0.1, 0.4, 0.025],
    o3: [10, 40, 2.5],
    "o3-mini": [1.1, 4.4, 0.55],
  },
  deepseek: {
    "deepseek-chat": [0.14, 0.28],
    "deepseek-reasoner": [0.55, 2.19],
    "deepseek-v4-pro": [1.74, 3.48, 0.0145],
  },
  google: {
    "gemini-2.5-pro": [1.25, 10],
    "gemini-2.5-flash": [0.15, 0.6],
    "gemini-2.0-flash": [0.1, 0.4],
  },
  bedrock: {
    "anthropic.claude-opus-4-6": [15, 75],
    "anthropic.claude-sonnet-4-6": [3, 15],
    "anthropic.claude-sonnet-4-5": [3, 15],
    "anthropic.claude-haiku-4-5": [0.8, 4],
    "amazon.nova-pro": [0.8, 3.2],
    "amazon.nova-lite": [0.06, 0.24],
    "amazon.nova-micro": [0.035, 0.14],
  },
  minimax: { "minimax-m2.7": MINIMAX },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Row>>>>
