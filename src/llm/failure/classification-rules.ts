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
} from "./error-phrases.ts"

/** The input of the rules. */
export interface FailureEvidence {
  readonly status: number | null
  /** All messages and codes in lower case, of the body or of the thrown error and its causes. */
  readonly text: string
  /** The code in the body (`insufficient_quota`) in lower case; empty without one. */
  readonly code: string
  /** The body's own message; a short one is considered generic. */
  readonly bodyMessage: string
  /** Codes and class names of a thrown error and its causes. */
  readonly errorNames: readonly string[]
  readonly approxTokens: number
  readonly contextLength: number
  readonly numMessages: number
}

/** The cause of a failure and the permitted reactions. */
export interface Classification {
  readonly reason:
    | "auth"
    /** An `auth` failure that persists after refresh and rotation; set by the recovery, never by the rules. */
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

/** The first matching rule decides, so the order of the rules is significant. */
export function applyRules(evidence: FailureEvidence): Classification {
  return RULES.find(({ when }) => when(evidence))?.result ?? UNKNOWN
}

interface Rule {
  readonly when: (evidence: FailureEvidence) => boolean
  readonly result: Classification
}

/** Flags: R retry, C compress, K rotate the key, F fall back. */
function classification(reason: Classification["reason"], flags: string): Classification {
  return {
    reason,
    retryable: flags.includes("R"),
    compress: flags.includes("C"),
    rotateCredential: flags.includes("K"),
    fallback: flags.includes("F"),
  }
}

const BAD_KEY = classification("auth", "KF")
const NOT_ENTITLED = classification("auth", "F")
const NO_CREDIT = classification("billing", "KF")
const RATE_LIMITED = classification("rate_limit", "RKF")
const TOO_LONG = classification("context_overflow", "RC")
const TOO_LARGE = classification("payload_too_large", "RC")
const IMAGE_TOO_LARGE = classification("image_too_large", "R")
const TEXT_ONLY_TOOLS = classification("multimodal_tool_content_unsupported", "R")
const STALE_ENCRYPTION = classification("invalid_encrypted_content", "R")
const NO_MODEL = classification("model_not_found", "F")
const NO_ENDPOINT = classification("provider_policy_blocked", "")
const BAD_REQUEST = classification("format_error", "F")
const SERVER_ERROR = classification("server_error", "R")
const OVERLOADED = classification("overloaded", "R")
const TIMED_OUT = classification("timeout", "R")
const UNKNOWN = classification("unknown", "R")

const matches = (phrases: readonly string[]) => (evidence: FailureEvidence) =>
  phrases.some((phrase) => evidence.text.includes(phrase))
const matchesAll =
  (...phrases: readonly string[]) =>
  (evidence: FailureEvidence) =>
    phrases.every((phrase) => evidence.text.includes(phrase))
const isNamed = (pattern: RegExp) => (evidence: FailureEvidence) =>
  evidence.errorNames.some((name) => pattern.test(name))
const isUnknownModel = (evidence: FailureEvidence): boolean =>
  matches(MODEL)(evidence) || MODEL_BY_NAME.test(evidence.text)
const always = () => true

/**
 * Limits rules to a status. The last rule of a status must always match, so that TEXT_RULES only see failures without
 * status.
 */
function onStatus(applies: (status: number) => boolean, rules: readonly Rule[]): readonly Rule[] {
  return rules.map((rule) => ({
    when: (evidence) => evidence.status !== null && applies(evidence.status) && rule.when(evidence),
    result: rule.result,
  }))
}
const is =
  (...statuses: readonly number[]) =>
  (status: number) =>
    statuses.includes(status)
const withoutStatus = (rules: readonly Rule[]): readonly Rule[] =>
  rules.map((rule) => ({
    when: (evidence) => !(evidence.status !== null && evidence.status >= 400) && rule.when(evidence),
    result: rule.result,
  }))

const isTemporaryLimit = (evidence: FailureEvidence): boolean =>
  matches(USAGE_LIMIT)(evidence) && matches(TRANSIENT)(evidence)

const PROVIDER_PATTERNS: readonly Rule[] = [
  { when: matches(CONTENT_POLICY), result: classification("content_policy_blocked", "F") },
  ...onStatus(is(400), [
    {
      when: (evidence) =>
        evidence.text.includes("thinking") &&
        matches(["signature", "cannot be modified", "must remain as they were"])(evidence),
      result: classification("thinking_signature", "R"),
    },
  ]),
  ...onStatus(is(429), [
    { when: matchesAll("extra usage", "long context"), result: classification("long_context_tier", "RC") },
  ]),
  ...onStatus(is(400), [
    {
      when: matchesAll("long context beta", "not yet available"),
      result: classification("oauth_long_context_beta_forbidden", "R"),
    },
    {
      when: (evidence) =>
        matches(["error parsing grammar", "json-schema-to-grammar"])(evidence) ||
        matchesAll("unable to generate parser", "template")(evidence),
      result: classification("llama_cpp_grammar_pattern", "R"),
    },
  ]),
  { when: matches(["do not have an active grok subscription"]), result: NOT_ENTITLED },
  { when: matchesAll("out of available resources", "grok"), result: NOT_ENTITLED },
]

/** A shorter message is generic; with a long conversation it usually means that the conversation is too long. */
const SHORT_MESSAGE = 30
const isGeneric = (evidence: FailureEvidence): boolean => evidence.bodyMessage.trim().length < SHORT_MESSAGE
const isLarge =
  (limits: { readonly share: number; readonly tokens: number; readonly messages: number }) =>
  ({ approxTokens, contextLength, numMessages }: FailureEvidence): boolean =>
    approxTokens > limits.share * contextLength ||
    (contextLength <= 256_000 && (approxTokens > limits.tokens || numMessages > limits.messages))
const isLargeRequest = isLarge({ share: 0.4, tokens: 80_000, messages: 80 })
const isLargeForDisconnect = isLarge({ share: 0.6, tokens: 120_000, messages: 200 })

const BAD_REQUEST_RULES: readonly Rule[] = [
  { when: matches(MULTIMODAL_TOOL), result: TEXT_ONLY_TOOLS },
  { when: matches(IMAGE), result: IMAGE_TOO_LARGE },
  { when: matches(["invalid_encrypted_content"]), result: STALE_ENCRYPTION },
  { when: matchesAll("encrypted content for item", "could not be verified"), result: STALE_ENCRYPTION },
  { when: matches(UNKNOWN_PARAMETER), result: BAD_REQUEST },
  { when: matches(OVERFLOW), result: TOO_LONG },
  { when: ({ code }) => code === "context_length_exceeded", result: TOO_LONG },
  { when: matches(AGGREGATOR_POLICY), result: NO_ENDPOINT },
  { when: isUnknownModel, result: NO_MODEL },
  { when: matches(RATE), result: RATE_LIMITED },
  { when: matches(BILLING), result: NO_CREDIT },
  { when: (evidence) => isGeneric(evidence) && isLargeRequest(evidence), result: TOO_LONG },
  { when: always, result: BAD_REQUEST },
]

const STATUS_RULES: readonly Rule[] = [
  // A redirect is not followed, and a retry would be redirected again.
  ...onStatus((status) => status >= 300 && status < 400, [{ when: always, result: BAD_REQUEST }]),
  ...onStatus(is(401), [{ when: always, result: BAD_KEY }]),
  ...onStatus(is(403), [
    { when: matches(["key limit exceeded", "spending limit", ...BILLING]), result: NO_CREDIT },
    { when: always, result: NOT_ENTITLED },
  ]),
  ...onStatus(is(402), [
    { when: isTemporaryLimit, result: RATE_LIMITED },
    { when: always, result: NO_CREDIT },
  ]),
  ...onStatus(is(404), [
    { when: matches(BILLING), result: NO_CREDIT },
    { when: matches(AGGREGATOR_POLICY), result: NO_ENDPOINT },
    { when: isUnknownModel, result: NO_MODEL },
    { when: always, result: UNKNOWN },
  ]),
  // The only 4xx status about the connection instead of the request.
  ...onStatus(is(408), [{ when: always, result: TIMED_OUT }]),
  ...onStatus(is(413), [{ when: always, result: TOO_LARGE }]),
  ...onStatus(is(429), [{ when: always, result: RATE_LIMITED }]),
  ...onStatus(is(400), BAD_REQUEST_RULES),
  ...onStatus(is(500, 502), [
    { when: matches(REQUEST_VALIDATION), result: BAD_REQUEST },
    { when: always, result: SERVER_ERROR },
  ]),
  ...onStatus(is(503, 529), [{ when: always, result: OVERLOADED }]),
  ...onStatus((status) => status >= 400 && status < 500, [{ when: always, result: BAD_REQUEST }]),
  ...onStatus((status) => status >= 500, [{ when: always, result: SERVER_ERROR }]),
]

const onCode = (classified: Classification, ...codes: readonly string[]): Rule => ({
  when: ({ code }) => codes.includes(code),
  result: classified,
})

const CODE_RULES = withoutStatus([
  onCode(classification("rate_limit", "RK"), "resource_exhausted", "throttled", "rate_limit_exceeded"),
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
  // Inside a stream these codes replace the status 529 or 500.
  onCode(OVERLOADED, "overloaded_error", "unavailable", "serviceunavailableexception"),
  onCode(SERVER_ERROR, "api_error", "server_error", "internal_server_error", "internalserverexception"),
])

const TEXT_RULES = withoutStatus([
  { when: matches(PAYLOAD), result: TOO_LARGE },
  { when: matches(MULTIMODAL_TOOL), result: TEXT_ONLY_TOOLS },
  { when: matches(IMAGE), result: IMAGE_TOO_LARGE },
  { when: isTemporaryLimit, result: RATE_LIMITED },
  { when: matches(USAGE_LIMIT), result: NO_CREDIT },
  { when: matches(BILLING), result: NO_CREDIT },
  { when: matches(RATE), result: RATE_LIMITED },
  { when: matches(OVERFLOW), result: TOO_LONG },
  { when: matches(AUTH), result: BAD_KEY },
  { when: matches(AGGREGATOR_POLICY), result: NO_ENDPOINT },
  { when: isUnknownModel, result: NO_MODEL },
  { when: matches(TIMEOUT), result: TIMED_OUT },
])

const isDisconnect = (evidence: FailureEvidence): boolean =>
  matches(DISCONNECT)(evidence) || isNamed(DISCONNECT_CODES)(evidence)

const CONNECTION_RULES = withoutStatus([
  // A TLS error never means that the conversation is too long.
  { when: matches(TLS), result: TIMED_OUT },
  { when: isNamed(TLS_CODES), result: TIMED_OUT },
  { when: (evidence) => isDisconnect(evidence) && isLargeForDisconnect(evidence), result: TOO_LONG },
  { when: isDisconnect, result: TIMED_OUT },
  { when: isNamed(TRANSPORT_CODES), result: TIMED_OUT },
])

const RULES: readonly Rule[] = [
  ...PROVIDER_PATTERNS,
  ...STATUS_RULES,
  ...CODE_RULES,
  ...TEXT_RULES,
  ...CONNECTION_RULES,
]
