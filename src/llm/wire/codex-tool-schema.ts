import { isRecord } from "../../base/json.ts"
import type { JsonSchema } from "../../protocol/tool.ts"

/**
 * A copy of a tool's schema that xAI's grammar compiler takes: without `pattern` and `format`, and without an enumeration whose
 * values hold a slash. A property that happens to be called `pattern` stays.
 */
export function schemaForXai(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => !isRefused(keyword, value))
      .map(([keyword, value]) => [keyword, copyOf(keyword, value)]),
  )
}

function isRefused(keyword: string, value: unknown): boolean {
  if (keyword === "pattern" || keyword === "format") return true
  return (
    keyword === "enum" &&
    Array.isArray(value) &&
    value.some((choice) => typeof choice === "string" && choice.includes("/"))
  )
}

function copyOf(keyword: string, value: unknown): unknown {
  if (HOLDS_DATA.has(keyword)) return value
  if (Array.isArray(value)) return value.map((inner: unknown) => (isRecord(inner) ? schemaForXai(inner) : inner))
  if (!isRecord(value)) return value
  if (!HOLDS_NAMES.has(keyword)) return schemaForXai(value)
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, isRecord(inner) ? schemaForXai(inner) : inner]),
  )
}

/** Below these the keys are names the tool chose, not words of JSON Schema. */
const HOLDS_NAMES: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
])

/** Below these stand values of the tool's own. */
const HOLDS_DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "required"])
