import { assertNever } from "../../base/assert-never.ts"
import { stripAnsi } from "../../base/strip-ansi.ts"
import type { KeyEvent, TerminalReport } from "./key-event.ts"
import { CODE_KEYS, KEYPAD_KEYS, LETTER_KEYS, TILDE_KEYS } from "./key-tables.ts"

export type InputEvent = KeyEvent | TerminalReport

type KeyPress = Extract<KeyEvent, { type: "key" }>

/** Turns the bytes of a terminal into events. How the bytes are split into chunks makes no difference. */
export interface KeyDecoder {
  /** `typedBefore` marks bytes from before raw mode, in which the terminal has converted Enter to a newline. */
  feed(bytes: Uint8Array, options?: { readonly typedBefore: boolean }): readonly InputEvent[]
  /** More bytes could change the meaning of the last ones: an escape is a key, or begins a sequence. */
  readonly waiting: boolean
  /** No more bytes came for a while, so the last ones stand for themselves. */
  timeout(): readonly InputEvent[]
}

export function createKeyDecoder(): KeyDecoder {
  return new Decoder()
}

const ESC = "\u{1B}"
const PASTE_END = `${ESC}[201~`
/** Longer sequences are rubbish; their text is dropped. */
const MAX_SEQUENCE = 8192
/** Ctrl+C at the end of the text, in every form in which terminals report it. */
const CTRL_C_AT_END = new RegExp(String.raw`(?:\u{3}|\u{1B}\[99;5u|\u{1B}\[27;5;99~)$`, "u")

class Decoder implements KeyDecoder {
  readonly #utf8 = new TextDecoder("utf-8", { ignoreBOM: true })
  #held = ""
  /** Inside a paste: its text so far. */
  #pasted: string[] | undefined
  /** Inside a sequence that is too long. */
  #skipping: "csi" | "string" | undefined
  #afterReturn = false

  get waiting(): boolean {
    return this.#held !== "" || this.#afterReturn || this.#pasted !== undefined
  }

  feed(bytes: Uint8Array, options?: { readonly typedBefore: boolean }): readonly InputEvent[] {
    const events: InputEvent[] = []
    let text = this.#held + this.#utf8.decode(bytes, { stream: true })
    this.#held = ""
    while (text !== "") {
      const rest = this.#take(text, events, options?.typedBefore === true)
      if (rest === undefined) {
        this.#held = text
        break
      }
      text = rest
    }
    return events
  }

  timeout(): readonly InputEvent[] {
    this.#afterReturn = false
    if (this.#pasted !== undefined) return this.#endLostPaste(this.#pasted)
    const held = this.#held
    if (!UNDECIDED.test(held)) return []
    this.#held = ""
    const escapes = held.lastIndexOf(ESC)
    const events: InputEvent[] = Array.from({ length: escapes }, () => key("escape"))
    const last = held.slice(escapes)
    return [...events, last === ESC ? key("escape") : altKey(last.slice(1))]
  }

  /** Takes one event from the text and returns the rest; undefined when the text is not complete. */
  #take(text: string, events: InputEvent[], typedBefore: boolean): string | undefined {
    if (this.#pasted !== undefined) return this.#takePaste(this.#pasted, text, events)
    if (this.#skipping !== undefined) return this.#skip(text, this.#skipping)
    const afterReturn = this.#afterReturn
    this.#afterReturn = false
    if (text.startsWith(ESC)) return this.#takeSequence(text, events)
    const character = String.fromCodePoint(text.codePointAt(0) ?? 0)
    // A line end of two characters is one key.
    if (character === "\n" && afterReturn) return text.slice(1)
    this.#afterReturn = character === "\r"
    if (character === "\n" && typedBefore) events.push(key("enter"))
    else events.push(...characterKey(character))
    return text.slice(character.length)
  }

  #takeSequence(text: string, events: InputEvent[]): string | undefined {
    // Two escapes are the key twice, unless a sequence follows: then the first one stands for Alt.
    const isDouble = text[1] === ESC
    if (isDouble && text.length === 2) return undefined
    if (isDouble && text[2] !== "[" && text[2] !== "O") {
      events.push(key("escape"))
      return text.slice(1)
    }
    const start = isDouble ? 1 : 0
    const found = matchSequence(text, start)
    if ((typeof found === "object" ? found.end : text.length) > MAX_SEQUENCE && found !== undefined) {
      this.#skipping = text[start + 1] === "[" ? "csi" : "string"
      return text.slice(MAX_SEQUENCE)
    }
    if (found === "incomplete") return undefined
    if (found === undefined) {
      if (isDouble) events.push(key("escape"))
      const character = String.fromCodePoint(text.codePointAt(start + 1) ?? 0)
      events.push(...altCharacter(character))
      return text.slice(start + 1 + character.length)
    }
    if (found.kind === "paste-start") this.#pasted = []
    else events.push(...sequenceEvents(found, isDouble))
    return text.slice(found.end)
  }

  /** Drops the rest of a sequence. Any control character ends it, so a key such as Ctrl+C works again. */
  #skip(text: string, kind: "csi" | "string"): string | undefined {
    const end = text.search(kind === "csi" ? CSI_END : CONTROL)
    if (end === -1) return ""
    if (kind === "string" && text.slice(end) === ESC) return end === 0 ? undefined : ESC
    this.#skipping = undefined
    const terminator = kind === "csi" ? /^[@-~]/ : STRING_END
    return text.slice(end).replace(terminator, "")
  }

