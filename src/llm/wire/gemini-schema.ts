import { isRecord } from "../../base/json.ts"
import type { JsonSchema } from "../../protocol/tool.ts"

/**
 * A parameter schema as Gemini accepts it: only the words it knows, one type per node, lists of choices on text only. A property
 * may have any name; only schema nodes are changed.
 */
export function sanitiseForGemini(schema: JsonSchema): JsonSchema {
  const node = Object.fromEntries(
    Object.entries(withOneType(schema)).flatMap(([key, value]) => {
      const kept = keepKey(key, value)
      return kept === undefined ? [] : [[key, kept] as const]
    }),
  )
  return withItems(withKnownRequired(withTextChoices(withKnownFormat(node))))
}

const KNOWN_KEYS: ReadonlySet<string> = new Set([
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

/** The value under a known key, its schemas sanitised; undefined leaves the key out. */
function keepKey(key: string, value: unknown): unknown {
  if (!KNOWN_KEYS.has(key)) return undefined
  if (key === "properties") {
    if (!isRecord(value)) return undefined
    const properties = Object.entries(value).map(([name, inner]) => [name, sanitiseValue(inner)] as const)
    // An object that names no property must not carry the word at all.
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
  const solid = type.filter((name) => name !== "null")
  const nullable = solid.length < type.length ? { nullable: true } : {}
  if (solid.length === 1) return { ...rest, type: solid[0], ...nullable }
  return { ...rest, anyOf: solid.map((name: unknown) => ({ type: name })), ...nullable }
}

/** Texts know only these formats; numbers have their own, which are all known. */
function withKnownFormat(node: JsonSchema): JsonSchema {
  const { format, ...rest } = node
  return node["type"] !== "string" || format === "date-time" || format === "enum" ? node : rest
}

function withTextChoices(node: JsonSchema): JsonSchema {
  const { enum: choices, ...rest } = node
  if (choices === undefined) return node
  const type = node["type"] ?? "string"
  const texts = Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string" && choice !== "") : []
  return type !== "string" || texts.length === 0 ? rest : { ...rest, type, enum: texts }
}

function withKnownRequired(node: JsonSchema): JsonSchema {
  const { required, ...rest } = node
  if (required === undefined) return node
  const properties = isRecord(node["properties"]) ? node["properties"] : {}
  const known = Array.isArray(required)
    ? required.filter((name) => typeof name === "string" && Object.hasOwn(properties, name))
    : []
  return known.length === 0 ? rest : { ...rest, required: known }
}

/** A list must say what it is a list of. */
function withItems(node: JsonSchema): JsonSchema {
  return node["type"] === "array" && node["items"] === undefined ? { ...node, items: { type: "string" } } : node
}
