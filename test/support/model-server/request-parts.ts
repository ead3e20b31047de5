import { isRecord } from "../../../src/base/json.ts"

/** The objects in a list field of a request; a field that is missing or no list has none. */
export function recordsIn(value: unknown, key: string): readonly Record<string, unknown>[] {
  const list = isRecord(value) ? value[key] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : []
}

/** The text of a content that is a string or a list of parts; every vendor calls the text of a part `text`. */
export function partsText(content: unknown): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content
    .filter(isRecord)
    .flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : []))
    .join("\n")
}
