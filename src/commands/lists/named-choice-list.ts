import type { ChoiceList } from "../choice-list.ts"

/** Something with a name that can be chosen, for example a skin. */
export interface NamedChoice {
  readonly name: string
  readonly description: string
}

/** A list of names with one sentence each. `onHighlight` shows the highlighted one at once; undefined restores the current one. */
export function namedChoiceList(options: {
  readonly title: string
  readonly choices: readonly NamedChoice[]
  readonly current: string
  readonly hint?: string
  readonly onHighlight?: (name: string | undefined) => void
}): ChoiceList<string> {
  const { title, choices, current, hint = "Enter uses it", onHighlight } = options
  return {
    title,
    hint,
    load: () =>
      Promise.resolve({
        choices: choices.map(({ name, description }) => ({
          value: name,
          label: name,
          description,
          isCurrent: name === current,
        })),
      }),
    ...(onHighlight === undefined ? {} : { onHighlight: (choice) => onHighlight(choice?.value) }),
  }
}
