import { isRecord, stringField } from "../../base/json.ts"

/** One entry of a response's output, as the server or the store gave it. */
export type Item = Readonly<Record<string, unknown>>

/** What a message item says, a refusal included. */
export function messageItemText(item: Item): string {
  return partsOf(item)
    .map((part) => stringField(part, "text") ?? stringField(part, "refusal") ?? "")
    .join("")
}

export function partsOf(item: Item): readonly Item[] {
  return Array.isArray(item["content"]) ? item["content"].filter(isRecord) : []
}

/** The summary where there is one; open models send the thoughts themselves. */
export function reasoningItemText(item: Item): string {
  const summary = Array.isArray(item["summary"]) ? item["summary"].filter(isRecord) : []
  return (summary.length > 0 ? summary : partsOf(item))
    .map((part) => stringField(part, "text") ?? "")
    .filter((text) => text !== "")
    .join("\n\n")
}
