import { isRecord, parseJson } from "../../base/json.ts"

/** What an error body says, whatever form its server gives it. */
export interface ErrorBody {
  /** The body as JSON, or undefined. */
  readonly parsed: unknown
  /** The status the body names, for errors that come inside a stream. */
  readonly status: number | null
  /** `error.code`, `error.type` or a code above or below them; empty when there is none. */
  readonly code: string
  /** The body's own message, uncut; empty when it has none. */
  readonly message: string
  /** For a person: one short line, an HTML page only named. */
  readonly said: string
  /** It is a page for people. */
  readonly webPage: boolean
  /** All messages, uncut. */
  readonly detail: string
  /** For the rules: lower case, all messages and codes. */
  readonly text: string
}

export function readErrorBody(body: string): ErrorBody {
  const parsed = unwrapped(parseJson(body))
  if (parsed === undefined) return plainBody(body)
  const error = isRecord(parsed["error"]) ? parsed["error"] : parsed
  const inner = nestedError(error)
  const codes = [error, parsed, ...inner].flatMap(codesOf)
  const outer = messageOf(parsed)
  const messages = [outer, ...inner.map(messageOf)].filter((message) => message !== "")
  // Aggregators say "Provider returned error" and put what the provider said inside.
  const message = messages.at(-1) ?? ""
  return {
    parsed,
    status: statusIn(error) ?? statusIn(parsed),
    code: codes[0] ?? "",
    message: outer,
    said: oneLine(message === outer || outer === "" ? message : `${outer} (${message})`),
    webPage: false,
    detail: joined(messages),
    text: joined([...messages, ...codes]).toLowerCase(),
  }
}

export function oneLine(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ").trim()
  return flat.length > 300 ? `${flat.slice(0, 297)}...` : flat
}

function plainBody(body: string): ErrorBody {
  // The prose of a proxy's error page is about the page, not about the request.
  const html = /^\s*<(!doctype|html)/i.test(body)
  const message = html ? "" : body.trim()
  return {
    parsed: undefined,
    status: null,
    code: "",
    message,
    said: html ? "an HTML page instead of an answer" : oneLine(message),
    webPage: html,
    detail: message,
    text: message.toLowerCase(),
  }
}

/** Gemini wraps its error object in a list. */
function unwrapped(parsed: unknown): Record<string, unknown> | undefined {
  const value: unknown = Array.isArray(parsed) ? parsed[0] : parsed
  return isRecord(value) ? value : undefined
}

/** Errors inside the error: of the provider behind an aggregator, of Azure's filter, of a Responses stream. */
function nestedError(error: Readonly<Record<string, unknown>>): readonly Record<string, unknown>[] {
  const metadata = isRecord(error["metadata"]) ? error["metadata"] : {}
  const raw = typeof metadata["raw"] === "string" ? unwrapped(parseJson(metadata["raw"])) : undefined
  const response = isRecord(error["response"]) ? error["response"] : {}
  const found = [error["error"], raw?.["error"] ?? raw, error["innererror"], response["error"]]
  return found.flatMap((value) => (isRecord(value) ? [value] : []))
}

function messageOf(value: Readonly<Record<string, unknown>>): string {
  const error = value["error"]
  const nested = isRecord(error) ? error["message"] : error
  const candidates = [nested, value["message"], value["Message"], value["detail"], value["error_description"]]
  return candidates.find((candidate) => typeof candidate === "string" && candidate !== "")?.toString() ?? ""
}

/** `status` is Google's name for it, `__type` Amazon's. */
function codesOf(value: Readonly<Record<string, unknown>>): readonly string[] {
  return ["code", "type", "status", "__type"].flatMap((field) => {
    const code = value[field]
    // A stream event says `type: "error"`, which is its name and no code.
    return typeof code === "string" && code !== "" && code !== "error" ? [code] : []
  })
}

function statusIn(value: Readonly<Record<string, unknown>>): number | null {
  const candidates = [value["status_code"], value["statusCode"], value["status"], value["code"]]
  const status = candidates.find((candidate) => typeof candidate === "number" && candidate >= 400 && candidate <= 599)
  return typeof status === "number" ? status : null
}

function joined(parts: readonly string[]): string {
  return parts.reduce((whole, part) => (whole.includes(part) ? whole : `${whole} ${part}`.trim()), "")
}