  #takePaste(pasted: string[], text: string, events: InputEvent[]): string | undefined {
    const end = text.indexOf(PASTE_END)
    if (end === -1) {
      const start = markerStart(text)
      if (start === 0) return undefined
      pasted.push(text.slice(0, start))
      return text.slice(start)
    }
    pasted.push(text.slice(0, end))
    this.#pasted = undefined
    events.push({ type: "paste", text: pastedText(pasted.join("")) })
    return text.slice(end + PASTE_END.length)
  }

  /** The end of a paste may get lost on a bad line. Ctrl+C and silence after it end the paste; a Ctrl+C in the text does not. */
  #endLostPaste(pasted: string[]): readonly InputEvent[] {
    const tail = pasted.slice(-CTRL_C_PARTS).join("") + this.#held
    if (!CTRL_C_AT_END.test(tail)) return []
    const text = pasted.join("") + this.#held
    this.#pasted = undefined
    this.#held = ""
    return [{ type: "paste", text: pastedText(text.replace(CTRL_C_AT_END, "")) }]
  }
}

/** Each byte of the longest form of Ctrl+C may have been a chunk of its own. */
const CTRL_C_PARTS = 10

/** What may be a key: an escape, two of them, and Alt with a character that also begins a sequence. */
const UNDECIDED = new RegExp(String.raw`^\u{1B}{1,2}[\[\]OP_]?$`, "u")
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const CONTROL = /[\u0000-\u001F]/
const CSI_END = /[^ -?]/
const STRING_END = new RegExp(String.raw`^(?:\u{7}|\u{1B}\\)`, "u")

/** Where the beginning of a paste's end marker stands at the end of the text, or the length of the text. */
function markerStart(text: string): number {
  for (let length = Math.min(PASTE_END.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(PASTE_END.slice(0, length))) return text.length - length
  return text.length
}

function pastedText(text: string): string {
  return stripAnsi(text)
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/(?![\n\t])\p{Cc}/gu, "")
}

type Sequence = { readonly end: number } & (
  | { readonly kind: "csi"; readonly parameters: string; readonly final: string }
  | { readonly kind: "keypad"; readonly parameters: string; readonly final: string }
  | { readonly kind: "console-function-key"; readonly final: string }
  | { readonly kind: "osc"; readonly payload: string }
  | { readonly kind: "paste-start" }
  | { readonly kind: "ignored" }
)

/** The sequence that begins at `start`; undefined when it is Alt with a key. */
function matchSequence(text: string, start: number): Sequence | "incomplete" | undefined {
  const introducer = text[start + 1]
  if (introducer === undefined) return "incomplete"
  if (introducer === "[") return matchCsi(text, start)
  if (introducer === "O") return matchKeypad(text, start)
  const opening = STRING_OPENINGS.get(introducer)
  if (opening === undefined) return undefined
  const first = text[start + 2]
  if (first === undefined) return "incomplete"
  return opening.test(first) ? matchString(text, start) : undefined
}

/** The first character of the strings that terminals send. After any other character the introducer was a key with Alt. */
const STRING_OPENINGS: ReadonlyMap<string, RegExp> = new Map([
  ["]", /[\dlL]/],
  ["P", /[\d>!]/],
  ["_", /G/],
])

function matchCsi(text: string, start: number): Sequence | "incomplete" | undefined {
  CSI.lastIndex = start
  const [whole = "", parameters = "", intermediates = "", final = ""] = CSI.exec(text) ?? []
  const end = start + whole.length
  if (parameters === "" && intermediates === "" && final === "[") {
    const letter = text[end]
    if (letter === undefined) return "incomplete"
    // The Linux console sends F1 to F5 this way.
    if (/[A-E]/.test(letter)) return { kind: "console-function-key", final: letter, end: end + 1 }
    return { kind: "ignored", end }
  }
  // rxvt ends keys with Shift in a character that is no final one elsewhere.
  if (/^\d+$/.test(parameters) && intermediates.startsWith("$"))
    return { kind: "csi", parameters, final: "$", end: start + 2 + parameters.length + 1 }
  if (final === "") return end === text.length ? "incomplete" : { kind: "ignored", end }
  if (intermediates !== "") return { kind: "ignored", end }
  if (parameters === "" && final === "M") return matchOldMouse(text, end)
  if (final === "~" && parameters === "200") return { kind: "paste-start", end }
  return { kind: "csi", parameters, final, end }
}

