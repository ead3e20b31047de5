import {
  AGGREGATOR_POLICY,
  AUTH,
  BILLING,
  CONTENT_POLICY,
  DISCONNECT,
  DISCONNECT_CODES,
  IMAGE,
  MODEL,
  MODEL_BY_NAME,
  MULTIMODAL_TOOL,
  OVERFLOW,
  PAYLOAD,
  RATE,
  REQUEST_VALIDATION,
  TIMEOUT,
  TLS,
  TLS_CODES,
  TRANSIENT,
  TRANSPORT_CODES,
  UNKNOWN_PARAMETER,
  USAGE_LIMIT,
} from "./failure-phrases.ts"

/** Everything the rules may look at. */
export interface FailureEvidence {
  readonly status: number | null
  /** All that was said, lower case: messages and codes of the body, or of the error and its causes. */
  readonly text: string
  /** The code the body names (`insufficient_quota`), lower case; empty when it names none. */
  readonly code: string
  /** The body's own message; short ones explain nothing. */
  readonly bodyMessage: string
  /** Codes and class names of a thrown error and its causes. */
  readonly errorNames: readonly string[]
  readonly approxTokens: number
  readonly contextLength: number
  readonly numMessages: number
}

/** What a failure means and what may be done about it. */
export interface Verdict {
  readonly reason:
    | "auth"
    /** An `auth` that outlived refresh and rotation; the rules never say it, the recovery does. */
    | "auth_permanent"
    | "billing"
    | "rate_limit"
    | "overloaded"
    | "server_error"
    | "timeout"
    | "context_overflow"
    | "payload_too_large"
    | "image_too_large"
    | "model_not_found"
    | "provider_policy_blocked"
    | "content_policy_blocked"
    | "format_error"
    | "invalid_encrypted_content"
    | "multimodal_tool_content_unsupported"
    | "thinking_signature"
    | "long_context_tier"
    | "oauth_long_context_beta_forbidden"
    | "llama_cpp_grammar_pattern"
    | "unknown"
  readonly retryable: boolean
  readonly compress: boolean
  readonly rotateCredential: boolean
  readonly fallback: boolean
}

/** The first rule that applies decides; the order is part of the meaning. */
export function judge(evidence: FailureEvidence): Verdict {
  return PIPELINE.find(({ when }) => when(evidence))?.verdict ?? UNKNOWN
}

interface Rule {
  readonly when: (evidence: FailureEvidence) => boolean
  readonly verdict: Verdict
}

/** R retry, C compress, K rotate the key, F fall back. */
function verdict(reason: Verdict["reason"], flags: string): Verdict {
  return {
    reason,
    retryable: flags.includes("R"),
    compress: flags.includes("C"),
    rotateCredential: flags.includes("K"),
    fallback: flags.includes("F"),
  }
}

const BAD_KEY = verdict("auth", "KF")
const NOT_ENTITLED = verdict("auth", "F")
const NO_CREDIT = verdict("billing", "KF")
const RATE_LIMITED = verdict("rate_limit", "RKF")
const TOO_LONG = verdict("context_overflow", "RC")
const TOO_LARGE = verdict("payload_too_large", "RC")
const IMAGE_TOO_LARGE = verdict("image_too_large", "R")
const TEXT_ONLY_TOOLS = verdict("multimodal_tool_content_unsupported", "R")
const STALE_ENCRYPTION = verdict("invalid_encrypted_content", "R")
const NO_MODEL = verdict("model_not_found", "F")
const NO_ENDPOINT = verdict("provider_policy_blocked", "")
const BAD_REQUEST = verdict("format_error", "F")
const SERVER_ERROR = verdict("server_error", "R")
const OVERLOADED = verdict("overloaded", "R")
const TIMED_OUT = verdict("timeout", "R")
const UNKNOWN = verdict("unknown", "R")

const says = (phrases: readonly string[]) => (evidence: FailureEvidence) =>
  phrases.some((phrase) => evidence.text.includes(phrase))
const saysAll =
  (...phrases: readonly string[]) =>
  (evidence: FailureEvidence) =>
    phrases.every((phrase) => evidence.text.includes(phrase))
const isNamed = (pattern: RegExp) => (evidence: FailureEvidence) =>
  evidence.errorNames.some((name) => pattern.test(name))
const missesModel = (evidence: FailureEvidence): boolean => says(MODEL)(evidence) || MODEL_BY_NAME.test(evidence.text)
const always = () => true

