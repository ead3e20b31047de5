import { isRecord } from "../../../src/base/json.ts"

/** Returns the objects in a list field of a request, or none when the field is not a list. */
export function recordsIn(value: unknown, key: string): readonly Record<string, unknown>[] {
  const list = isRecord(value) ? value[key] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : []
}

/** Returns the text of a content field that is a string or a list of parts. All vendors name the text of a part `text`. */
export function partsText(content: unknown): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content
    .filter(isRecord)
    .flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : []))
    .join("\n")
}
