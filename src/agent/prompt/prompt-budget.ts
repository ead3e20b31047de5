/** A layer of the prompt before budgeting. Only layers with `shorten` count against the budget and may be reduced. */
export interface DraftLayer {
  readonly name: string
  readonly text: string
  /** Returns the text in at most this many characters if possible; "" removes the layer. */
  readonly shorten?: (maxChars: number) => string
}

export interface PromptBudget {
  /** 0 means 15 % of the context window. */
  readonly totalTokens: number
  readonly contextLength: number
  /** Maximum tokens of single layers, by name with `_` instead of spaces. */
  readonly layers: Readonly<Record<string, unknown>>
}

/**
 * Keeps the layers that grow with the project and the user within a budget. Nothing is reduced while all layers fit together.
 * Otherwise they are reduced in the order of `LEAST_IMPORTANT_FIRST`, the project's rules last. Deterministic: equal layers produce
 * equal bytes.
 */
export function fitToBudget(layers: readonly DraftLayer[], budget: PromptBudget): readonly DraftLayer[] {
  const total =
    budget.totalTokens > 0 ? budget.totalTokens : Math.max(MIN_TOTAL, Math.floor(budget.contextLength * 0.15))
  const fitted = new Map(layers.map((layer) => [layer.name, capped(layer, budget.layers)]))
  const sum = (): number =>
    layers.reduce(
      (tokens, layer) => (layer.shorten === undefined ? tokens : tokens + tokensOf(fitted.get(layer.name)?.text ?? "")),
      0,
    )
  for (const { name, kept } of LEAST_IMPORTANT_FIRST) {
    const excess = sum() - total
    const layer = fitted.get(name)
    if (excess <= 0) break
    if (layer === undefined) continue
    fitted.set(name, shortened(layer, Math.max(Math.floor(total * kept), tokensOf(layer.text) - excess)))
  }
  return layers.map((layer) => fitted.get(layer.name) ?? layer)
}

const MIN_TOTAL = 4000

/** `kept` is the share of the total that a layer keeps, even when more important layers do not fit. */
const LEAST_IMPORTANT_FIRST: readonly { readonly name: string; readonly kept: number }[] = [
  { name: "runtime introspection", kept: 0 },
  { name: "session context", kept: 0.025 },
  { name: "memory", kept: 0.06 },
  { name: "learnings", kept: 0.04 },
  { name: "user profile", kept: 0.05 },
  { name: "skills index", kept: 0.1 },
  { name: "project context", kept: 0 },
]

const CHARS_PER_TOKEN = 4

function tokensOf(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN)
}

function capped(layer: DraftLayer, caps: PromptBudget["layers"]): DraftLayer {
  const cap = caps[layer.name.replaceAll(" ", "_")]
  return typeof cap === "number" && cap > 0 ? shortened(layer, cap) : layer
}

/** A layer that cannot be shortened stays unchanged. */
function shortened(layer: DraftLayer, maxTokens: number): DraftLayer {
  if (layer.shorten === undefined || tokensOf(layer.text) <= maxTokens) return layer
  const text = layer.shorten(maxTokens * CHARS_PER_TOKEN).trim()
  return text.length < layer.text.length ? { ...layer, text } : layer
}