/** The rules of one status; the last of them must always apply, so that a status never reaches the rules for texts. */
function onStatus(applies: (status: number) => boolean, rules: readonly Rule[]): readonly Rule[] {
  return rules.map((rule) => ({
    when: (evidence) => evidence.status !== null && applies(evidence.status) && rule.when(evidence),
    verdict: rule.verdict,
  }))
}
const is =
  (...statuses: readonly number[]) =>
  (status: number) =>
    statuses.includes(status)
const withoutStatus = (rules: readonly Rule[]): readonly Rule[] =>
  rules.map((rule) => ({
    when: (evidence) => !(evidence.status !== null && evidence.status >= 400) && rule.when(evidence),
    verdict: rule.verdict,
  }))

const passes = (evidence: FailureEvidence): boolean => says(USAGE_LIMIT)(evidence) && says(TRANSIENT)(evidence)

const PROVIDER_PATTERNS: readonly Rule[] = [
  { when: says(CONTENT_POLICY), verdict: verdict("content_policy_blocked", "F") },
  ...onStatus(is(400), [
    {
      when: (evidence) =>
        evidence.text.includes("thinking") &&
        says(["signature", "cannot be modified", "must remain as they were"])(evidence),
      verdict: verdict("thinking_signature", "R"),
    },
  ]),
  ...onStatus(is(429), [{ when: saysAll("extra usage", "long context"), verdict: verdict("long_context_tier", "RC") }]),
  ...onStatus(is(400), [
    {
      when: saysAll("long context beta", "not yet available"),
      verdict: verdict("oauth_long_context_beta_forbidden", "R"),
    },
    {
      when: (evidence) =>
        says(["error parsing grammar", "json-schema-to-grammar"])(evidence) ||
        saysAll("unable to generate parser", "template")(evidence),
      verdict: verdict("llama_cpp_grammar_pattern", "R"),
    },
  ]),
  { when: says(["do not have an active grok subscription"]), verdict: NOT_ENTITLED },
  { when: saysAll("out of available resources", "grok"), verdict: NOT_ENTITLED },
]

/** A body so short says nothing; with a long conversation it usually means that the conversation is too long. */
const SHORT_MESSAGE = 30
const isGeneric = (evidence: FailureEvidence): boolean => evidence.bodyMessage.trim().length < SHORT_MESSAGE
const isLarge =
  (limits: { readonly share: number; readonly tokens: number; readonly messages: number }) =>
  ({ approxTokens, contextLength, numMessages }: FailureEvidence): boolean =>
    approxTokens > limits.share * contextLength ||
    (contextLength <= 256_000 && (approxTokens > limits.tokens || numMessages > limits.messages))
const isLargeRequest = isLarge({ share: 0.4, tokens: 80_000, messages: 80 })
const isLargeForADisconnect = isLarge({ share: 0.6, tokens: 120_000, messages: 200 })

const BAD_REQUEST_RULES: readonly Rule[] = [
  { when: says(MULTIMODAL_TOOL), verdict: TEXT_ONLY_TOOLS },
  { when: says(IMAGE), verdict: IMAGE_TOO_LARGE },
  { when: says(["invalid_encrypted_content"]), verdict: STALE_ENCRYPTION },
  { when: saysAll("encrypted content for item", "could not be verified"), verdict: STALE_ENCRYPTION },
  { when: says(UNKNOWN_PARAMETER), verdict: BAD_REQUEST },
  { when: says(OVERFLOW), verdict: TOO_LONG },
  { when: ({ code }) => code === "context_length_exceeded", verdict: TOO_LONG },
  { when: says(AGGREGATOR_POLICY), verdict: NO_ENDPOINT },
  { when: missesModel, verdict: NO_MODEL },
  { when: says(RATE), verdict: RATE_LIMITED },
  { when: says(BILLING), verdict: NO_CREDIT },
  { when: (evidence) => isGeneric(evidence) && isLargeRequest(evidence), verdict: TOO_LONG },
  { when: always, verdict: BAD_REQUEST },
]

