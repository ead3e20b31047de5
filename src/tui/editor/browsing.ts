import { draftOf } from "../../terminal/editor/draft.ts"
import type { Draft } from "../../terminal/editor/draft.ts"

/** Going back through queued messages and, before them, the messages of the history. */
export interface Browsing {
  /** Returns the draft to show; undefined when there is nothing older or newer. */
  move(direction: "older" | "newer", current: Draft): Draft | undefined
  /** The queued message that is being edited. */
  readonly queued: string | undefined
  end(): void
}

export interface BrowsingOptions {
  /** Oldest first. */
  readonly history: () => readonly string[]
  readonly queued: () => readonly string[]
}

export function createBrowsing({ history, queued }: BrowsingOptions): Browsing {
  let left: Draft | undefined
  let entries: readonly { readonly text: string; readonly isQueued: boolean }[] = []
  let index = 0
  return {
    move: (direction, current) => {
      if (left === undefined) {
        if (direction === "newer") return undefined
        entries = browsable(history(), queued())
        index = entries.length
      }
      const next = index + (direction === "older" ? -1 : 1)
      const entry = entries[next]
      if (entry !== undefined) {
        left ??= current
        index = next
        return draftOf(entry.text)
      }
      if (direction === "older") return undefined
      const draft = left
      left = undefined
      return draft
    },
    get queued() {
      const entry = left === undefined ? undefined : entries[index]
      return entry?.isQueued === true ? entry.text : undefined
    },
    end: () => {
      left = undefined
    },
  }
}

/** Messages that wait are at the end of the history too; they are offered once. */
function browsable(history: readonly string[], queued: readonly string[]) {
  const last = history.findLastIndex((text) => !queued.includes(text))
  return [
    ...history.slice(0, last + 1).map((text) => ({ text, isQueued: false })),
    ...queued.map((text) => ({ text, isQueued: true })),
  ]
}
