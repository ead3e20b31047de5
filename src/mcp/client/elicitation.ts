import { assertNever } from "../../base/assert-never.ts"
import { isRecord } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { visibleText } from "../../base/visible-text.ts"
import type { AskPort } from "../../toolkit/ports/ask.ts"

/** What a server receives for its question to the user. */
export interface ElicitationAnswer {
  readonly action: "accept" | "decline" | "cancel"
  readonly content?: Record<string, string | number | boolean | string[]>
}

export interface ElicitationQuestion {
  readonly message: string
  /** A form, as a JSON schema with flat properties. */
  readonly requestedSchema?: unknown
  /** A page that the user should open. */
  readonly url?: string
}

const DECLINE = "Decline"
const MAX_TEXT_CHARS = 1500
const MAX_FIELDS = 20

/** Asks the user what a server wants to know, one question per field. */
export async function askElicitation(
  question: ElicitationQuestion,
  { server, ask }: { readonly server: string; readonly ask: AskPort["ask"] },
): Promise<ElicitationAnswer> {
  const opening = `The MCP server ${server} asks: ${shown(question.message)}${secretWarning(question)}`
  if (question.url !== undefined) {
    return await askOnce(`${opening}\nIt wants you to open ${shown(question.url)}. Continue when that is done?`, ask)
  }
  const fields = fieldsOf(question.requestedSchema)
  if (fields.length === 0) return await askOnce(opening, ask)
  const content: NonNullable<ElicitationAnswer["content"]> = {}
  for (const [index, field] of fields.entries()) {
    const text = `${index === 0 ? `${opening}\n` : ""}${field.label}${field.required ? "" : " (optional)"}`
    const answer = await askField(text, field, ask)
    if (answer.kind === "ended") return { action: answer.action }
    if (answer.kind === "value") content[field.name] = answer.value
  }
  return { action: "accept", content }
}

async function askOnce(question: string, ask: AskPort["ask"]): Promise<ElicitationAnswer> {
  const outcome = await ask(asked(question, { choices: ["Accept", DECLINE], allowFreetext: false }))
  if (outcome.kind === "unattended") return { action: "decline" }
  if (outcome.kind !== "answer") return { action: "cancel" }
  return outcome.text === "Accept" ? { action: "accept", content: {} } : { action: "decline" }
}

interface Field {
  readonly name: string
  readonly label: string
  readonly required: boolean
  readonly hasDefault: boolean
  readonly type: "text" | "number" | "integer" | "boolean" | "choice" | "choices"
  /** What the user sees, and what the server receives. */
  readonly options: readonly { readonly title: string; readonly value: string }[]
}

type FieldAnswer =
  | { readonly kind: "value"; readonly value: string | number | boolean | string[] }
  | { readonly kind: "skipped" }
  | { readonly kind: "ended"; readonly action: "decline" | "cancel" }

async function askField(text: string, field: Field, ask: AskPort["ask"]): Promise<FieldAnswer> {
  const isFree = field.hasDefault || !["boolean", "choice"].includes(field.type)
  const titles = field.type === "boolean" ? ["Yes", "No"] : field.options.map(({ title }) => title)
  const hint = field.type === "choices" ? ` Several, separated by commas: ${titles.join(", ")}.` : ""
  const choices = [...(field.type === "choices" ? [] : titles), DECLINE]
  const outcome = await ask(asked(`${text}${hint}`, { choices, allowFreetext: isFree }))
  if (outcome.kind === "unattended") return { kind: "ended", action: "decline" }
  if (outcome.kind !== "answer") return { kind: "ended", action: "cancel" }
  if (outcome.text === DECLINE) return { kind: "ended", action: "decline" }
  return readAnswer(outcome.text.trim(), field)
}

