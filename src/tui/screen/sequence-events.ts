import { assertNever } from "../../base/assert-never.ts"
import type { InputEvent } from "./key-event.ts"
import { characterKey, key, type Modifiers, modifiersOf, NO_MODIFIERS } from "./key-press.ts"
import { CODE_KEYS, KEYPAD_KEYS, LETTER_KEYS, TILDE_KEYS } from "./key-tables.ts"
import type { Sequence } from "./match-sequence.ts"

/** What a complete sequence stands for. */
export function sequenceEvents(
  sequence: Exclude<Sequence, { kind: "paste-start" }>,
  alt: boolean,
): readonly InputEvent[] {
  switch (sequence.kind) {
    case "csi":
      return csiEvents(sequence.parameters, sequence.final, alt)
    case "keypad":
      return keypadEvents(sequence.parameters, sequence.final, alt)
    case "console-function-key":
      return [key(`f${sequence.final.charCodeAt(0) - 64}`, { ...NO_MODIFIERS, alt })]
    case "osc":
      return [{ type: "osc", payload: sequence.payload }]
    case "ignored":
      return []
    default:
      return assertNever(sequence)
  }
}

function csiEvents(parameters: string, final: string, alt: boolean): readonly InputEvent[] {
  const kind = final === "c" ? /^>(\d+)(?:;|$)/.exec(parameters)?.[1] : undefined
  if (kind !== undefined) return [{ type: "terminal-kind", kind: Number(kind) }]
  // Reports of modes, attributes and the mouse begin with a private character.
  if (!/^[\d;:]*$/.test(parameters)) return []
  const fields = parameters.split(";")
  const [first = 0, second = 0, third = 0] = fields.map((field) => Number.parseInt(field, 10) || 0)
  const named = (name: string | undefined, modifiers: Modifiers): readonly InputEvent[] =>
    name === undefined || isRelease(fields[1]) ? [] : [key(name, alt ? { ...modifiers, alt } : modifiers)]
  switch (final) {
    case "~":
      if (first === 27 && fields.length === 3) return codeEvents(third, modifiersOf(second), "")
      return named(TILDE_KEYS.get(first), modifiersOf(second))
    case "u":
      return isRelease(fields[1]) ? [] : codeEvents(first, modifiersOf(second), kittyText(fields))
    case "$":
      return named(TILDE_KEYS.get(first), { ...NO_MODIFIERS, shift: true })
    case "^":
      return named(TILDE_KEYS.get(first), { ...NO_MODIFIERS, ctrl: true })
    case "@":
      return named(TILDE_KEYS.get(first), { ...NO_MODIFIERS, ctrl: true, shift: true })
    case "Z":
      return named("tab", { ...modifiersOf(second), shift: true })
    case "I":
    case "O":
      return parameters === "" ? [{ type: "focus", focused: final === "I" }] : []
    case "a":
    case "b":
    case "c":
    case "d":
      // rxvt. With a parameter it is a report.
      return parameters === "" ? named(LETTER_KEYS.get(final.toUpperCase()), { ...NO_MODIFIERS, shift: true }) : []
    default:
      return named(letterKey(final, fields), modifiersOf(fields.length === 1 ? first : second))
  }
}

/** A cursor report looks like F3 with modifiers, except that F3 has the row 1. */
function letterKey(final: string, fields: readonly string[]): string | undefined {
  if (final === "R" && fields.length > 1 && fields[0] !== "1") return undefined
  return LETTER_KEYS.get(final)
}

function keypadEvents(parameters: string, final: string, alt: boolean): readonly InputEvent[] {
  const fields = parameters.split(";")
  const modifiers = modifiersOf(Number.parseInt(fields.at(-1) ?? "", 10) || 0)
  const pressed = alt ? { ...modifiers, alt } : modifiers
  const name = LETTER_KEYS.get(final)
  if (name !== undefined) return [key(name, pressed)]
  if (/[a-d]/.test(final)) return [key(LETTER_KEYS.get(final.toUpperCase()) ?? "", { ...pressed, ctrl: true })]
  const onKeypad = KEYPAD_KEYS.get(final)
  if (onKeypad !== undefined) return [key(onKeypad, pressed)]
  // Alt and Shift with O, then another key.
  return [key("o", { ...NO_MODIFIERS, alt: true, shift: true }), ...characterKey(final)]
}

/** A key by its Unicode code point, as the Kitty protocol and modifyOtherKeys report it. */
function codeEvents(code: number, modifiers: Modifiers, text: string): readonly InputEvent[] {
  const name = CODE_KEYS.get(code) ?? characterOf(code)
  return name === "" ? [] : [key(name, modifiers, text)]
}

/** The text that the Kitty protocol reports with a key, if any. */
function kittyText(fields: readonly string[]): string {
  const text = (fields[2] ?? "").split(":").map((code) => characterOf(Number(code)))
  return text.join("") || characterOf(Number(fields[0]?.split(":")[1] ?? ""))
}

/** Empty for what is no character: controls, surrogates, and the private codes of keys such as Caps Lock. */
function characterOf(code: number): string {
  if (!(code > 0 && code <= 0x10_ff_ff)) return ""
  const character = String.fromCodePoint(code)
  return /^[\p{Cc}\p{Cs}\p{Co}]$/u.test(character) ? "" : character
}

/** The Kitty protocol reports that a key was released, if another program has requested it. */
function isRelease(field: string | undefined): boolean {
  return field?.split(":")[1] === "3"
}
