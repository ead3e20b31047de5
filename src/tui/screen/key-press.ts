import type { KeyEvent } from "./key-event.ts"

export type KeyPress = Extract<KeyEvent, { type: "key" }>

const ESC = "\u{1B}"

export interface Modifiers {
  readonly shift: boolean
  readonly alt: boolean
  readonly ctrl: boolean
  readonly super: boolean
}

export const NO_MODIFIERS: Modifiers = { shift: false, alt: false, ctrl: false, super: false }

/** Shift 1, Alt 2, Ctrl 4, Super 8, Meta 32, plus 1. */
export function modifiersOf(parameter: number): Modifiers {
  const bits = Math.max(0, parameter - 1)
  return {
    shift: (bits & 1) !== 0,
    alt: (bits & 2) !== 0 || (bits & 32) !== 0,
    ctrl: (bits & 4) !== 0,
    super: (bits & 8) !== 0,
  }
}

/** `name` is the name of a key, or the character on it. */
export function key(name: string, modifiers: Modifiers = NO_MODIFIERS, reported = ""): KeyPress {
  const isCharacter = /^.$/su.test(name)
  const plain = !modifiers.alt && !modifiers.ctrl && !modifiers.super
  if (plain && name === "space") return { type: "key", chord: modifiers.shift ? "shift+space" : "space", text: " " }
  if (plain && isCharacter) {
    const text = reported === "" && modifiers.shift ? name.toUpperCase() : reported || name
    return { type: "key", chord: text, text }
  }
  const lower = isCharacter ? name.toLowerCase() : name
  const shift = modifiers.shift || lower !== name
  const names = [modifiers.super && "super", modifiers.ctrl && "ctrl", modifiers.alt && "alt", shift && "shift", lower]
  return { type: "key", chord: names.filter((part) => part !== false).join("+"), text: "" }
}

/** The key that produced one character. */
export function characterKey(character: string): readonly KeyPress[] {
  const control = controlKey(character)
  if (control !== undefined) return [control]
  // Damaged bytes and control characters of the second set are no text.
  if (character === "\u{FFFD}" || /^\p{Cc}$/u.test(character)) return []
  return [character === " " ? key("space") : key(character)]
}

/** The same with Alt. */
export function altCharacter(character: string): readonly KeyPress[] {
  return characterKey(character).map(({ chord }) =>
    chord.startsWith("ctrl+")
      ? key(chord.slice("ctrl+".length), { ...NO_MODIFIERS, ctrl: true, alt: true })
      : altKey(chord),
  )
}

export function altKey(name: string): KeyPress {
  return key(name, { ...NO_MODIFIERS, alt: true })
}

function controlKey(character: string): KeyPress | undefined {
  const code = character.charCodeAt(0)
  if (code === 0x7f || code === 0x08) return key("backspace")
  if (code >= 32) return undefined
  if (character === "\r") return key("enter")
  if (character === "\t") return key("tab")
  if (character === ESC) return key("escape")
  if (code === 0) return key("space", { ...NO_MODIFIERS, ctrl: true })
  return key(String.fromCodePoint(code + (code <= 26 ? 96 : 64)), { ...NO_MODIFIERS, ctrl: true })
}
