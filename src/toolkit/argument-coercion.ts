import { isRecord, parseJson } from "../base/json.ts"
import type { JsonSchema } from "../protocol/tool.ts"

/**
 * Models often write `"42"` instead of a number. Converts such values to the type in the tool's parameter schema; a value that
 * cannot be converted stays unchanged and fails validation later. Never throws.
 */
export function coerceArguments(
  args: Readonly<Record<string, unknown>>,
  parameters: JsonSchema | undefined,
): Readonly<Record<string, unknown>> {
  const properties = parameters?.["properties"]
  if (!isRecord(properties)) return args
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      Object.hasOwn(properties, name) ? coerceValue(value, properties[name]) : value,
    ]),
  )
}

function coerceValue(value: unknown, schema: unknown): unknown {
  const { types, nullable } = acceptedTypes(schema)
  if (value === null || types.length === 0) return value
  if (value === "null" && nullable) return null
  if (typeof value !== "string" && types.some((type) => isOfType(value, type))) return value
  for (const type of types) {
    const coerced = readAs(value, type)
    if (coerced !== undefined) return coerced
  }
  return types.includes("array") ? [value] : value
}

/** The value converted to `type`, or undefined when that is not possible. */
function readAs(value: unknown, type: string): unknown {
  if (typeof value !== "string") return undefined
  switch (type) {
    case "string":
      return value
    case "integer":
      return readInteger(value)
    case "number":
      return readNumber(value)
    case "boolean":
      return readBoolean(value)
    case "array":
    case "object": {
      const parsed = parseJson(value)
      return isOfType(parsed, type) ? parsed : undefined
    }
    default:
      return undefined
  }
}

// Number() alone would also accept "", "0x10" and "Infinity".
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/iu

function readNumber(text: string): number | undefined {
  const trimmed = text.trim()
  if (!DECIMAL.test(trimmed)) return undefined
  const number = Number(trimmed)
  return Number.isFinite(number) ? number : undefined
}

/** Beyond the safe range a number would silently lose digits, so the text stays. */
function readInteger(text: string): number | undefined {
  const number = readNumber(text)
  return Number.isSafeInteger(number) ? number : undefined
}

function readBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  return word === "true" ? true : word === "false" ? false : undefined
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "array":
      return Array.isArray(value)
    case "object":
      return isRecord(value)
    case "integer":
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

/** The JSON types a schema accepts, in its order: from `type`, or from the branches of `anyOf`/`oneOf`. */
function acceptedTypes(schema: unknown): { readonly types: readonly string[]; readonly nullable: boolean } {
  if (!isRecord(schema)) return { types: [], nullable: false }
  const branches = [schema["anyOf"], schema["oneOf"]].flatMap((list) => (Array.isArray(list) ? list : []))
  const inner = branches.map((branch) => acceptedTypes(branch))
  const own = [schema["type"]].flat().filter((type) => typeof type === "string")
  const types = [...own, ...inner.flatMap((branch) => branch.types)]
  return {
    types: types.filter((type) => type !== "null"),
    nullable: schema["nullable"] === true || own.includes("null") || inner.some((branch) => branch.nullable),
  }
}
