type Move = (from: number, list: { readonly page: number; readonly last: number }) => number

/** The index that a key moves to. */
export const MOVES: Readonly<Record<string, Move>> = {
  up: (from, { last }) => (from === 0 ? last : from - 1),
  down: (from, { last }) => (from === last ? 0 : from + 1),
  "ctrl+p": (from) => from - 1,
  "ctrl+n": (from) => from + 1,
  pageup: (from, { page }) => from - page,
  pagedown: (from, { page }) => from + page,
  "ctrl+home": () => 0,
  "ctrl+end": (_from, { last }) => last,
}

/** Pages by which a key scrolls the preview. */
export const PREVIEW_PAGES: Readonly<Record<string, number>> = {
  "ctrl+f": 1,
  "ctrl+b": -1,
  "alt+down": 1,
  "alt+up": -1,
  "shift+down": 1,
  "shift+up": -1,
}
