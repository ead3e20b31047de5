import { isUtf8 } from "node:buffer"

/** How a text file is stored; edits keep it. */
export interface TextFormat {
  readonly encoding: "utf-8" | "utf-16le" | "utf-16be"
  readonly bom: boolean
  /** More than half of the lines end in CRLF. */
  readonly crlf: boolean
}

export interface DecodedText {
  /** Without the byte order mark; line endings unchanged. */
  readonly text: string
  readonly format: TextFormat
  /** False when invalid bytes were replaced, so that writing the text back would lose them. */
  readonly valid: boolean
}

const BOM = "\u{FEFF}"

/** UTF-16 if there is its byte order mark, otherwise UTF-8. */
export function detectEncoding(head: Uint8Array): Pick<TextFormat, "encoding" | "bom"> {
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: "utf-16le", bom: true }
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: "utf-16be", bom: true }
  return { encoding: "utf-8", bom: head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf }
}

export function decodeText(bytes: Uint8Array): DecodedText {
  const { encoding, bom } = detectEncoding(bytes)
  const text = new TextDecoder(encoding).decode(bytes)
  return { text, format: { encoding, bom, crlf: isMostlyCrlf(text) }, valid: isValid(bytes, encoding) }
}

/** Encodes a text in the format of its file; a byte order mark in the text is not duplicated. */
export function encodeText(text: string, { encoding, bom }: TextFormat): Uint8Array {
  const whole = (bom ? BOM : "") + (bom && text.startsWith(BOM) ? text.slice(1) : text)
  if (encoding === "utf-8") return new TextEncoder().encode(whole)
  const bytes = Buffer.from(whole, "utf16le")
  return encoding === "utf-16be" ? bytes.swap16() : bytes
}

/** Encodes new content with the line endings and format of the file it replaces, so that a CRLF file stays one. */
export function encodeLike(content: string, format: TextFormat): Uint8Array {
  return encodeText(format.crlf ? content.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n") : content, format)
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

function isValid(bytes: Uint8Array, encoding: TextFormat["encoding"]): boolean {
  if (encoding === "utf-8") return isUtf8(bytes)
  try {
    new TextDecoder(encoding, { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}