const STATUS_RULES: readonly Rule[] = [
  // A redirect leads to another place than the one that was named; asking again leads there again.
  ...onStatus((status) => status >= 300 && status < 400, [{ when: always, verdict: BAD_REQUEST }]),
  ...onStatus(is(401), [{ when: always, verdict: BAD_KEY }]),
  ...onStatus(is(403), [
    { when: says(["key limit exceeded", "spending limit", ...BILLING]), verdict: NO_CREDIT },
    { when: always, verdict: NOT_ENTITLED },
  ]),
  ...onStatus(is(402), [
    { when: passes, verdict: RATE_LIMITED },
    { when: always, verdict: NO_CREDIT },
  ]),
  ...onStatus(is(404), [
    { when: says(BILLING), verdict: NO_CREDIT },
    { when: says(AGGREGATOR_POLICY), verdict: NO_ENDPOINT },
    { when: missesModel, verdict: NO_MODEL },
    { when: always, verdict: UNKNOWN },
  ]),
  // The one 4xx that a server sends about the connection and not about the request.
  ...onStatus(is(408), [{ when: always, verdict: TIMED_OUT }]),
  ...onStatus(is(413), [{ when: always, verdict: TOO_LARGE }]),
  ...onStatus(is(429), [{ when: always, verdict: RATE_LIMITED }]),
  ...onStatus(is(400), BAD_REQUEST_RULES),
  ...onStatus(is(500, 502), [
    { when: says(REQUEST_VALIDATION), verdict: BAD_REQUEST },
    { when: always, verdict: SERVER_ERROR },
  ]),
  ...onStatus(is(503, 529), [{ when: always, verdict: OVERLOADED }]),
  ...onStatus((status) => status >= 400 && status < 500, [{ when: always, verdict: BAD_REQUEST }]),
  ...onStatus((status) => status >= 500, [{ when: always, verdict: SERVER_ERROR }]),
]

const onCode = (reached: Verdict, ...codes: readonly string[]): Rule => ({
  when: ({ code }) => codes.includes(code),
  verdict: reached,
})

const CODE_RULES = withoutStatus([
  onCode(verdict("rate_limit", "RK"), "resource_exhausted", "throttled", "rate_limit_exceeded"),
  onCode(
    NO_CREDIT,
    "insufficient_quota",
    "billing_not_active",
    "payment_required",
    "insufficient_credits",
    "no_usable_credits",
    "balance_depleted",
    "model_not_supported_on_free_tier",
  ),
  onCode(NO_MODEL, "model_not_found", "model_not_available", "invalid_model"),
  onCode(TOO_LONG, "context_length_exceeded", "max_tokens_exceeded"),
  onCode(STALE_ENCRYPTION, "invalid_encrypted_content"),
  // Inside a stream these codes are all there is of what would have been a 529 or a 500.
  onCode(OVERLOADED, "overloaded_error", "unavailable", "serviceunavailableexception"),
  onCode(SERVER_ERROR, "api_error", "server_error", "internal_server_error", "internalserverexception"),
])

const TEXT_RULES = withoutStatus([
  { when: says(PAYLOAD), verdict: TOO_LARGE },
  { when: says(MULTIMODAL_TOOL), verdict: TEXT_ONLY_TOOLS },
  { when: says(IMAGE), verdict: IMAGE_TOO_LARGE },
  { when: passes, verdict: RATE_LIMITED },
  { when: says(USAGE_LIMIT), verdict: NO_CREDIT },
  { when: says(BILLING), verdict: NO_CREDIT },
  { when: says(RATE), verdict: RATE_LIMITED },
  { when: says(OVERFLOW), verdict: TOO_LONG },
  { when: says(AUTH), verdict: BAD_KEY },
  { when: says(AGGREGATOR_POLICY), verdict: NO_ENDPOINT },
  { when: missesModel, verdict: NO_MODEL },
  { when: says(TIMEOUT), verdict: TIMED_OUT },
])

const isDisconnect = (evidence: FailureEvidence): boolean =>
  says(DISCONNECT)(evidence) || isNamed(DISCONNECT_CODES)(evidence)

const CONNECTION_RULES = withoutStatus([
  // A broken TLS record is never a sign of length, however long the conversation is.
  { when: says(TLS), verdict: TIMED_OUT },
  { when: isNamed(TLS_CODES), verdict: TIMED_OUT },
  { when: (evidence) => isDisconnect(evidence) && isLargeForADisconnect(evidence), verdict: TOO_LONG },
  { when: isDisconnect, verdict: TIMED_OUT },
  { when: isNamed(TRANSPORT_CODES), verdict: TIMED_OUT },
])

const PIPELINE: readonly Rule[] = [
  ...PROVIDER_PATTERNS,
  ...STATUS_RULES,
  ...CODE_RULES,
  ...TEXT_RULES,
  ...CONNECTION_RULES,
]
