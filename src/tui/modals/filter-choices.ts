import { fuzzyScore } from "../../base/fuzzy-score.ts"
import type { Choice } from "../../commands/choice-list.ts"

/**
 * The choices that match every typed word, best first; groups stay together. Characters with others between them match only the label:
 * in longer texts nearly everything would match.
 */
export function filterChoices<T>(choices: readonly Choice<T>[], filter: string): readonly Choice<T>[] {
  const words = filter.toLowerCase().split(" ").filter(Boolean)
  if (words.length === 0) return choices
  const found: { readonly choice: Choice<T>; readonly score: number }[] = []
  const bestOfGroup = new Map<string | undefined, number>()
  for (const choice of choices) {
    const score = choiceScore(choice, words)
    if (score === undefined) continue
    found.push({ choice, score })
    bestOfGroup.set(choice.group, Math.max(score, bestOfGroup.get(choice.group) ?? 0))
  }
  const groups = [...bestOfGroup].toSorted(([, one], [, other]) => other - one).map(([group]) => group)
  const order = new Map(groups.map((group, index) => [group, index]))
  return found
    .toSorted(
      (one, other) =>
        (order.get(one.choice.group) ?? 0) - (order.get(other.choice.group) ?? 0) || other.score - one.score,
    )
    .map(({ choice }) => choice)
}

const ELSEWHERE_SCORE = 30
const LOOSE_SCORE = 25

/** Characters in the middle of words, with others between them, are found in names only: a sentence contains nearly every one. */
function labelScore(word: string, label: string): number | undefined {
  const score = fuzzyScore(word, label)
  return score === LOOSE_SCORE && label.includes(" ") ? undefined : score
}

function choiceScore<T>(choice: Choice<T>, words: readonly string[]): number | undefined {
  const { label, description = "", details = [], group = "", keywords = "" } = choice
  let elsewhere: string | undefined
  let sum = 0
  for (const word of words) {
    const inLabel = labelScore(word, label)
    if (inLabel !== undefined && inLabel > ELSEWHERE_SCORE) {
      sum += inLabel
      continue
    }
    elsewhere ??= `${description}\n${details.join(" ")}\n${group}\n${keywords}`.toLowerCase()
    const score = elsewhere.includes(word) ? ELSEWHERE_SCORE : inLabel
    if (score === undefined) return undefined
    sum += score
  }
  return sum
}
