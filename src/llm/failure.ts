import { assertNever } from "../base/assert-never.ts"
import { errorCode, errorMessage } from "../base/system-error.ts"
import { isRecord, parseJson } from "../base/json.ts"

/** Why a model call failed. The words are shared with the P-edition and appear in `stream-json`. */
export type FailureReason =
  | "auth"
  | "billing"
  | "rate_limit"
  | "overloaded"
  | "server_error"
  | "timeout"
  | "context_overflow"
  | "payload_too_large"
  | "model_not_found"
  | "content_policy_blocked"
  | "format_error"
  | "unknown"

/** A failure, classified once where it enters. Callers read the fields; nobody looks at message text again. */
export interface LlmFailure {
  readonly reason: FailureReason
  readonly status: number | null
  /** One sentence for a person: provider, cause, next step. */
  readonly message: string
  readonly retryable: boolean
  /** What the server asked us to wait, if it said so. */
  readonly retryAfterMs?: number
}

export interface FailureContext {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  /** Epoch milliseconds, to turn an HTTP date into a wait. */
  readonly now: number
}

/** The server answered with an error status. */
export function classifyResponse(
  response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string | undefined>>
    readonly body: string
  },
  context: FailureContext,
): LlmFailure {
  const said = serverSaid(response.body)
  const reason = reasonOfStatus(response.status, said.toLowerCase())
  const wait = retryAfterMs(response.headers["retry-after"], context.now)
  return {
    reason,
    status: response.status,
    message: sentence(reason, { ...context, status: response.status, said }),
    retryable: RETRYABLE[reason],
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  }
}

/** The request never got a proper answer: refused, reset, timed out, TLS trouble, a stream that was no stream. */
export function classifyTransport(error: unknown, context: FailureContext): LlmFailure {
  const code = errorCode(error) ?? codeOfCause(error)
  const explained =
    code === undefined ? errorMessage(error) : (TRANSPORT_SENTENCES[code] ?? `${errorMessage(error)} (${code})`)
  return {
    reason: "timeout",
    status: null,
    message: `${context.provider} at ${context.baseUrl} could not be reached: ${explained}`,
    retryable: code !== "ENOTFOUND" && code !== "ERR_INVALID_URL",
  }
}

/** The server answered 200, but not with a reply of this wire. */
export function classifyMalformed(what: string, context: FailureContext): LlmFailure {
  return {
    reason: "server_error",
    status: null,
    message: `${context.provider} at ${context.baseUrl} answered with ${what}; check that the address is a model server`,
    retryable: true,
  }
}

const RETRYABLE: Record<FailureReason, boolean> = {
  auth: false,
  billing: false,
  rate_limit: true,
  overloaded: true,
  server_error: true,
  timeout: true,
  context_overflow: false,
  payload_too_large: false,
  model_not_found: false,
  content_policy_blocked: false,
  format_error: false,
  unknown: true,
}

function reasonOfStatus(status: number, text: string): FailureReason {
  if (status === 401 || status === 403) return "auth"
  if (status === 402) return "billing"
  if (status === 404) return text.includes("model") ? "model_not_found" : "unknown"
  if (status === 408) return "timeout"
  if (status === 413) return "payload_too_large"
  if (status === 429) return text.includes("insufficient_quota") ? "billing" : "rate_limit"
  if (status === 503 || status === 529) return "overloaded"
  if (status >= 500) return "server_error"
  if (status === 400 && OVERFLOW.some((phrase) => text.includes(phrase))) return "context_overflow"
  return "format_error"
}

const OVERFLOW = [
  "context_length_exceeded",
  "maximum context length",
  "context window",
  "prompt is too long",
  "too many tokens",
]

function sentence(
  reason: FailureReason,
  facts: FailureContext & { readonly status: number; readonly said: string },
): string {
  const said = facts.said === "" ? "" : `: ${facts.said}`
  const who = `${facts.provider} (HTTP ${facts.status})`
  switch (reason) {
    case "auth":
      return `${who} refused the key${said}. Check it with \`hermes config show\``
    case "billing":
      return `${who} says the account has no credit${said}`
    case "rate_limit":
      return `${who} limits the number of requests${said}. Wait a moment or choose another model`
    case "overloaded":
      return `${who} is overloaded${said}. Try again in a moment`
    case "model_not_found":
      return `${who} does not know the model ${facts.model}${said}. Choose another with --model`
    case "context_overflow":
      return `${who} says the conversation is longer than ${facts.model} can read${said}`
    case "payload_too_large":
      return `${who} says the request is too large${said}`
    case "content_policy_blocked":
    case "format_error":
    case "server_error":
    case "timeout":
    case "unknown":
      return `${who} answered with an error${said}`
    default:
      return assertNever(reason)
  }
}

/** The server's own words, short and on one line; an HTML page is only named. */
function serverSaid(body: string): string {
  const parsed = parseJson(body)
  const error = isRecord(parsed) ? (parsed["error"] ?? parsed) : undefined
  const text =
    typeof error === "string"
      ? error
      : isRecord(error) && typeof error["message"] === "string"
        ? error["message"]
        : undefined
  if (text !== undefined) return oneLine(text)
  if (/^\s*<(!doctype|html)/i.test(body)) return "an HTML page instead of an answer"
  return oneLine(body)
}

function oneLine(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ").trim()
  return flat.length > 300 ? `${flat.slice(0, 297)}...` : flat
}

const MAX_SERVER_WAIT_MS = 120_000

function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header.trim() === "") return undefined
  const seconds = Number(header)
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), MAX_SERVER_WAIT_MS) : undefined
}

function codeOfCause(error: unknown): string | undefined {
  let current: unknown = error
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    const code = errorCode(current)
    if (code !== undefined) return code
    current = current.cause
  }
  return undefined
}

const TRANSPORT_SENTENCES: Record<string, string> = {
  ECONNREFUSED: "nothing listens at that address",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while sending",
  ENOTFOUND: "the host name is unknown",
  EAI_AGAIN: "the host name could not be looked up; is the network up?",
  ENETUNREACH: "the network is unreachable",
  EHOSTUNREACH: "the host is unreachable",
  ETIMEDOUT: "the connection timed out",
  ERR_INVALID_URL: "the address is not a URL",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate chain is self-signed",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate cannot be verified",
}
