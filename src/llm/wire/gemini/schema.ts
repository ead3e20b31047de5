import { isRecord } from "../../../base/json.ts"
import type { JsonSchema } from "../../../protocol/tool.ts"

/**
 * Converts a parameter schema to what Gemini accepts: only supported keywords, one type per node, and `enum` only on
 * strings. Property names are not keywords and stay.
 */
export function sanitiseForGemini(schema: JsonSchema): JsonSchema {
  const node = Object.fromEntries(
    Object.entries(withOneType(schema)).flatMap(([key, value]) => {
      const kept = keptValue(key, value)
      return kept === undefined ? [] : [[key, kept] as const]
    }),
  )
  return withItems(withExistingRequired(withStringEnum(withSupportedFormat(node))))
}

const SUPPORTED_KEYWORDS: ReadonlySet<string> = new Set([
  "type",
  "format",
  "title",
  "description",
  "nullable",
  "enum",
  "maxItems",
  "minItems",
  "properties",
  "required",
  "minProperties",
  "maxProperties",
  "minLength",
  "maxLength",
  "pattern",
  "example",
  "anyOf",
  "propertyOrdering",
  "default",
  "items",
  "minimum",
  "maximum",
])

/** The value of a supported keyword with its subschemas sanitised; undefined omits the keyword. */
function keptValue(key: string, value: unknown): unknown {
  if (!SUPPORTED_KEYWORDS.has(key)) return undefined
  if (key === "properties") {
    if (!isRecord(value)) return undefined
    const properties = Object.entries(value).map(([name, inner]) => [name, sanitiseValue(inner)] as const)
    // Gemini rejects an empty `properties`.
    return properties.length === 0 ? undefined : Object.fromEntries(properties)
  }
  if (key === "items") return sanitiseValue(Array.isArray(value) ? value[0] : value)
  if (key === "anyOf") return Array.isArray(value) ? value.map(sanitiseValue) : undefined
  return value
}

function sanitiseValue(value: unknown): JsonSchema {
  if (typeof value === "string") return sanitiseForGemini({ type: value })
  return isRecord(value) ? sanitiseForGemini(value) : {}
}

function withOneType(schema: JsonSchema): JsonSchema {
  const { type, ...rest } = schema
  if (!Array.isArray(type)) return schema
  const nonNull = type.filter((name) => name !== "null")
  const nullable = nonNull.length < type.length ? { nullable: true } : {}
  if (nonNull.length === 1) return { ...rest, type: nonNull[0], ...nullable }
  return { ...rest, anyOf: nonNull.map((name: unknown) => ({ type: name })), ...nullable }
}

/** Strings support only these formats; Gemini supports all number formats. */
function withSupportedFormat(node: JsonSchema): JsonSchema {
  const { format, ...rest } = node
  return node["type"] !== "string" || format === "date-time" || format === "enum" ? node : rest
}

function withStringEnum(node: JsonSchema): JsonSchema {
  const { enum: choices, ...rest } = node
  if (choices === undefined) return node
  const type = node["type"] ?? "string"
  const values = Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string" && choice !== "") : []
  return type !== "string" || values.length === 0 ? rest : { ...rest, type, enum: values }
}

function withExistingRequired(node: JsonSchema): JsonSchema {
  const { required, ...rest } = node
  if (required === undefined) return node
  const properties = isRecord(node["properties"]) ? node["properties"] : {}
  const known = Array.isArray(required)
    ? required.filter((name) => typeof name === "string" && Object.hasOwn(properties, name))
    : []
  return known.length === 0 ? rest : { ...rest, required: known }
}

/** Gemini requires `items` on arrays. */
function withItems(node: JsonSchema): JsonSchema {
  return node["type"] === "array" && node["items"] === undefined ? { ...node, items: { type: "string" } } : node
}
