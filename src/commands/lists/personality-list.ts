import type { ChoiceList } from "../choice-list.ts"
import { namedChoiceList, type NamedChoice } from "./named-choice-list.ts"

/** The personalities, and `none`. */
export function personalityList(options: {
  readonly personalities: readonly NamedChoice[]
  readonly current: string | undefined
}): ChoiceList<string> {
  return namedChoiceList({
    title: "Personality of this session",
    choices: [{ name: "none", description: "no personality" }, ...options.personalities],
    current: options.current ?? "none",
  })
}
