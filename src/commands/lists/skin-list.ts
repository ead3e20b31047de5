import type { ChoiceList } from "../choice-list.ts"
import { namedChoiceList, type NamedChoice } from "./named-choice-list.ts"

/** The skins. The highlighted one is shown at once; leaving the list restores the present one. */
export function skinList(options: {
  readonly skins: readonly NamedChoice[]
  readonly current: string
  /** Undefined shows the saved skin again. */
  readonly show: (name: string | undefined) => void
}): ChoiceList<string> {
  const { skins, current, show } = options
  return namedChoiceList({
    title: "Skin",
    choices: skins,
    current,
    hint: "Enter keeps it",
    onHighlight: show,
  })
}
