/** A piece of the prompt on its way. One with `shorten` may be reduced; the others are outside the budget. */
export interface DraftLayer {
  readonly name: string
  readonly text: string
  /** The same in at most so many characters, as far as it goes; "" drops it. */
  readonly shorten?: (maxChars: number) => string
}

export interface PromptBudget {
  /** 0 takes a share of the window. */
  readonly totalTokens: number
  readonly contextLength: number
  /** Most tokens of single layers, by name with `_` for a space. */
  readonly layers: Readonly<Record<string, unknown>>
}

/**
 * Keeps the layers that grow with the project and the person within a budget. Nothing is reduced while everything fits together,
 * so a layer may use what others leave. Otherwise the least important gives way first, down to half its share, and the project's
 * own rules last. No model is asked: the same layers always give the same bytes.
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
  for (const { name, kept } of LEAST_FIRST) {
    const excess = sum() - total
    const layer = fitted.get(name)
    if (excess <= 0) break
    if (layer === undefined) continue
    fitted.set(name, shortened(layer, Math.max(Math.floor(total * kept), tokensOf(layer.text) - excess)))
  }
  return layers.map((layer) => fitted.get(layer.name) ?? layer)
}

const MIN_TOTAL = 4000

/** In the order in which they give way; `kept` is the part of the total that a layer keeps against the more important ones. */
const LEAST_FIRST: readonly { readonly name: string; readonly kept: number }[] = [
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

/** A layer that cannot get shorter stays as it is. */
function shortened(layer: DraftLayer, maxTokens: number): DraftLayer {
  if (layer.shorten === undefined || tokensOf(layer.text) <= maxTokens) return layer
  const text = layer.shorten(maxTokens * CHARS_PER_TOKEN).trim()
  return text.length < layer.text.length ? { ...layer, text } : layer
}
