/** Searching the history backwards, as Ctrl+R does in a shell. */
export interface HistorySearch {
  readonly query: string
  /** Index of the match in the history; undefined when nothing matches. */
  readonly match: number | undefined
}

export const EMPTY_SEARCH: HistorySearch = { query: "", match: undefined }

/** Finds the newest entry that contains the query, at or before `from`. */
export function searchHistory(entries: readonly string[], query: string, from = entries.length - 1): HistorySearch {
  if (query === "") return EMPTY_SEARCH
  const wanted = query.toLowerCase()
  const match = entries.findLastIndex((entry, index) => index <= from && entry.toLowerCase().includes(wanted))
  return { query, match: match === -1 ? undefined : match }
}

/** Finds the next older entry, and stays where it is when there is none. */
export function searchOlder(entries: readonly string[], search: HistorySearch): HistorySearch {
  if (search.match === undefined) return search
  const current = entries[search.match]
  let from = search.match - 1
  while (from >= 0 && entries[from] === current) from -= 1
  const older = searchHistory(entries, search.query, from)
  return older.match === undefined ? search : older
}
