import { isRecord, parseJson, stringField } from "../base/json.ts"
import { scrubSurrogates } from "../base/text.ts"
import type { Part } from "../protocol/message.ts"

/** Prefix of a content column that holds JSON. Both editions write it; users cannot type the NUL. */
const PREFIX = "\u0000json:"

/** What a preview shows when a message has parts but no text. */
const NO_TEXT = "[multimodal content]"

/** The column value of a message's content: text as it is, parts behind the prefix. */
export function encodeContent(content: unknown): string | null {
  if (content === null || content === undefined) return null
  if (typeof content === "string") return scrubSurrogates(content)
  if (typeof content === "number") return String(content)
  if (typeof content === "boolean") return content ? "1" : "0"
  return PREFIX + scrubSurrogates(JSON.stringify(content))
}

/** Decodes a content column. When the text after the prefix is not JSON, calls `warn` and returns the column unchanged. */
export function decodeContent(stored: unknown, warn: (message: string) => void): unknown {
  if (typeof stored !== "string" || !stored.startsWith(PREFIX)) return stored
  const decoded = parseJson(stored.slice(PREFIX.length))
  if (decoded !== undefined) return decoded
  warn("The structured content of a stored message cannot be decoded. It is shown as raw text.")
  return stored
}

/** Decoded content as a message carries it: text, parts, or nothing. */
export function contentForMessage(decoded: unknown): string | readonly Part[] | null {
  if (decoded === null || decoded === undefined) return null
  if (typeof decoded === "string") return decoded
  const parts = partList(decoded)
  if (parts !== undefined) return parts.map(toPart)
  return JSON.stringify(decoded)
}

/** Decoded content as plain text, for previews, search results and lists. */
export function contentPreview(decoded: unknown): string {
  const parts = partList(decoded)
  if (parts === undefined) {
    const content = contentForMessage(decoded)
    return typeof content === "string" ? content : ""
  }
  const text = parts
    .map((part) => (typeof part === "string" ? part : textOfPart(part)))
    .filter((piece) => piece !== "")
    .join(" ")
    .trim()
  return text === "" ? NO_TEXT : text
}

/** Returns the parts of structured content. Tools of the Python edition may have stored them inside an envelope. */
function partList(decoded: unknown): readonly unknown[] | undefined {
  if (Array.isArray(decoded)) return decoded
  return isRecord(decoded) && Array.isArray(decoded["content"]) ? decoded["content"] : undefined
}

function textOfPart(part: unknown): string {
  return stringField(part, "type") === "text" ? (stringField(part, "text") ?? "") : ""
}

function toPart(value: unknown): Part {
  if (typeof value === "string") return { type: "text", text: value }
  if (isPart(value)) return value
  return { type: "text", text: `[${stringField(value, "type") ?? "unknown"} content]` }
}

function isPart(value: unknown): value is Part {
  if (!isRecord(value)) return false
  if (value["type"] === "text") return typeof value["text"] === "string"
  return value["type"] === "image_url" && stringField(value["image_url"], "url") !== undefined
}
