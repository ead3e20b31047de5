import { draftOf } from "./draft.ts"
import type { Draft } from "./draft.ts"

export interface Completion {
  readonly draft: Draft
  /** The names that are still possible. */
  readonly hint?: string
}

/** Completes a slash command before the cursor as far as it is unambiguous. Undefined when there is nothing to complete. */
export function completeCommand({ text, cursor }: Draft, names: readonly string[]): Completion | undefined {
  if (!/^\/\S*$/u.test(text) || cursor !== text.length) return undefined
  const possible = names.filter((name) => name.startsWith(text.slice(1).toLowerCase()))
  const [first, ...others] = possible
  if (first === undefined) return undefined
  if (others.length === 0) return { draft: draftOf(`/${first} `) }
  const shared = others.reduce(sharedStart, first)
  return { draft: draftOf(`/${shared}`), hint: possible.map((name) => `/${name}`).join("  ") }
}

function sharedStart(one: string, other: string): string {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return one.slice(0, length)
}
