import { assertNever } from "../../base/assert-never.ts"
import type { Classification } from "./classification-rules.ts"

export interface MessageFacts {
  /** The provider with its status or URL: `acme (HTTP 429)`. */
  readonly server: string
  readonly provider: string
  readonly model: string
  /** The server's own message, in one line; may be empty. */
  readonly serverMessage: string
  readonly status?: number | null
  /** All messages of the server, untruncated. */
  readonly detail?: string
  /** The response is an HTML page. */
  readonly isHtml?: boolean
  /** False when the request carried no key. */
  readonly sentKey?: boolean
  /** The URL of a redirect. */
  readonly redirectTarget?: string
}

/** One sentence for the user: which server, what went wrong, what to do next. */
export function failureMessage(reason: Classification["reason"], facts: MessageFacts): string {
  const { server, model, serverMessage, status, detail = "" } = facts
  const suffix = serverMessage === "" ? "" : `: ${serverMessage.replace(/(?<!\.)\.$/, "")}`
  switch (reason) {
    case "auth":
    case "auth_permanent":
      if (facts.sentKey === false) return `${server} requires a key, and none was sent${suffix}. ${ADD_A_KEY}`
      return `${server} refused the key${suffix}. Check it with \`hermes auth list ${facts.provider}\`${facts.isHtml === true ? ", and its base_url" : ""}`
    case "billing":
      return `${server} reports that the account has no credit${suffix}. Add credit, or choose another model with --model`
    case "rate_limit":
      if (FREE_TIER.test(detail)) return `${server} limits the number of requests: ${FREE_TIER_ADVICE}`
      return `${server} limits the number of requests${suffix}. Wait a moment or choose another model`
    case "overloaded":
      return `${server} is overloaded${suffix}. Try again in a moment`
    case "model_not_found":
      return `${server} does not know the model ${model}${suffix}. Choose another with --model`
    case "context_overflow":
      return `${server} reports that the conversation exceeds the context window of ${model}${suffix}`
    case "payload_too_large":
      return `${server} rejected the request as too large${suffix}`
    case "image_too_large":
      return `${server} rejected an image as too large${suffix}. Send a smaller one`
    case "provider_policy_blocked":
      return `${server} has no endpoint for ${model} that your privacy settings allow${suffix}. Change them at the provider, or choose another model`
    case "content_policy_blocked":
      return `${server} rejected the request because of its content${suffix}. Rephrase it, or choose another model`
    case "multimodal_tool_content_unsupported":
      return `${server} does not accept images in tool results${suffix}`
    case "thinking_signature":
    case "invalid_encrypted_content":
      return `${server} rejected the reasoning of an earlier reply${suffix}`
    case "long_context_tier":
      return `${server} charges extra for a conversation this long${suffix}`
    case "oauth_long_context_beta_forbidden":
      return `${server} does not allow the long context for this login${suffix}`
    case "llama_cpp_grammar_pattern":
      return `${server} cannot parse a pattern in a tool's parameters${suffix}`
    case "unknown":
    case "format_error":
    case "server_error":
    case "timeout":
      if (facts.redirectTarget !== undefined)
        return `${server} redirects to ${facts.redirectTarget}, but the key is only sent to the configured address. Correct its base_url`
      if (status === 404) return `${server} found nothing at that address${suffix}. Check its base_url`
      if (isWrongAddress(facts)) return `${server} answered with an error${suffix}. Check its base_url`
      return `${server} answered with an error${suffix}`
    default:
      return assertNever(reason)
  }
}

/** Responses that no model server sends: the path or the method is unknown, or the body is an HTML page. */
function isWrongAddress({ status, isHtml, serverMessage }: MessageFacts): boolean {
  if (status === 405 || status === 501) return true
  return (
    (isHtml === true && (status ?? 500) < 500) ||
    /unexpected endpoint|cannot post|no route matched/i.test(serverMessage)
  )
}

/** Gateways send these when the server behind them does not respond. */
const UPSTREAM_TIMEOUTS: readonly number[] = [504, 524]

const IMMEDIATE_MS = 10_000
const SLOW_MS = 60_000

/**
 * The probable cause of a failure that does not name one, for the final error message; undefined without a guess. For
 * an unusable reply the guess depends on the time it took.
 */
