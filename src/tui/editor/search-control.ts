import { EMPTY_SEARCH } from "../../terminal/editor/history-search.ts"
import type { HistorySearch } from "../../terminal/editor/history-search.ts"
import type { EditorOptions } from "./editor-options.ts"
import { cleanInput } from "./input-text.ts"
import { searchKey } from "./search-key.ts"
import { isText } from "./typed-key.ts"
import type { TypedKey } from "./typed-key.ts"

/** The search in earlier messages. */
export interface SearchControl {
  /** Undefined when there is no search. */
  readonly search: HistorySearch | undefined
  /** The message that it has found. */
  readonly found: string | undefined
  begin(): void
  end(): void
  /** Returns false for a key that does what it always does, because there is no search or the key has ended it. */
  key(event: TypedKey): boolean
}

export function createSearchControl({
  options,
  accept,
}: {
  readonly options: () => Pick<EditorOptions, "history" | "keymap">
  readonly accept: (message: string) => void
}): SearchControl {
  let search: HistorySearch | undefined
  return {
    get search() {
      return search
    },
    get found() {
      return search?.match === undefined ? undefined : options().history.entries()[search.match]
    },
    begin: () => {
      search = EMPTY_SEARCH
    },
    end: () => {
      search = undefined
    },
    key: (event) => {
      if (search === undefined) return false
      const { keymap, history } = options()
      const action = keymap.action(event.chord)
      const step = searchKey(search, { action, typed: isText(event) ? cleanInput(event.text) : "" }, history.entries())
      search = step.kind === "continue" ? step.search : undefined
      if (step.kind !== "accept") return true
      if (step.found !== undefined) accept(step.found)
      // Escape only ends the search.
      return action === "cancel"
    },
  }
}
