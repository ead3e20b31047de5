import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import type { Choice, ChoiceList } from "../../commands/choice-list.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import type { KeyEvent } from "../screen/key-event.ts"
import { filterChoices } from "./filter-choices.ts"
import { createTextField, type TextField } from "./text-field.ts"

/** One list with what the user has typed and highlighted in it. */
export interface ListLevel<T> {
  readonly list: ChoiceList<T>
  readonly filter: TextField
  readonly state: "loading" | "ready" | { readonly problem: string }
  /** A sentence about the list, for example that it comes from a cache. */
  readonly note: string
  /** All choices of the list. */
  readonly choices: readonly Choice<T>[]
  /** Those that match the filter. */
  readonly matches: readonly Choice<T>[]
  /** Index in `matches`. */
  readonly selected: number
  readonly highlighted: Choice<T> | undefined
  readonly mode: string | undefined
  /** Digits choose an entry. */
  readonly hasDigits: boolean
  move(to: number): void
  nextMode(): void
  /** Returns false for a key that does not change the filter. */
  filterKey(event: KeyEvent): boolean
  load(): void
  close(): void
}

const MIN_SEARCH_CHARS = 3

/** `changed` is called when something was loaded. */
export function createListLevel<T>(list: ChoiceList<T>, changed: () => void): ListLevel<T> {
  const filter = createTextField({ masked: list.isSecret === true })
  const closing = new AbortController()
  let state: ListLevel<T>["state"] = "loading"
  let note = ""
  let choices: readonly Choice<T>[] = []
  let found: readonly Choice<T>[] = []
  let matches: readonly Choice<T>[] = []
  let selected = 0
  let mode = 0
  let loading = new AbortController()
  let searching = new AbortController()

  const refresh = (): void => {
    const text = list.isSecret === true ? "" : filter.text.trim()
    const filtered = filterChoices(choices, text)
    const known = new Set(filtered.map(({ value }) => value))
    const free = freeChoice(list, filter.text, filtered)
    const others = [...filtered, ...found.filter(({ value }) => !known.has(value))]
    if (free === undefined) matches = others
    else matches = list.prefersTyped?.(text) === true ? [free, ...others] : [...others, free]
    selected = Math.max(0, Math.min(selected, matches.length - 1))
  }
  const search = async (text: string, signal: AbortSignal): Promise<void> => {
    const results = await list.search?.(text, signal)
    if (signal.aborted || results === undefined) return
    found = results
    refresh()
    changed()
  }
  const startSearch = (): void => {
    searching.abort()
    searching = new AbortController()
    found = []
    const text = filter.text.trim()
    if (list.search === undefined || text.length < MIN_SEARCH_CHARS) return
    const signal = AbortSignal.any([searching.signal, closing.signal])
    search(text, signal).catch((error: unknown) => {
      if (signal.aborted) return
      note = `The search failed: ${errorMessage(error)}.`
      changed()
    })
  }
  const loadChoices = async (signal: AbortSignal): Promise<void> => {
    const isFirst = state === "loading"
    const before = matches[selected]
    const loaded = await list.load(signal)
    if (signal.aborted) return
    choices = loaded.choices
    note = loaded.note ?? ""
    state = "ready"
    refresh()
    // What was typed meanwhile says more than what is current.
    const wanted =
      isFirst && filter.text === ""
        ? matches.findIndex(({ isCurrent }) => isCurrent === true)
        : matches.findIndex(({ value }) => value === before?.value)
    selected = wanted === -1 ? selected : wanted
    changed()
  }

  const level: ListLevel<T> = {
    list,
    filter,
    get state() {
      return state
    },
    get note() {
      return note
    },
    get choices() {
      return choices
    },
    get matches() {
      return matches
    },
    get selected() {
      return selected
    },
    get highlighted() {
      return matches[selected]
    },
    get mode() {
      return list.modes?.[mode]
    },
    // Typing a number must be possible where values are typed.
    hasDigits: list.freeEntry === undefined,
    move: (to) => {
      selected = Math.max(0, Math.min(to, matches.length - 1))
    },
    nextMode: () => {
      mode = (mode + 1) % Math.max(1, list.modes?.length ?? 1)
    },
    filterKey: (event) => {
      const before = filter.text
      if (!filter.key(event)) return false
      if (filter.text === before) return true
      selected = 0
      startSearch()
      refresh()
      return true
    },
    load: () => {
      loading.abort()
      loading = new AbortController()
      const signal = AbortSignal.any([loading.signal, closing.signal])
      loadChoices(signal).catch((error: unknown) => {
        if (signal.aborted) return
        state = { problem: `The list could not be loaded: ${errorMessage(error)}.` }
        changed()
      })
    },
    close: () => closing.abort(),
  }
  return level
}

const MAX_SHOWN_CHARS = 60

function freeChoice<T>(list: ChoiceList<T>, typed: string, matches: readonly Choice<T>[]): Choice<T> | undefined {
  const text = list.isSecret === true ? typed : typed.trim()
  if (text === "" || matches.some(({ label }) => label === text)) return undefined
  const value = list.freeEntry?.(text)
  if (value === undefined) return undefined
  const label = list.isSecret === true ? "Use what you typed" : `Use “${ellipsize(oneLine(text), MAX_SHOWN_CHARS)}”`
  return { value, label }
}
