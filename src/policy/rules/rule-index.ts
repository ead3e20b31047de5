import type { MatchedCall } from "./match-rule.ts"
import type { RuleLayer, ToolRule } from "./permission-rules.ts"

/** The layers with the rules that may be about a call, in their order. Most rules are about commands that begin otherwise. */
export function candidateLayers(layers: readonly RuleLayer[], { starts }: MatchedCall): readonly RuleLayer[] {
  if (starts === undefined) return layers
  return layers.map((layer) =>
    layer.rules.length < FEW_RULES ? layer : { name: layer.name, rules: candidates(layer.rules, starts) },
  )
}

/** Comparing fewer rules takes less time than looking them up. */
const FEW_RULES = 20

interface RuleIndex {
  /** Positions of the rules whose texts begin in any way. */
  readonly open: readonly number[]
  /** Positions by the first characters of what the rules match. */
  readonly byStart: ReadonlyMap<string, readonly number[]>
}

/** Lists of rules do not change, and the same list decides about many calls. */
const indexes = new WeakMap<readonly ToolRule[], RuleIndex>()

function candidates(rules: readonly ToolRule[], starts: ReadonlySet<string>): readonly ToolRule[] {
  let index = indexes.get(rules)
  if (index === undefined) {
    index = indexRules(rules)
    indexes.set(rules, index)
  }
  const positions = [...index.open]
  for (const start of starts) positions.push(...(index.byStart.get(start) ?? []))
  positions.sort((one, other) => one - other)
  return positions.flatMap((position) => rules[position] ?? [])
}

function indexRules(rules: readonly ToolRule[]): RuleIndex {
  const open: number[] = []
  const byStart = new Map<string, number[]>()
  for (const [position, { pattern }] of rules.entries()) {
    const start = pattern.argument?.start
    if (start === undefined) open.push(position)
    else byStart.set(start, [...(byStart.get(start) ?? []), position])
  }
  return { open, byStart }
}
