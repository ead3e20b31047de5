import { isUtf8 } from "node:buffer"

/** How a text file is stored: what an edit leaves as it is. */
export interface TextForm {
  readonly encoding: "utf-8" | "utf-16le" | "utf-16be"
  readonly bom: boolean
  /** More than half of the lines end in CRLF. */
  readonly crlf: boolean
}

export interface DecodedText {
  /** Without the byte order mark; line endings as they are. */
  readonly text: string
  readonly form: TextForm
  /** False when bytes had to be replaced, so that writing the text back would lose them. */
  readonly valid: boolean
}

const BOM = "\u{FEFF}"

/** A byte order mark says UTF-16; everything else is taken for UTF-8. */
export function encodingOf(head: Uint8Array): Pick<TextForm, "encoding" | "bom"> {
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: "utf-16le", bom: true }
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: "utf-16be", bom: true }
  return { encoding: "utf-8", bom: head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf }
}

export function decodeText(bytes: Uint8Array): DecodedText {
  const { encoding, bom } = encodingOf(bytes)
  const text = new TextDecoder(encoding).decode(bytes)
  return { text, form: { encoding, bom, crlf: isMostlyCrlf(text) }, valid: isValid(bytes, encoding) }
}

/** The bytes of a text in the form of the file it belongs to; a byte order mark of its own is not doubled. */
export function encodeText(text: string, { encoding, bom }: TextForm): Uint8Array {
  const whole = (bom ? BOM : "") + (bom && text.startsWith(BOM) ? text.slice(1) : text)
  if (encoding === "utf-8") return new TextEncoder().encode(whole)
  const bytes = Buffer.from(whole, "utf16le")
  return encoding === "utf-16be" ? bytes.swap16() : bytes
}

/** New content in the form of the file it replaces: an edit must not turn every line of a CRLF file into a change. */
export function inFormOf(content: string, form: TextForm): Uint8Array {
  return encodeText(form.crlf ? content.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n") : content, form)
}

export function isMostlyCrlf(text: string): boolean {
  let crlf = 0
  let lines = 0
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    lines += 1
    if (text.charCodeAt(at - 1) === 13) crlf += 1
  }
  return crlf > lines / 2
}

function isValid(bytes: Uint8Array, encoding: TextForm["encoding"]): boolean {
  if (encoding === "utf-8") return isUtf8(bytes)
  try {
    new TextDecoder(encoding, { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}
