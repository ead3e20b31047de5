import { isRecord } from "../../../base/json.ts"
import type { JsonSchema } from "../../../protocol/tool.ts"

/**
 * Converts a parameter schema to what Moonshot's servers accept: every node has a type unless it is an `anyOf` or a
 * `$ref`, and no node is nullable. The input has already been sanitised for all providers.
 */
export function moonshotSchema(schema: JsonSchema): JsonSchema {
  const { nullable: _nullable, ...plain } = schema
  if ("$ref" in plain) return plain
  const branches = plain["anyOf"]
  if (Array.isArray(branches)) return anyOfNode(plain, branches)
  const node = withChildren(withoutEmptyEnumValues(plain))
  return typeof node["type"] === "string" ? node : { type: impliedType(node), ...withoutKey(node, "type") }
}

/** An `anyOf` node must not have a `type`; a single branch next to null replaces it. */
function anyOfNode(schema: JsonSchema, branches: readonly unknown[]): JsonSchema {
  const outer = withoutKey(withoutKey(schema, "type"), "anyOf")
  const nonNull = branches.filter(isRecord).filter((branch) => branch["type"] !== "null")
  const [only] = nonNull
  if (only === undefined) return moonshotSchema({ ...outer, type: schema["type"] })
  if (nonNull.length === 1) return moonshotSchema({ ...only, ...outer })
  return { ...withChildren(outer), anyOf: nonNull.map(moonshotSchema) }
}

function withoutEmptyEnumValues(schema: JsonSchema): JsonSchema {
  const values = schema["enum"]
  if (!Array.isArray(values)) return schema
  const kept = values.filter((value) => value !== null && value !== "")
  return kept.length === 0 ? withoutKey(schema, "enum") : { ...schema, enum: kept }
}

function withChildren(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (SCHEMA_MAPS.has(key) && isRecord(value)) return [key, mapValues(value)]
      if (SCHEMAS.has(key) && isRecord(value)) return [key, moonshotSchema(value)]
      if (SCHEMA_LISTS.has(key) && Array.isArray(value)) {
        return [key, value.map((inner: unknown) => (isRecord(inner) ? moonshotSchema(inner) : inner))]
      }
      return [key, value]
    }),
  )
}

const SCHEMA_MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions"])
const SCHEMAS: ReadonlySet<string> = new Set(["items", "additionalProperties", "not"])
const SCHEMA_LISTS: ReadonlySet<string> = new Set(["oneOf", "allOf", "prefixItems"])

function mapValues(schemas: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, inner]) => [name, isRecord(inner) ? moonshotSchema(inner) : inner]),
  )
}

function impliedType(schema: JsonSchema): string {
  if (isRecord(schema["properties"])) return "object"
  if ("items" in schema || "prefixItems" in schema) return "array"
  const values: unknown = schema["enum"]
  const example: unknown = Array.isArray(values) ? values[0] : schema["const"]
  if (typeof example === "number") return Number.isInteger(example) ? "integer" : "number"
  return typeof example === "boolean" ? "boolean" : "string"
}

function withoutKey(schema: JsonSchema, dropped: string): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== dropped))
}
