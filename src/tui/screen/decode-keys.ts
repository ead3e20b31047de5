import { stripAnsi } from "../../base/strip-ansi.ts"
import type { InputEvent } from "./key-event.ts"
import { altCharacter, altKey, characterKey, key } from "./key-press.ts"
import { matchSequence } from "./match-sequence.ts"
import { sequenceEvents } from "./sequence-events.ts"

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
