import { isRecord } from "../base/json.ts"
import { nearest } from "../base/nearest-name.ts"
import { ellipsize } from "../base/text.ts"
import type { ConfigProblem } from "./config-problem.ts"

/**
 * What the keys of the input editor do. `display.keys` replaces the keys of an action. Two keys with a space between them are pressed one
 * after the other.
 */
export const DEFAULT_EDITOR_KEYS = {
  submit: ["enter"],
  newline: ["alt+enter", "ctrl+j", "shift+enter", "ctrl+enter"],
  up: ["up", "ctrl+p"],
  down: ["down", "ctrl+n"],
  left: ["left", "ctrl+b"],
  right: ["right", "ctrl+f"],
  word_left: ["ctrl+left", "alt+left", "alt+b"],
  word_right: ["ctrl+right", "alt+right", "alt+f"],
  line_start: ["home", "ctrl+a"],
  line_end: ["end", "ctrl+e"],
  draft_start: ["ctrl+home", "alt+<"],
  draft_end: ["ctrl+end", "alt+>"],
  delete_left: ["backspace", "ctrl+h", "shift+backspace"],
  delete_right: ["delete"],
  delete_right_or_leave: ["ctrl+d"],
  delete_word_left: ["ctrl+w", "alt+backspace", "ctrl+backspace"],
  delete_word_right: ["alt+d", "ctrl+delete", "alt+delete"],
  delete_to_start: ["ctrl+u"],
  delete_to_end: ["ctrl+k"],
  yank: [],
  undo: ["ctrl+z", "ctrl+_"],
  redo: ["ctrl+y", "ctrl+shift+z"],
  suspend: [],
  complete: ["tab"],
  previous_completion: ["shift+tab"],
  cancel: ["escape"],
  search_history: ["ctrl+r"],
  external_editor: ["ctrl+g", "alt+g", "ctrl+x ctrl+e"],
  paste: ["ctrl+v"],
  paste_image: ["alt+v"],
  redraw: ["ctrl+l"],
  toggle_tasks: ["ctrl+t"],
  expand_output: ["ctrl+o"],
  interrupt: ["ctrl+c"],
} as const satisfies Record<string, readonly string[]>

export type EditorKeyAction = keyof typeof DEFAULT_EDITOR_KEYS

/** The keys that the user chose, by action. Invalid entries are left out; `editorKeyProblems` reports them. */
export function chosenEditorKeys(value: unknown): ReadonlyMap<EditorKeyAction, readonly string[]> {
  return readEditorKeys(value).chosen
}

export function editorKeyProblems(value: unknown): readonly ConfigProblem[] {
  return readEditorKeys(value).problems
}

interface ReadKeys {
  readonly chosen: Map<EditorKeyAction, readonly string[]>
  readonly problems: ConfigProblem[]
}

const PATH = "display.keys"

function readEditorKeys(value: unknown): ReadKeys {
  const result: ReadKeys = { chosen: new Map(), problems: [] }
  if (!isRecord(value)) return result
  const users = new Map<string, string>()
  for (const [name, written] of Object.entries(value)) {
    const path = `${PATH}.${ellipsize(name, MAX_SHOWN_CHARS)}`
    const refuse = (message: string, fix: string): void => {
      result.problems.push({ severity: "warning", path, message, fix })
    }
    if (!isEditorKeyAction(name)) {
      const similar = nearest(name, Object.keys(DEFAULT_EDITOR_KEYS))
      refuse(
        `\`${path}\` is not an action of the editor`,
        similar === undefined ? ACTIONS_FIX : `did you mean \`${similar}\`?`,
      )
      continue
    }
    const given: readonly unknown[] = Array.isArray(written) ? written : written === null ? [] : [written]
    const chords = given.flatMap((entry) => {
      const chord = typeof entry === "string" ? normalizeChord(entry) : undefined
      const shown = JSON.stringify(ellipsize(String(entry), MAX_SHOWN_CHARS))
      if (chord === undefined) refuse(`${shown} in \`${path}\` is not a key`, CHORD_FIX)
      else if (chord.split(" ").includes("ctrl+c") && name !== "interrupt")
        refuse(`${shown} in \`${path}\` always interrupts`, "choose another key")
      else if ((users.get(chord) ?? name) !== name)
        refuse(
          `${shown} is the key of both \`${users.get(chord) ?? ""}\` and \`${name}\``,
          "choose another key for one of them",
        )
      else {
        users.set(chord, name)
        return [chord]
      }
      return []
    })
    const isRequired = name === "submit" || name === "interrupt"
    if (chords.length === 0 && (isRequired || given.length > 0)) {
      if (given.length === 0) refuse(`\`${path}\` has no key`, "give it at least one")
      continue
    }
    result.chosen.set(name, name === "interrupt" ? [...new Set([...chords, "ctrl+c"])] : chords)
  }
  return result
}

/** The form in which keys are reported: modifiers in the order ctrl, alt, shift. Undefined for what is no key, or types a character. */
function normalizeChord(written: string): string | undefined {
  const keys = written.trim().split(/\s+/u)
  const chords = keys.map(normalizeKey)
  if (keys.length > 2 || !chords.every((chord) => chord !== undefined)) return undefined
  return chords.join(" ")
}

function normalizeKey(written: string): string | undefined {
  const parts = /^((?:[a-z]+\+)*)(.+)$/iu.exec(written)
  const modifiers = new Set(
    (parts?.[1] ?? "")
      .toLowerCase()
      .split("+")
      .slice(0, -1)
      .map((word) => MODIFIERS[word]),
  )
  const key = (parts?.[2] ?? "").toLowerCase()
  const name = KEY_ALIASES[key] ?? key
  if (modifiers.has(undefined) || !(KEY_NAMES.has(name) || /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(name))) return undefined
  const typesText = !KEY_NAMES.has(name) || name === "space"
  if (typesText && !modifiers.has("ctrl") && !modifiers.has("alt")) return undefined
  return [...["ctrl", "alt", "shift"].filter((modifier) => modifiers.has(modifier)), name].join("+")
}

function isEditorKeyAction(name: string): name is EditorKeyAction {
  return Object.hasOwn(DEFAULT_EDITOR_KEYS, name)
}

const MODIFIERS: Readonly<Record<string, string>> = {
  ctrl: "ctrl",
  control: "ctrl",
  alt: "alt",
  meta: "alt",
  option: "alt",
  shift: "shift",
}

const KEY_ALIASES: Readonly<Record<string, string>> = { esc: "escape", return: "enter", del: "delete", " ": "space" }

const KEY_NAMES: ReadonlySet<string> = new Set([
  ..."enter tab escape space backspace delete insert up down left right home end pageup pagedown".split(" "),
  ...Array.from({ length: 12 }, (_, index) => `f${index + 1}`),
])

const MAX_SHOWN_CHARS = 40
const ACTIONS_FIX = "the settings reference lists the actions"
const CHORD_FIX = "write it like ctrl+r, alt+enter, f5 or ctrl+x ctrl+e; letters need ctrl or alt"
