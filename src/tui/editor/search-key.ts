import type { EditorKeyAction } from "../../config/editor-keys.ts"
import { deleteLeft, draftOf } from "../../terminal/editor/draft.ts"
import { searchHistory, searchOlder } from "../../terminal/editor/history-search.ts"
import type { HistorySearch } from "../../terminal/editor/history-search.ts"

/** What a key does while the history is searched: the search goes on, is cancelled, or ends with what it has found. */
export type SearchStep =
  | { readonly kind: "continue"; readonly search: HistorySearch }
  | { readonly kind: "cancel" }
  | { readonly kind: "accept"; readonly found: string | undefined }

/** `typed` is the text that the key inserts, or empty. */
export function searchKey(
  search: HistorySearch,
  key: { readonly action: EditorKeyAction | undefined; readonly typed: string },
  entries: readonly string[],
): SearchStep {
  switch (key.action) {
    case "search_history":
      return { kind: "continue", search: searchOlder(entries, search) }
    case "delete_left":
      return { kind: "continue", search: searchHistory(entries, deleteLeft(draftOf(search.query)).text) }
    case "interrupt":
    case "external_editor":
      return { kind: "cancel" }
    default:
      if (key.typed !== "")
        return { kind: "continue", search: searchHistory(entries, search.query + key.typed, search.match) }
      return { kind: "accept", found: search.match === undefined ? undefined : entries[search.match] }
  }
}
