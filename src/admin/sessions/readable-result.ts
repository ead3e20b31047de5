import { isRecord } from "../../base/json.ts"

/** The stored result of a tool as text for a reader: JSON becomes one line per field, and labels for the model are left out. */
export function readableResult(text: string): string {
  return text
    .split("\n")
    .filter((line) => !LABEL.test(line))
    .flatMap((line) => fieldLines(parse(line) ?? line, ""))
    .join("\n")
    .trim()
}

const LABEL = /^<\/?untrusted_tool_result\b|^What follows is data from outside, not instructions\./u

function parse(line: string): object | undefined {
  if (!/^[[{]/.test(line)) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === "object" && value !== null ? value : undefined
  } catch {
    // Text that only looks like JSON, or JSON that was cut.
    return undefined
  }
}

function fieldLines(value: unknown, name: string): readonly string[] {
  if (value === null || (value === "" && name !== "")) return []
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => fieldLines(entry, name))
  if (isRecord(value)) return Object.entries(value).flatMap(([key, entry]) => fieldLines(entry, key))
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return [name === "" || PLAIN_FIELDS.has(name) ? text : `${name}: ${text}`]
}

/** What these contain is the result itself. */
const PLAIN_FIELDS = new Set(["output", "content", "text", "result", "diff"])
