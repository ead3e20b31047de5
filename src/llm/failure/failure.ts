import { errorCode, errorMessage } from "../../base/system-error.ts"
import { parseAvailableOutputTokens, parseImageLimit, parseContextWindow } from "./error-limits.ts"
import { flattenLines, readErrorBody } from "./error-body.ts"
import { NO_IMAGES, NO_STREAMING, THINKING_REQUIRED } from "./error-phrases.ts"
import { applyRules } from "./classification-rules.ts"
import type { Classification } from "./classification-rules.ts"
import { explainTransportError, failureMessage, transportFailureMessage } from "./failure-message.ts"
import type { MessageFacts } from "./failure-message.ts"
import { parseRateLimits, exhaustedForSeconds } from "./rate-limit-headers.ts"
import { findResetAt, findRetryDelayMs } from "./reset-time.ts"

/** Why a model call failed. The values are shared with the Python edition and appear in `stream-json`. */
export type FailureReason = Classification["reason"]

/** A failed model call, classified once when it occurs. Callers decide from the fields, never from message text. */
export interface LlmFailure extends Classification {
  readonly status: number | null
  /** One sentence for the user: provider, cause, next step. */
  readonly message: string
  /** All messages of the server or the connection, untruncated; never shown to the user. */
  readonly detail: string
  /** The wait that the server requested, at most two minutes; absent without one. */
  readonly retryAfterMs?: number
  /** The code of the body, e.g. `usage_limit_reached`. */
  readonly errorCode?: string
  /** When the limit resets, in epoch seconds, if the server sent it. */
  readonly resetAt?: number
  /** The context window in the server's rejection of a request that is too long. */
  readonly windowTokens?: number
  /** Only the requested output limit was too high, not the conversation: this many output tokens are available. */
  readonly availableOutputTokens?: number
  /** The image limits in the server's rejection of an image that is too large. */
  readonly imageLimit?: { readonly maxSide?: number; readonly maxBytes?: number }
  /** The model accepts no images; the same request without them may succeed. */
  readonly refusesImages?: boolean
  /** A tool loop must begin with thinking that the history does not have; the same request with thinking disabled may succeed. */
  readonly requiresThinking?: boolean
  /** The server rejects the `stream_options` parameter; the same request without it may succeed. */
  readonly refusesStreamOptions?: boolean
  /** The server, or the permissions of the account, allow no streaming; the same request without it may succeed. */
  readonly refusesStreaming?: boolean
  /** A rate limit of the whole account is exhausted for this many seconds. */
  readonly limitExhaustedSeconds?: number
  /** The server responded, but without a usable reply; retrying at the same endpoint rarely helps. */
  readonly invalidReply?: boolean
  /** The response cannot come from a model server. */
  readonly notModelServer?: boolean
  /** The connection broke or went silent; a new one may work. */
  readonly connectionLost?: boolean
  /** The rejection may only mean that the conversation is too long: shorten it before the next request. */
  readonly mayBeTooLong?: boolean
}

export interface FailureContext {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  /** Epoch milliseconds, to convert between delays and timestamps. */
  readonly now: number
  /** The size of the request; absent for a probe, which is never too long. */
  readonly approxTokens?: number
  readonly numMessages?: number
  readonly contextLength?: number
  /** False when the request carried no key. */
  readonly sentKey?: boolean
}

