import { isRecord } from "../../../base/json.ts"
import type { JsonSchema } from "../../../protocol/tool.ts"

/**
 * A copy of a tool's schema that xAI's grammar compiler accepts: without `pattern`, `format` and enums whose values
 * contain a slash. A property named `pattern` stays.
 */
export function schemaForXai(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => !isRejected(keyword, value))
      .map(([keyword, value]) => [keyword, copyValue(keyword, value)]),
  )
}

function isRejected(keyword: string, value: unknown): boolean {
  if (keyword === "pattern" || keyword === "format") return true
  return (
    keyword === "enum" &&
    Array.isArray(value) &&
    value.some((choice) => typeof choice === "string" && choice.includes("/"))
  )
}

function copyValue(keyword: string, value: unknown): unknown {
  if (DATA_KEYWORDS.has(keyword)) return value
  if (Array.isArray(value)) return value.map((inner: unknown) => (isRecord(inner) ? schemaForXai(inner) : inner))
  if (!isRecord(value)) return value
  if (!NAME_MAPS.has(keyword)) return schemaForXai(value)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, isRecord(inner) ? schemaForXai(inner) : inner]),
  )
}

/** Keywords whose keys are names chosen by the tool, not JSON Schema keywords. */
const NAME_MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
])

/** Keywords whose values are data, not schemas. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "required"])
