import type { Skill } from "./skill.ts"

/** The share of words that two skills have in common from which on they count as the same procedure. */
const SIMILAR = 0.6
const MIN_WORDS = 3

/** The existing skill that a new one mostly repeats; undefined when there is none. */
export function similarSkill(
  fresh: { readonly name: string; readonly description: string },
  skills: readonly Skill[],
): Skill | undefined {
  const words = wordsOf(`${fresh.name} ${fresh.description}`)
  const nameWords = [...wordsOf(fresh.name)].toSorted().join(" ")
  const scored = skills.map((skill) => {
    const isSameName = nameWords !== "" && [...wordsOf(skill.name)].toSorted().join(" ") === nameWords
    return { skill, score: isSameName ? 1 : overlap(words, wordsOf(`${skill.name} ${skill.description}`)) }
  })
  const best = scored.toSorted((a, b) => b.score - a.score)[0]
  return best !== undefined && best.score >= SIMILAR ? best.skill : undefined
}

/** Jaccard index of two sets of words. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size < MIN_WORDS || b.size < MIN_WORDS) return 0
  const common = [...a].filter((word) => b.has(word)).length
  return common / (a.size + b.size - common)
}

const STOP_WORDS = new Set(
  "a an and any are as at be by for from how in into is it its of on or our that the their this to use used using via when with your".split(
    " ",
  ),
)

function wordsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return new Set(words.filter((word) => !STOP_WORDS.has(word)).map(stem))
}

/** Enough to compare plurals and verb forms. */
function stem(word: string): string {
  return word.length > 4 ? word.replace(/(?:ing|ed|es|s|e)$/u, "") : word
}
