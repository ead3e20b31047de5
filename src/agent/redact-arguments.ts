import { isRecord, parseJson } from "../base/json.ts"

type Redact = (text: string) => string

/** Masks secrets in every string of the arguments and keeps their JSON structure. */
export function redactArguments(
  args: Readonly<Record<string, unknown>>,
  redact: Redact,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, redactValue(name, value, redact)]))
}

/**
 * The same for arguments as JSON text. Masking the text directly could remove the backslash of an escaped quote and leave invalid
 * JSON. Text without secrets is returned unchanged.
 */
export function redactArgumentText(text: string, redact: Redact): string {
  const parsed = parseJson(text)
  if (!isRecord(parsed)) return redact(text)
  const before = JSON.stringify(parsed)
  const after = JSON.stringify(redactArguments(parsed, redact))
  return after === before ? text : after
}

function redactValue(name: string, value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redactNamed(name, redact(value), redact)
  if (Array.isArray(value)) return value.map((item: unknown) => redactValue(name, item, redact))
  return isRecord(value) ? redactArguments(value, redact) : value
}

/** The redactor masks fields such as `password` by name, so it must see the name too. */
function redactNamed(name: string, value: string, redact: Redact): string {
  const field = parseJson(redact(JSON.stringify({ [name]: value })))
  const masked = isRecord(field) ? field[name] : undefined
  return typeof masked === "string" ? masked : value
}
