import { DEFAULT_EDITOR_KEYS } from "../../config/editor-keys.ts"
import type { EditorKeyAction } from "../../config/editor-keys.ts"

/** What keys do in the editor. */
export interface Keymap {
  /** The action of a key, or of two keys that are pressed one after the other. */
  action(chord: string): EditorKeyAction | undefined
  /** True for the first of two keys. */
  isPrefix(chord: string): boolean
  /** The first key of an action, for hints. */
  keyOf(action: EditorKeyAction): string | undefined
}

/** The keys that the user chose, and the default keys of all other actions as far as they are still free. */
export function createKeymap(chosen: ReadonlyMap<EditorKeyAction, readonly string[]> = new Map()): Keymap {
  const actions = new Map<string, EditorKeyAction>()
  const prefixes = new Set<string>()
  const bind = (action: EditorKeyAction, chord: string): void => {
    const [first = "", second] = chord.split(" ")
    if (actions.has(chord) || actions.has(first) || (second === undefined && prefixes.has(first))) return
    actions.set(chord, action)
    if (second !== undefined) prefixes.add(first)
  }
  for (const [action, chords] of chosen) for (const chord of chords) bind(action, chord)
  for (const action of editorKeyActions())
    if (!chosen.has(action)) for (const chord of DEFAULT_EDITOR_KEYS[action]) bind(action, chord)
  return {
    action: (chord) => actions.get(chord),
    isPrefix: (chord) => prefixes.has(chord),
    keyOf: (wanted) => [...actions].find(([, action]) => action === wanted)?.[0],
  }
}

function editorKeyActions(): readonly EditorKeyAction[] {
  return Object.keys(DEFAULT_EDITOR_KEYS).filter((name): name is EditorKeyAction => name in DEFAULT_EDITOR_KEYS)
}
