import { isRecord, stringField } from "../../../base/json.ts"

/** One entry of a response's `output`, as received or as stored. */
export type Item = Readonly<Record<string, unknown>>

/** The text of a message item, including a refusal. */
export function messageItemText(item: Item): string {
  return partsOf(item)
    .map((part) => stringField(part, "text") ?? stringField(part, "refusal") ?? "")
    .join("")
}

export function partsOf(item: Item): readonly Item[] {
  return Array.isArray(item["content"]) ? item["content"].filter(isRecord) : []
}

/** The reasoning summary, or the reasoning itself, which open models send instead. */
export function reasoningItemText(item: Item): string {
  const summary = Array.isArray(item["summary"]) ? item["summary"].filter(isRecord) : []
  return (summary.length > 0 ? summary : partsOf(item))
    .map((part) => stringField(part, "text") ?? "")
    .filter((text) => text !== "")
    .join("\n\n")
}
