import { isRecord, parseJson } from "../../base/json.ts"

/** The contents of an error body, independent of the server's format. */
export interface ErrorBody {
  /** The body as JSON, or undefined. */
  readonly parsed: unknown
  /** The status in the body, for errors inside a stream. */
  readonly status: number | null
  /** `error.code`, `error.type`, or a code of an outer or nested error; empty without one. */
  readonly code: string
  /** The outermost message, untruncated; empty without one. */
  readonly message: string
  /** One short line for the user; an HTML page is only mentioned. */
  readonly summary: string
  /** The body is an HTML page. */
  readonly isHtml: boolean
  /** All messages, untruncated. */
  readonly detail: string
  /** All messages and codes in lower case, for the classification rules. */
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
  // Aggregators send "Provider returned error" and nest the provider's own message.
  const message = messages.at(-1) ?? ""
  return {
    parsed,
    status: statusIn(error) ?? statusIn(parsed),
    code: codes[0] ?? "",
    message: outer,
    summary: flattenLines(message === outer || outer === "" ? message : `${outer} (${message})`),
    isHtml: false,
    detail: joined(messages),
    text: joined([...messages, ...codes]).toLowerCase(),
  }
}

export function flattenLines(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ").trim()
  return flat.length > 300 ? `${flat.slice(0, 297)}...` : flat
}

function plainBody(body: string): ErrorBody {
  // The text of a proxy's error page is about the page, not about the request.
  const html = /^\s*<(!doctype|html)/i.test(body)
  const message = html ? "" : body.trim()
  return {
    parsed: undefined,
    status: null,
    code: "",
    message,
    summary: html ? "an HTML page instead of JSON" : flattenLines(message),
    isHtml: html,
    detail: message,
    text: message.toLowerCase(),
  }
}

/** Gemini wraps its error object in a list. */
function unwrapped(parsed: unknown): Record<string, unknown> | undefined {
  const value: unknown = Array.isArray(parsed) ? parsed[0] : parsed
  return isRecord(value) ? value : undefined
}

/**
 * Errors nested in the error: of the provider behind an aggregator, of Azure's content filter, of a Responses stream.
 */
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

/** Google uses `status`, Amazon `__type`. */
function codesOf(value: Readonly<Record<string, unknown>>): readonly string[] {
  return ["code", "type", "status", "__type"].flatMap((field) => {
    const code = value[field]
    // `type: "error"` is the name of a stream event, not a code.
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
