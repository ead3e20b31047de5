import { errorCode, errorMessage } from "../../base/system-error.ts"
import { parseAvailableOutput, parseImageLimit, parseWindow } from "./error-text.ts"
import { oneLine, readErrorBody } from "./failure-body.ts"
import { NO_IMAGES } from "./failure-phrases.ts"
import { judge } from "./failure-rules.ts"
import type { Verdict } from "./failure-rules.ts"
import { explainTransport, failureSentence, transportSentence } from "./failure-sentence.ts"
import { parseRateLimits, usedUpFor } from "./rate-limit-headers.ts"
import { findResetAt } from "./reset-time.ts"

/** Why a model call failed. The words are shared with the P-edition and appear in `stream-json`. */
export type FailureReason = Verdict["reason"]

/** A failure, classified once where it enters. Callers read the fields; nobody looks at message text again. */
export interface LlmFailure extends Verdict {
  readonly status: number | null
  /** One sentence for a person: provider, cause, next step. */
  readonly message: string
  /** Everything the server or the connection said, uncut: numbers are read from it, people never see it. */
  readonly detail: string
  /** What the server asked us to wait, if it said so; at most two minutes. */
  readonly retryAfterMs?: number
  /** The code of the body, e.g. `usage_limit_reached`. */
  readonly errorCode?: string
  /** When the limit ends, epoch seconds, if the server said so. */
  readonly resetAt?: number
  /** The window the server named while it refused the request for its length. */
  readonly windowTokens?: number
  /** Not the conversation was too long but the answer that was asked for: this many tokens are left for it. */
  readonly availableOutputTokens?: number
  /** What the server said about the largest image it takes, while it refused a larger one. */
  readonly imageLimit?: { readonly maxSide?: number; readonly maxBytes?: number }
  /** The model takes no images; the same request without them may pass. */
  readonly refusesImages?: boolean
  /** A limit of ours is used up for this many seconds, whoever of this account asks. */
  readonly usedUpSeconds?: number
  /** It answered, but with nothing that can be used: asking the same place again rarely helps. */
  readonly invalidReply?: boolean
  /** And it was not even of a model server. */
  readonly foreign?: boolean
  /** The connection broke off or went silent; another one may do better. */
  readonly connectionLost?: boolean
  /** A refusal that may only mean that the conversation is too long: shorten it before the next request. */
  readonly mayBeTooLong?: boolean
}

export interface FailureContext {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  /** Epoch milliseconds, to turn a wait into a moment and a moment into a wait. */
  readonly now: number
  /** How large the request was; absent for a probe, which is never too long. */
  readonly approxTokens?: number
  readonly numMessages?: number
  readonly contextLength?: number
}

