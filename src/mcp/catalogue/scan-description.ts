import { isRecord } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { visibleText } from "../../base/visible-text.ts"
import { scanThreats } from "../../knowledge/threat-scan.ts"

const MAX_SHOWN_CHARS = 160
/** No honest description of a tool is that long, and each one is sent to a model. */
const MAX_DESCRIPTION_CHARS = 64_000

/**
 * Searches what a server says about a tool for instructions to the model. Returns a sentence that names the line, or undefined when
 * there is nothing to report.
 */
export function descriptionThreat(fields: Readonly<Record<string, unknown>>): string | undefined {
  const texts = textsIn(fields, "")
  const length = texts.reduce((sum, { text }) => sum + text.length, 0)
  if (length > MAX_DESCRIPTION_CHARS) return `the description is ${Math.round(length / 1000)} KB long`
  for (const { path, text } of texts) {
    const threats = scanThreats(text, "context")
    if (threats.length === 0) continue
    const lines = text.split("\n")
    const index = Math.max(
      0,
      lines.findIndex((line) => scanThreats(line, "context").length > 0),
    )
    const shown = ellipsize(visibleText((lines[index] ?? "").trim()).text, MAX_SHOWN_CHARS)
    return `${path}, line ${index + 1}: "${shown}" (${threats.join(", ")})`
  }
  return undefined
}

interface FoundText {
  readonly path: string
  readonly text: string
}

/** Every text of the description, names of parameters included, with its path. */
function textsIn(value: unknown, path: string): readonly FoundText[] {
  if (typeof value === "string") return [{ path, text: value }]
  if (Array.isArray(value)) return value.flatMap((item, index) => textsIn(item, `${path}[${index}]`))
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const inside = path === "" ? key : `${path}.${key}`
    return [...(path === "" ? [] : [{ path: `${path} (name)`, text: key }]), ...textsIn(inner, inside)]
  })
}