export function causeHint(failure: HintFacts, elapsedMs: number): string | undefined {
  const { reason, status, invalidReply, notModelServer } = failure
  if (status !== null) {
    if (UPSTREAM_TIMEOUTS.includes(status)) return "the server behind it took too long; try again later"
    return reason === "server_error" && status !== 501
      ? "the problem is on the provider's side; try again later"
      : undefined
  }
  if (failure.connectionLost === true) return "try again later, or check its base_url"
  if (invalidReply !== true || notModelServer === true) return undefined
  if (elapsedMs < IMMEDIATE_MS)
    return "if it is, it probably limits the number of requests, because the answer came at once"
  return elapsedMs > SLOW_MS
    ? "if it is, the server behind it probably timed out, because the answer took long"
    : undefined
}

const ADD_A_KEY =
  "Hermes sends a key only to the address that it belongs to: set model.api_key for model.base_url, or key_env next to any other base_url"

interface HintFacts {
  readonly reason: Classification["reason"]
  readonly status: number | null
  readonly invalidReply?: boolean
  readonly notModelServer?: boolean
  readonly connectionLost?: boolean
}

/** Google sends the name of the exhausted quota: `…free_tier_requests`. */
const FREE_TIER = /free_tier/i
const FREE_TIER_ADVICE =
  "this key belongs to the free tier, which allows only a few requests per minute and day. Turn on billing for its project at https://aistudio.google.com/apikey, or use another key"

/** The message for a request without a response; it must not claim that the server sent something. */
export function transportFailureMessage(reason: Classification["reason"], facts: MessageFacts): string {
  if (reason === "context_overflow") {
    return `${facts.server} closed the connection (${facts.serverMessage}): the conversation probably exceeds the context window of ${facts.model}`
  }
  const isUnreachable = reason === "timeout" || reason === "unknown"
  // There was a connection, so the address is right.
  if (isUnreachable && BROKEN_OFF.has(facts.serverMessage))
    return `${facts.server} broke off before its reply was complete: ${facts.serverMessage}`
  return isUnreachable ? `${facts.server} could not be reached: ${facts.serverMessage}` : failureMessage(reason, facts)
}

/** Explains a connection error: our text for a known code, else its own message with the code. */
export function explainTransportError(message: string, codes: readonly string[]): string {
  const known = codes.find((code) => Object.hasOwn(TRANSPORT_MESSAGES, code))
  if (known !== undefined) return TRANSPORT_MESSAGES[known] ?? message
  // The message of a proxy error is already written for the user.
  return codes[0] === undefined || codes[0].startsWith("ERR_PROXY_") ? message : `${message} (${codes[0]})`
}

const CONNECTION_RESET = "the connection was reset"
const CLOSED_WHILE_SENDING = "the connection was closed while sending"
const BROKEN_OFF: ReadonlySet<string> = new Set([CONNECTION_RESET, CLOSED_WHILE_SENDING])

const SET_CERTIFICATE_FILE = "set SSL_CERT_FILE to the file of its certificate authority"

const TRANSPORT_MESSAGES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens at that address; start the server or correct its base_url",
  ECONNRESET: CONNECTION_RESET,
  EPIPE: CLOSED_WHILE_SENDING,
  ENOTFOUND: "the host name is unknown; check the network connection and its base_url",
  EAI_AGAIN: "the host name could not be looked up; is the network up?",
  ENETUNREACH: "the network is unreachable; is it up?",
  EHOSTUNREACH: "the host is unreachable; is the network up?",
  ETIMEDOUT: "the connection timed out",
  ERR_TOTAL_TIME: "the response took longer than allowed; raise HERMES_API_TIMEOUT",
  ERR_INVALID_URL: "the address is not a URL; correct its base_url",
  HPE_INVALID_CONSTANT: "the server at that address does not use HTTP; check that the address is a model server",
  CERT_HAS_EXPIRED: "its certificate has expired; tell its owner, or correct this machine's clock",
  DEPTH_ZERO_SELF_SIGNED_CERT: `its certificate is self-signed; ${SET_CERTIFICATE_FILE}`,
  SELF_SIGNED_CERT_IN_CHAIN: `its certificate chain is self-signed; ${SET_CERTIFICATE_FILE}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `its certificate cannot be verified; ${SET_CERTIFICATE_FILE}`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: `its certificate cannot be verified; ${SET_CERTIFICATE_FILE}`,
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host; correct its base_url",
  EPROTO: "the TLS handshake failed; is it an https address?",
  ERR_SSL_WRONG_VERSION_NUMBER: "the TLS handshake failed; is it an https address?",
}
