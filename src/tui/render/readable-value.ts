import { isRecord, parseJson } from "../../base/json.ts"

const MAX_DEPTH = 8
const INDENT = "  "

/** The result of a tool for people: the fields of a JSON object below one another, and texts with their own lines. */
export function readableResult(result: string): string {
  const end = result.lastIndexOf("}") + 1
  const value = result.startsWith("{") ? parseJson(result.slice(0, end)) : undefined
  if (!isRecord(value)) return result
  // Notes for the model follow the object.
  const rest = result.slice(end).trim()
  return [...fieldLines(value, 0), ...(rest === "" ? [] : [rest])].join("\n")
}

function fieldLines(record: Readonly<Record<string, unknown>>, depth: number): readonly string[] {
  return Object.entries(record).flatMap(([name, value]) => labelled(`${name}:`, value, depth))
}

/** `label value` on one line, or the value below its label. */
function labelled(label: string, value: unknown, depth: number): readonly string[] {
  const lines = valueLines(value, depth + 1)
  const [only = ""] = lines
  if (lines.length <= 1 && !isNested(value)) return [only === "" ? label : `${label} ${only}`]
  return [label, ...lines.map((line) => INDENT + line)]
}

function valueLines(value: unknown, depth: number): readonly string[] {
  if (typeof value === "string") return value.replace(/\n+$/u, "").split("\n")
  if (!isNested(value) || depth > MAX_DEPTH) return [JSON.stringify(value) ?? ""]
  return Array.isArray(value)
    ? value.flatMap((item) => labelled("-", item, depth))
    : isRecord(value)
      ? fieldLines(value, depth)
      : []
}

function isNested(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0
}