/** Three characters follow, which must not become text. */
function matchOldMouse(text: string, from: number): Sequence | "incomplete" {
  THREE_CHARACTERS.lastIndex = from
  const [characters] = THREE_CHARACTERS.exec(text) ?? []
  return characters === undefined ? "incomplete" : { kind: "ignored", end: from + characters.length }
}

function matchKeypad(text: string, start: number): Sequence | "incomplete" | undefined {
  KEYPAD.lastIndex = start
  const [whole = "", parameters = "", final = ""] = KEYPAD.exec(text) ?? []
  const end = start + whole.length
  if (final !== "") return { kind: "keypad", parameters, final, end }
  if (end === text.length) return "incomplete"
  return parameters === "" ? undefined : { kind: "ignored", end }
}

/** A string ends at BEL or ST. Any other control character interrupts it. */
function matchString(text: string, start: number): Sequence | "incomplete" {
  const from = start + 2
  const length = text.slice(from).search(CONTROL)
  if (length === -1) return "incomplete"
  const end = from + length
  const payload = text.slice(from, end)
  const isOsc = text[start + 1] === "]"
  if (text[end] === ESC && text[end + 1] === undefined) return "incomplete"
  const isEnded = text[end] === "\u{7}" || text.startsWith(`${ESC}\\`, end)
  if (!isEnded) return { kind: "ignored", end }
  const next = end + (text[end] === ESC ? 2 : 1)
  return isOsc ? { kind: "osc", payload, end: next } : { kind: "ignored", end: next }
}

const THREE_CHARACTERS = /.{3}/suy
const CSI = new RegExp(String.raw`\u{1B}\[([0-?]*)([ -\/]*)([@-~]?)`, "uy")
const KEYPAD = new RegExp(String.raw`\u{1B}O([\d;]*)([A-Za-z]?)`, "uy")

function sequenceEvents(sequence: Exclude<Sequence, { kind: "paste-start" }>, alt: boolean): readonly InputEvent[] {
  switch (sequence.kind) {
    case "csi":
      return csiEvents(sequence.parameters, sequence.final, alt)
    case "keypad":
      return keypadEvents(sequence.parameters, sequence.final, alt)
    case "console-function-key":
      return [key(`f${sequence.final.charCodeAt(0) - 64}`, { ...NONE, alt })]
    case "osc":
      return [{ type: "osc", payload: sequence.payload }]
    case "ignored":
      return []
    default:
      return assertNever(sequence)
  }
}

function csiEvents(parameters: string, final: string, alt: boolean): readonly InputEvent[] {
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
      return named(TILDE_KEYS.get(first), { ...NONE, shift: true })
    case "^":
      return named(TILDE_KEYS.get(first), { ...NONE, ctrl: true })
    case "@":
      return named(TILDE_KEYS.get(first), { ...NONE, ctrl: true, shift: true })
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
      return parameters === "" ? named(LETTER_KEYS.get(final.toUpperCase()), { ...NONE, shift: true }) : []
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
  return [key("o", { ...NONE, alt: true, shift: true }), ...characterKey(final)]
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

interface Modifiers {
  readonly shift: boolean
  readonly alt: boolean
  readonly ctrl: boolean
  readonly super: boolean
}

const NONE: Modifiers = { shift: false, alt: false, ctrl: false, super: false }

/** Shift 1, Alt 2, Ctrl 4, Super 8, Meta 32, plus 1. */
function modifiersOf(parameter: number): Modifiers {
  const bits = Math.max(0, parameter - 1)
  return {
    shift: (bits & 1) !== 0,
    alt: (bits & 2) !== 0 || (bits & 32) !== 0,
    ctrl: (bits & 4) !== 0,
    super: (bits & 8) !== 0,
  }
}

/** `name` is the name of a key, or the character on it. */
function key(name: string, modifiers: Modifiers = NONE, reported = ""): KeyPress {
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
function characterKey(character: string): readonly KeyPress[] {
  const control = controlKey(character)
  if (control !== undefined) return [control]
  // Damaged bytes and control characters of the second set are no text.
  if (character === "\u{FFFD}" || /^\p{Cc}$/u.test(character)) return []
  return [character === " " ? key("space") : key(character)]
}

/** The same with Alt. */
function altCharacter(character: string): readonly KeyPress[] {
  return characterKey(character).map(({ chord }) =>
    chord.startsWith("ctrl+") ? key(chord.slice("ctrl+".length), { ...NONE, ctrl: true, alt: true }) : altKey(chord),
  )
}

function altKey(name: string): KeyPress {
  return key(name, { ...NONE, alt: true })
}

function controlKey(character: string): KeyPress | undefined {
  const code = character.charCodeAt(0)
  if (code === 0x7f || code === 0x08) return key("backspace")
  if (code >= 32) return undefined
  if (character === "\r") return key("enter")
  if (character === "\t") return key("tab")
  if (character === ESC) return key("escape")
  if (code === 0) return key("space", { ...NONE, ctrl: true })
  return key(String.fromCodePoint(code + (code <= 26 ? 96 : 64)), { ...NONE, ctrl: true })
}
