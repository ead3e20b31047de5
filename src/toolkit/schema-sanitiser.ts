import { isRecord } from "../base/json.ts"
import type { JsonSchema } from "../protocol/tool.ts"

/**
 * Converts a parameter schema to what every provider accepts: an object with `properties`, no null unions, no combinators at the
 * top level. Never throws, even for third-party schemas (MCP, plugins).
 */
export function sanitiseParameters(parameters: unknown): JsonSchema {
  const source = typeof parameters === "string" ? { type: parameters } : parameters
  if (!isRecord(source)) return { type: "object", properties: {} }
  // A schema with properties is already an object; a combinator next to them would only narrow it.
  const top = sanitiseNode("properties" in source ? withoutKeys(source, TOP_LEVEL_FORBIDDEN) : source)
  const kept = withoutKeys(top, TOP_LEVEL_FORBIDDEN)
  return withRequiredInProperties({
    ...kept,
    type: "object",
    properties: isRecord(kept["properties"]) ? kept["properties"] : {},
  })
}

/**
 * A copy without `pattern` and `format`, for servers that compile schemas to a grammar and do not support these. A property named
 * `pattern` stays, since only schema nodes change.
 */
export function stripPatternAndFormat(schema: JsonSchema): JsonSchema {
  return mapSubschemas(withoutKeys(schema, GRAMMAR_HOSTILE), (inner) =>
    isRecord(inner) ? stripPatternAndFormat(inner) : inner,
  )
}

const TOP_LEVEL_FORBIDDEN: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "enum", "not"])
const GRAMMAR_HOSTILE: ReadonlySet<string> = new Set(["pattern", "format"])
const REF_SIBLINGS: ReadonlySet<string> = new Set(["default"])
const KEPT_AROUND_NULLABLE = ["title", "description", "default", "examples"] as const

const SINGLE_SCHEMA_KEYS: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "additionalItems",
  "contains",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
  "unevaluatedItems",
  "unevaluatedProperties",
])
const SCHEMA_LIST_KEYS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems", "items"])
const SCHEMA_MAP_KEYS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "$defs",
  "definitions",
])

function sanitiseSchema(schema: unknown): unknown {
  if (typeof schema === "string") return sanitiseNode({ type: schema })
  return isRecord(schema) ? sanitiseNode(schema) : schema
}

function sanitiseNode(schema: JsonSchema): JsonSchema {
  const single = withSingleType(withoutNullBranch(schema))
  const node = mapSubschemas("$ref" in single ? withoutKeys(single, REF_SIBLINGS) : single, sanitiseSchema)
  if (node["type"] !== "object") return node
  return withRequiredInProperties(isRecord(node["properties"]) ? node : { ...node, properties: {} })
}

/** `anyOf`/`oneOf` of one branch and null is that branch, nullable. */
function withoutNullBranch(schema: JsonSchema): JsonSchema {
  for (const key of ["anyOf", "oneOf"]) {
    const branches = schema[key]
    if (!Array.isArray(branches) || branches.length !== 2) continue
    const solid = branches.filter((branch) => !isNullSchema(branch))
    const [branch] = solid
    if (solid.length !== 1 || (!isRecord(branch) && typeof branch !== "string")) continue
    const outer = Object.fromEntries(
      KEPT_AROUND_NULLABLE.flatMap((name) => (name in schema ? [[name, schema[name]]] : [])),
    )
    return { ...withoutNullBranch(isRecord(branch) ? branch : { type: branch }), nullable: true, ...outer }
  }
  return schema
}

function isNullSchema(schema: unknown): boolean {
  return schema === "null" || (isRecord(schema) && schema["type"] === "null")
}

/** `type: [X, "null"]` is X, nullable. */
function withSingleType(schema: JsonSchema): JsonSchema {
  const types = schema["type"]
  if (!Array.isArray(types) || types.length !== 2 || !types.includes("null")) return schema
  const solid: unknown = types.find((type) => type !== "null")
  return typeof solid === "string" ? { ...schema, type: solid, nullable: true } : schema
}

function withRequiredInProperties(schema: JsonSchema): JsonSchema {
  const { required, ...rest } = schema
  if (required === undefined) return schema
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {}
  const known = Array.isArray(required)
    ? required.filter((name) => typeof name === "string" && Object.hasOwn(properties, name))
    : []
  return known.length === 0 ? rest : { ...rest, required: known }
}

/** Applies `change` wherever JSON Schema expects a schema, and nowhere else (`required`, `enum` and `examples` are data). */
function mapSubschemas(schema: JsonSchema, change: (inner: unknown) => unknown): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (SCHEMA_MAP_KEYS.has(key) && isRecord(value)) {
        return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner)]))]
      }
      if (SCHEMA_LIST_KEYS.has(key) && Array.isArray(value)) return [key, value.map((inner) => change(inner))]
      if (SINGLE_SCHEMA_KEYS.has(key)) return [key, change(value)]
      return [key, value]
    }),
  )
}

function withoutKeys(schema: JsonSchema, keys: ReadonlySet<string>): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.has(key)))
}