export interface FailedResponse {
  /** Null for an error inside a stream; its status is read from the body. */
  readonly status: number | null
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** Classifies an error status, or an error in the body of a successful response. */
export function classifyResponse(response: FailedResponse, context: FailureContext): LlmFailure {
  const body = readErrorBody(response.body)
  const status = response.status ?? body.status
  const classification = applyRules({
    status,
    text: body.text,
    code: body.code.toLowerCase(),
    bodyMessage: body.message,
    errorNames: [],
    ...sizeOf(context),
  })
  const server = status === null ? context.provider : `${context.provider} (HTTP ${status})`
  const wait = waitMs(retryAfterMs(response.headers, context.now) ?? findRetryDelayMs(body.parsed))
  const reset = findResetAt({ headers: response.headers, body: body.parsed, text: body.message }, context.now)
  return {
    ...classification,
    status,
    message: failureMessage(classification.reason, {
      ...context,
      ...body,
      server,
      serverMessage: body.summary,
      status,
      ...redirectTarget(status, response.headers),
    }),
    detail: body.detail,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(body.code === "" ? {} : { errorCode: body.code }),
    ...(reset === undefined ? {} : { resetAt: reset }),
    ...lengthLimits(classification, body.detail),
    ...(classification.reason === "image_too_large" ? { imageLimit: parseImageLimit(body.detail) } : {}),
    ...(refusesImages(status, body.text) ? { refusesImages: true } : {}),
    ...(status === 400 && THINKING_REQUIRED.test(body.detail) ? { requiresThinking: true } : {}),
    ...(status === 400 && body.detail.includes("stream_options") ? { refusesStreamOptions: true } : {}),
    ...(refusesStreaming(status, body.detail) ? { refusesStreaming: true } : {}),
    ...exhaustedLimit(classification, response.headers, context.now),
    ...(status === 400 && isLong(context) ? { mayBeTooLong: true } : {}),
  }
}

/** Redirects are not followed: the request contains a key, which must only go to the configured host. */
function redirectTarget(
  status: number | null,
  headers: FailedResponse["headers"],
): Pick<MessageFacts, "redirectTarget"> {
  const location = headers["location"]
  if (status === null || status < 300 || status > 399 || location === undefined) return {}
  return { redirectTarget: flattenLines(location.replace(/[?#].*$/s, "")) }
}

/**
 * The numbers in the rejection of a request that is too long. Available output tokens mean that the conversation itself
 * fits.
 */
function lengthLimits(
  { reason }: Classification,
  detail: string,
): Pick<LlmFailure, "windowTokens" | "availableOutputTokens"> {
  if (reason !== "context_overflow") return {}
  const [window, available] = [parseContextWindow(detail), parseAvailableOutputTokens(detail)]
  return {
    ...(window === undefined ? {} : { windowTokens: window }),
    ...(available === undefined ? {} : { availableOutputTokens: available }),
  }
}

function refusesImages(status: number | null, text: string): boolean {
  const refused = status === null || (status >= 400 && status < 500)
  return refused && NO_IMAGES.some((phrase) => text.includes(phrase))
}

/** Bedrock responds with 403 and names the missing permission; other servers respond with 400 and their own wording. */
function refusesStreaming(status: number | null, detail: string): boolean {
  if (status === 403) return detail.includes("InvokeModelWithResponseStream")
  return status === 400 && NO_STREAMING.test(detail)
}

function exhaustedLimit(
  { reason }: Classification,
  headers: FailedResponse["headers"],
  now: number,
): Pick<LlmFailure, "limitExhaustedSeconds"> {
  const seconds = reason === "rate_limit" ? exhaustedForSeconds(parseRateLimits(headers, now)) : undefined
  return seconds === undefined ? {} : { limitExhaustedSeconds: seconds }
}

/** Above these sizes a rejection without a reason is more likely about length than about the format. */
const LONG_TOKENS = 50_000
const LONG_MESSAGES = 80

function isLong({ approxTokens = 0, numMessages = 0 }: FailureContext): boolean {
  return approxTokens > LONG_TOKENS || numMessages > LONG_MESSAGES
}

/** Classifies a failed connection: refused, reset, timed out, a TLS error, or a truncated stream. */
export function classifyTransportError(error: unknown, context: FailureContext): LlmFailure {
  const chain = causes(error)
  const codes = chain.map(errorCode).filter((code) => code !== undefined)
  const detail = chain.map(errorMessage).join(" ") || errorMessage(error)
  const status = statusOfError(chain)
  const classification = applyRules({
    status,
    // Many messages contain the host name, which must not match a rule.
    text: `${detail} ${codes.join(" ")}`.toLowerCase().replaceAll(hostOf(context.baseUrl), ""),
    code: "",
    bodyMessage: detail,
    errorNames: [...codes, ...chain.map(({ name }) => name)],
    ...sizeOf(context),
  })
  const explained = explainTransportError(errorMessage(error), codes)
  const server = `${context.provider} at ${context.baseUrl}`
  if (codes.includes("ERR_INVALID_URL")) {
    const message = transportFailureMessage("timeout", { ...context, server, serverMessage: explained })
    return { ...INVALID_URL, status: null, message, detail: detail }
  }
  return {
    ...classification,
    ...(codes.some((code) => WRONG_PROXY_SETTING.test(code)) ? { retryable: false, fallback: true } : {}),
    status,
    detail,
    message: transportFailureMessage(classification.reason, {
      ...context,
      server,
      serverMessage: flattenLines(explained),
    }),
    ...(classification.reason === "timeout" && !codes.some((code) => RECONNECT_USELESS.test(code))
      ? { connectionLost: true }
      : {}),
  }
}

/** A new connection would not help: the host is unreachable or not trusted, or the response just took too long. */
const RECONNECT_USELESS =
  /^(ERR_TOTAL_TIME|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_PROXY_|ERR_SSL_|EPROTO$|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_)/

/** Only the user can fix these: the variable does not name a proxy, or contains the wrong login for it. */
const WRONG_PROXY_SETTING = /^ERR_PROXY_(?:FOREIGN|LOGIN)$/

/** Classifies a response with status 200 that is not a reply of the wire format. */
export function classifyUnusableReply(
  { received, notModelServer }: { readonly received: string; readonly notModelServer?: true },
  context: FailureContext,
): LlmFailure {
  return {
    reason: "server_error",
    status: null,
    message: `${context.provider} at ${context.baseUrl} answered with ${received}; check that the address is a model server`,
    detail: received,
    retryable: true,
    compress: false,
    rotateCredential: false,
    fallback: true,
    invalidReply: true,
    ...(notModelServer === true ? { notModelServer } : {}),
  }
}

const INVALID_URL: Classification = {
  reason: "format_error",
  retryable: false,
  compress: false,
  rotateCredential: false,
  fallback: true,
}

const DEFAULT_CONTEXT_LENGTH = 200_000

function sizeOf(context: FailureContext): { approxTokens: number; numMessages: number; contextLength: number } {
  return {
    approxTokens: context.approxTokens ?? 0,
    numMessages: context.numMessages ?? 0,
    contextLength: context.contextLength ?? DEFAULT_CONTEXT_LENGTH,
  }
}

const MAX_SERVER_WAIT_MS = 120_000

function retryAfterMs(headers: FailedResponse["headers"], now: number): number | undefined {
  const milliseconds = headers["retry-after-ms"]?.trim() ?? ""
  const header = headers["retry-after"]?.trim() ?? ""
  const seconds = Number(header)
  const wait =
    milliseconds !== "" && Number.isFinite(Number(milliseconds))
      ? Number(milliseconds)
      : header === ""
        ? Number.NaN
        : Number.isFinite(seconds)
          ? seconds * 1000
          : Date.parse(header) - now
  return Number.isFinite(wait) ? wait : undefined
}

function waitMs(requested: number | undefined): number | undefined {
  return requested === undefined ? undefined : Math.min(Math.max(requested, 0), MAX_SERVER_WAIT_MS)
}

const MAX_CAUSES = 5

function causes(error: unknown): readonly Error[] {
  const chain: Error[] = []
  for (let link = error; link instanceof Error && chain.length <= MAX_CAUSES; link = link.cause) chain.push(link)
  return chain
}

function statusOfError(chain: readonly Error[]): number | null {
  for (const link of chain) {
    const own: unknown[] = [
      "statusCode" in link ? link.statusCode : undefined,
      "status" in link ? link.status : undefined,
    ]
    const status = own.find((value) => typeof value === "number" && value >= 100 && value <= 599)
    if (typeof status === "number") return status
  }
  return chain.some(({ name }) => name === "RateLimitError") ? 429 : null
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.hostname.toLowerCase() ?? baseUrl.toLowerCase()
}
