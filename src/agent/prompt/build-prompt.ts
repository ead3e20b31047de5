import type { FacetLayer } from "../facet.ts"
import { fitToBudget } from "./prompt-budget.ts"
import type { DraftLayer, PromptBudget } from "./prompt-budget.ts"
import { stableTier } from "./stable-tier.ts"
import type { StableFacts } from "./stable-tier.ts"
import { volatileTier } from "./volatile-tier.ts"
import type { VolatileFacts } from "./volatile-tier.ts"

/** A named piece of the system prompt; `hermes prompt-size` lists them. */
export interface PromptLayer {
  readonly name: string
  readonly text: string
  /** Shortened to fit the budget. */
  readonly reduced?: true
}

export interface PromptFacts extends StableFacts, VolatileFacts {
  /** Content of SOUL.md; empty uses the default identity. */
  readonly soul: string
  /** What the facets of the session contribute, in their order. */
  readonly facetLayers: readonly FacetLayer[]
  /** Without it nothing is reduced. */
  readonly budget?: PromptBudget
}

/**
 * Builds the system prompt: what rarely changes first, what changes from day to day last. It is built once per session and then
 * kept byte for byte, because providers cache by prefix. The same facts always produce the same bytes.
 */
export function promptLayers(facts: PromptFacts): readonly PromptLayer[] {
  const ofTier = (tier: FacetLayer["tier"]): readonly DraftLayer[] =>
    facts.facetLayers.filter((layer) => layer.tier === tier)
  const drafts = [
    { name: "identity", text: identityText(facts) },
    ...stableTier(facts),
    ...ofTier("stable"),
    ...ofTier("context"),
    ...ofTier("volatile"),
    ...volatileTier(facts),
  ]
    .map((draft: DraftLayer) => ({ ...draft, text: draft.text.trim() }))
    .filter(({ text }) => text !== "")
  const fitted = facts.budget === undefined ? drafts : fitToBudget(drafts, facts.budget)
  return fitted
    .map(({ name, text }, index) => ({
      name,
      text,
      ...(text === drafts[index]?.text ? {} : { reduced: true as const }),
    }))
    .filter(({ text }) => text !== "")
}

export function joinLayers(layers: readonly PromptLayer[]): string {
  return layers.map(({ text }) => text).join("\n\n")
}

/** Also the first content of a new home's SOUL.md. */
export const DEFAULT_IDENTITY =
  "You are Hermes Agent, a personal assistant that works on its owner's computer. You are helpful, knowledgeable and direct. You help " +
  "with code, analysis, creative writing and everyday tasks, and you act through tools. Be clear, say when you are not sure, prefer " +
  "being useful over being long, and look only at what the task needs."

const LEAN_IDENTITY =
  "You are Hermes Agent, a personal assistant that acts through tools. Be direct, clear and brief, and say when you are not sure."

function identityText({ soul, style }: PromptFacts): string {
  const own = soul.trim()
  if (own !== "" && own !== DEFAULT_IDENTITY) return own
  return style === "lean" ? LEAN_IDENTITY : DEFAULT_IDENTITY
}
