import { isRecord } from "../base/json.ts"
import type { JsonSchema } from "../protocol/tool.ts"
import { sanitiseParameters } from "../toolkit/schema-sanitiser.ts"

/** Converts the input schema of an MCP tool to what every provider accepts. Never throws. */
export function normaliseInputSchema(schema: unknown): JsonSchema {
  return sanitiseParameters(withoutDialect(renamed(schema)))
}

/** Older drafts keep shared schemas in `definitions`; current ones in `$defs`. */
function renamed(value: unknown, isSchema = true): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, isSchema))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (isSchema && key === "$ref" && typeof inner === "string")
        return [key, inner.replace(/^#\/definitions\//u, "#/$defs/")]
      // Below `properties`, keys are names of parameters: one may be called `definitions` or `$ref`.
      if (isSchema && key === "definitions" && isRecord(inner)) return ["$defs", renamed(inner, false)]
      if (DATA_KEYS.has(key) && isSchema) return [key, inner]
      return [key, renamed(inner, isSchema ? !NAME_MAPS.has(key) : true)]
    }),
  )
}

const NAME_MAPS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "dependentSchemas"])
const DATA_KEYS: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "required"])

function withoutDialect(schema: unknown): unknown {
  if (!isRecord(schema)) return schema
  const { $schema: _dialect, $id: _id, ...rest } = schema
  return rest
}