export interface FailedResponse {
  /** Null for an error inside a stream, whose status is looked for in the body. */
  readonly status: number | null
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** The server answered with an error status, or with an error instead of a reply. */
export function classifyResponse(response: FailedResponse, context: FailureContext): LlmFailure {
  const body = readErrorBody(response.body)
  const status = response.status ?? body.status
  const verdict = judge({
    status,
    text: body.text,
    code: body.code.toLowerCase(),
    bodyMessage: body.message,
    errorNames: [],
    ...sizeOf(context),
  })
  const who = status === null ? context.provider : `${context.provider} (HTTP ${status})`
  const wait = retryAfterMs(response.headers, context.now)
  const reset = findResetAt({ headers: response.headers, body: body.parsed, text: body.message }, context.now)
  return {
    ...verdict,
    status,
    message: failureSentence(verdict.reason, {
      ...context,
      ...body,
      who,
      status,
      ...leadsTo(status, response.headers),
    }),
    detail: body.detail,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(body.code === "" ? {} : { errorCode: body.code }),
    ...(reset === undefined ? {} : { resetAt: reset }),
    ...lengthFacts(verdict, body.detail),
    ...(verdict.reason === "image_too_large" ? { imageLimit: parseImageLimit(body.detail) } : {}),
    ...(refusesImages(status, body.text) ? { refusesImages: true } : {}),
    ...usedUp(verdict, response.headers, context.now),
    ...(status === 400 && isLong(context) ? { mayBeTooLong: true } : {}),
  }
}

/** A redirect is not followed: the request carries a key, which belongs to the host that was named. */
function leadsTo(status: number | null, headers: FailedResponse["headers"]): { readonly leadsTo?: string } {
  const location = headers["location"]
  if (status === null || status < 300 || status > 399 || location === undefined) return {}
  return { leadsTo: oneLine(location.replace(/[?#].*$/s, "")) }
}

/** The numbers in a refusal for length. A room for the answer means that the conversation itself fits. */
function lengthFacts({ reason }: Verdict, said: string): Pick<LlmFailure, "windowTokens" | "availableOutputTokens"> {
  if (reason !== "context_overflow") return {}
  const [window, room] = [parseWindow(said), parseAvailableOutput(said)]
  return {
    ...(window === undefined ? {} : { windowTokens: window }),
    ...(room === undefined ? {} : { availableOutputTokens: room }),
  }
}

function refusesImages(status: number | null, text: string): boolean {
  const refused = status === null || (status >= 400 && status < 500)
  return refused && NO_IMAGES.some((phrase) => text.includes(phrase))
}

function usedUp(
  { reason }: Verdict,
  headers: FailedResponse["headers"],
  now: number,
): Pick<LlmFailure, "usedUpSeconds"> {
  const seconds = reason === "rate_limit" ? usedUpFor(parseRateLimits(headers, now)) : undefined
  return seconds === undefined ? {} : { usedUpSeconds: seconds }
}

/** From here on a refusal without a reason is more likely about length than about form. */
const LONG_TOKENS = 50_000
const LONG_MESSAGES = 80

function isLong({ approxTokens = 0, numMessages = 0 }: FailureContext): boolean {
  return approxTokens > LONG_TOKENS || numMessages > LONG_MESSAGES
}

/** The request never got a proper answer: refused, reset, timed out, TLS trouble, a stream that was cut. */
export function classifyTransport(error: unknown, context: FailureContext): LlmFailure {
  const chain = causes(error)
  const codes = chain.map(errorCode).filter((code) => code !== undefined)
  const words = chain.map(errorMessage).join(" ") || errorMessage(error)
  const status = statusOfError(chain)
  const verdict = judge({
    status,
    // The host's name is part of many messages and says nothing about the failure.
    text: `${words} ${codes.join(" ")}`.toLowerCase().replaceAll(hostOf(context.baseUrl), ""),
    code: "",
    bodyMessage: words,
    errorNames: [...codes, ...chain.map(({ name }) => name)],
    ...sizeOf(context),
  })
  const explained = explainTransport(errorMessage(error), codes)
  const place = `${context.provider} at ${context.baseUrl}`
  if (codes.includes("ERR_INVALID_URL")) {
    const message = transportSentence("timeout", { ...context, who: place, said: explained })
    return { ...NO_ADDRESS, status: null, message, detail: words }
  }
  return {
    ...verdict,
    ...(codes.some((code) => NEVER_BETTER.test(code)) ? { retryable: false, fallback: true } : {}),
    status,
    detail: words,
    message: transportSentence(verdict.reason, { ...context, who: place, said: oneLine(explained) }),
    ...(verdict.reason === "timeout" && !codes.some((code) => NO_OTHER_HELPS.test(code))
      ? { connectionLost: true }
      : {}),
  }
}

/** No other connection would help: nobody is there, it is not the one we trust, or the answer was merely too long. */
const NO_OTHER_HELPS =
  /^(ERR_TOTAL_TIME|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ERR_PROXY_|ERR_SSL_|EPROTO$|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_)/

/** Only a person can mend it: what stands in the variable is no proxy, or not the right login for it. */
const NEVER_BETTER = /^ERR_PROXY_(?:FOREIGN|LOGIN)$/

/** The server answered 200, but not with a reply of this wire. */
export function classifyMalformed(
  { why: what, foreign }: { readonly why: string; readonly foreign?: true },
  context: FailureContext,
): LlmFailure {
  return {
    reason: "server_error",
    status: null,
    message: `${context.provider} at ${context.baseUrl} answered with ${what}; check that the address is a model server`,
    detail: what,
    retryable: true,
    compress: false,
    rotateCredential: false,
    fallback: true,
    invalidReply: true,
    ...(foreign === true ? { foreign } : {}),
  }
}

const NO_ADDRESS: Verdict = {
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
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), MAX_SERVER_WAIT_MS) : undefined
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