function readAnswer(text: string, field: Field): FieldAnswer {
  // The SDK fills in the default of a field that is left out.
  if (text === "")
    return field.required && !field.hasDefault ? { kind: "ended", action: "cancel" } : { kind: "skipped" }
  const valueOf = (title: string): string | undefined =>
    field.options.find((option) => option.title === title || option.value === title)?.value
  switch (field.type) {
    case "boolean":
      return { kind: "value", value: /^(?:y|yes|true|1)$/iu.test(text) }
    case "number":
    case "integer": {
      const number = Number(text)
      const isValid = Number.isFinite(number) && (field.type === "number" || Number.isInteger(number))
      return isValid ? { kind: "value", value: number } : { kind: "ended", action: "cancel" }
    }
    case "choice": {
      const value = valueOf(text)
      return value === undefined ? { kind: "ended", action: "cancel" } : { kind: "value", value }
    }
    case "choices":
      return { kind: "value", value: text.split(",").flatMap((part) => valueOf(part.trim()) ?? []) }
    case "text":
      return { kind: "value", value: text }
    default:
      return assertNever(field.type)
  }
}

function fieldsOf(schema: unknown): readonly Field[] {
  if (!isRecord(schema) || !isRecord(schema["properties"])) return []
  const required = Array.isArray(schema["required"]) ? schema["required"] : []
  return Object.entries(schema["properties"])
    .slice(0, MAX_FIELDS)
    .flatMap(([name, property]) => (isRecord(property) ? [fieldOf(name, property, required.includes(name))] : []))
}

function fieldOf(name: string, property: Record<string, unknown>, required: boolean): Field {
  const { title, description, type, items, default: usual } = property
  const named = typeof title === "string" ? title : name
  const described = typeof description === "string" ? `${named}: ${description}` : named
  const label = shown(usual === undefined ? described : `${described} [${JSON.stringify(usual)} if left empty]`)
  const isList = type === "array" && isRecord(items)
  const options = optionsOf(isList ? items : property)
  const base = { name, label, required, options, hasDefault: property["default"] !== undefined }
  if (isList) return { ...base, type: "choices" }
  if (options.length > 0) return { ...base, type: "choice" }
  if (type === "boolean" || type === "number" || type === "integer") return { ...base, type }
  return { ...base, type: "text" }
}

/** `enum` with or without `enumNames`, or `oneOf`/`anyOf` of `{ const, title }`. */
function optionsOf(schema: Record<string, unknown>): Field["options"] {
  const values = schema["enum"]
  if (Array.isArray(values)) {
    const names = Array.isArray(schema["enumNames"]) ? schema["enumNames"] : []
    return values.map((value, index) => ({ value: String(value), title: shown(String(names[index] ?? value)) }))
  }
  const branches = schema["oneOf"] ?? schema["anyOf"]
  if (!Array.isArray(branches)) return []
  return branches.flatMap((branch) => {
    const value = isRecord(branch) ? branch["const"] : undefined
    if (!isRecord(branch) || typeof value !== "string") return []
    return [{ value, title: shown(typeof branch["title"] === "string" ? branch["title"] : value) }]
  })
}

function asked(
  question: string,
  options: { readonly choices: readonly string[]; readonly allowFreetext: boolean },
): Parameters<AskPort["ask"]>[0] {
  return { kind: "question", asker: "hermes", question, ...options }
}

/** The protocol forbids servers to ask for secrets in a form; one that does may imitate another program. */
function secretWarning({ message, requestedSchema }: ElicitationQuestion): string {
  if (!SECRET_WORD.test(`${message} ${JSON.stringify(requestedSchema ?? {})}`)) return ""
  return "\nThis text is from the server, not from Hermes, and what you enter is sent to it. Do not enter a password or a key."
}

const SECRET_WORD = /pass(?:word|phrase|code)|\bpin\b|secret|token|api.?key|credential|private.?key|card.?number/iu

/** Text of a server, on its way to the user's terminal. */
function shown(text: string): string {
  return ellipsize(visibleText(text).text, MAX_TEXT_CHARS)
}
