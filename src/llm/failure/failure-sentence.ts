import { assertNever } from "../../base/assert-never.ts"
import type { Verdict } from "./failure-rules.ts"

export interface SentenceFacts {
  /** The provider and, where there is one, the status: `acme (HTTP 429)`. */
  readonly who: string
  readonly provider: string
  readonly model: string
  /** The server's own words, or nothing. */
  readonly said: string
  readonly status?: number | null
  /** All the server said, uncut. */
  readonly detail?: string
  /** It answered with a page for people. */
  readonly webPage?: boolean
  /** It answered that something else is to be asked. */
  readonly leadsTo?: string
}

/** One sentence for a person: who, what went wrong, what to do next. */
export function failureSentence(reason: Verdict["reason"], facts: SentenceFacts): string {
  const { who, model, said, status, detail = "" } = facts
  const words = said === "" ? "" : `: ${said.replace(/(?<!\.)\.$/, "")}`
  switch (reason) {
    case "auth":
    case "auth_permanent":
      return `${who} refused the key${words}. Check it with \`hermes auth list ${facts.provider}\`${facts.webPage === true ? ", and its base_url" : ""}`
    case "billing":
      return `${who} says the account has no credit${words}. Add credit, or choose another model with --model`
    case "rate_limit":
      if (FREE_TIER.test(detail)) return `${who} limits the number of requests: ${FREE_TIER_ADVICE}`
      return `${who} limits the number of requests${words}. Wait a moment or choose another model`
    case "overloaded":
      return `${who} is overloaded${words}. Try again in a moment`
    case "model_not_found":
      return `${who} does not know the model ${model}${words}. Choose another with --model`
    case "context_overflow":
      return `${who} says the conversation is longer than ${model} can read${words}`
    case "payload_too_large":
      return `${who} says the request is too large${words}`
    case "image_too_large":
      return `${who} says an image is too large${words}. Send a smaller one`
    case "provider_policy_blocked":
      return `${who} has no endpoint for ${model} that your privacy settings allow${words}. Change them at the provider, or choose another model`
    case "content_policy_blocked":
      return `${who} refused the request for its content${words}. Say it differently, or choose another model`
    case "multimodal_tool_content_unsupported":
      return `${who} takes no images in tool results${words}`
    case "thinking_signature":
    case "invalid_encrypted_content":
      return `${who} does not accept its earlier reasoning back${words}`
    case "long_context_tier":
      return `${who} charges extra for a conversation this long${words}`
    case "oauth_long_context_beta_forbidden":
      return `${who} does not give this login the long context${words}`
    case "llama_cpp_grammar_pattern":
      return `${who} cannot read the pattern of a tool's parameters${words}`
    case "unknown":
    case "format_error":
    case "server_error":
    case "timeout":
      if (facts.leadsTo !== undefined)
        return `${who} sends the request on to ${facts.leadsTo}, where no key is sent. Correct its base_url`
      if (status === 404) return `${who} has nothing to answer with at that address${words}. Check its base_url`
      if (refusesAddress(facts)) return `${who} answered with an error${words}. Check its base_url`
      return `${who} answered with an error${words}`
    default:
      return assertNever(reason)
  }
}

/** Only what is no model server says such things: it knows neither the path nor the method, or answers a request with a page. */
function refusesAddress({ status, webPage, said }: SentenceFacts): boolean {
  if (status === 405 || status === 501) return true
  return (webPage === true && (status ?? 500) < 500) || /unexpected endpoint|cannot post|no route matched/i.test(said)
}

/** Gateways say it when the server behind them has not answered. */
const UPSTREAM_TIMEOUTS: readonly number[] = [504, 524]

const QUICK_MS = 10_000
const SLOW_MS = 60_000

/**
 * What is probably behind a failure that says nothing of its cause, for the last message about it; undefined when nothing is known.
 * An answer that was none is judged by the time it took.
 */
export function causeHint(failure: HintFacts, elapsedMs: number): string | undefined {
  const { reason, status, invalidReply, foreign } = failure
  if (status !== null) {
    if (UPSTREAM_TIMEOUTS.includes(status)) return "what answers behind it took too long; try again later"
    return reason === "server_error" && status !== 501
      ? "the trouble is on the provider's side; try again later"
      : undefined
  }
  if (failure.connectionLost === true) return "try again later, or check its base_url"
  if (invalidReply !== true || foreign === true) return undefined
  if (elapsedMs < QUICK_MS) return "it came at once, so the provider probably limits the number of requests"
  return elapsedMs > SLOW_MS ? "it took long, so what answers behind the provider probably ran out of time" : undefined
}

interface HintFacts {
  readonly reason: Verdict["reason"]
  readonly status: number | null
  readonly invalidReply?: boolean
  readonly foreign?: boolean
  readonly connectionLost?: boolean
}

/** Google names the quota that ran out: `…free_tier_requests`. */
const FREE_TIER = /free_tier/i
const FREE_TIER_ADVICE =
  "this key belongs to the free tier, which allows only a few requests per minute and day. Turn on billing for its project at https://aistudio.google.com/apikey, or use another key"

/** The same for a request that got no answer: then nobody said anything, and the sentence must not claim it. */
export function transportSentence(reason: Verdict["reason"], facts: SentenceFacts): string {
  if (reason === "context_overflow") {
    return `${facts.who} broke off (${facts.said}): the conversation is probably longer than ${facts.model} can read`
  }
  const lost = reason === "timeout" || reason === "unknown"
  return lost ? `${facts.who} could not be reached: ${facts.said}` : failureSentence(reason, facts)
}

/** A connection's failure in words: of its code where we know it, else its own with the code. */
export function explainTransport(message: string, codes: readonly string[]): string {
  const known = codes.find((code) => Object.hasOwn(TRANSPORT_SENTENCES, code))
  if (known !== undefined) return TRANSPORT_SENTENCES[known] ?? message
  // What a proxy did is told in our own words already.
  return codes[0] === undefined || codes[0].startsWith("ERR_PROXY_") ? message : `${message} (${codes[0]})`
}

const TRUST_IT = "name the file of its authority in SSL_CERT_FILE"

const TRANSPORT_SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens at that address; start the server or correct its base_url",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while sending",
  ENOTFOUND: "the host name is unknown; correct its base_url",
  EAI_AGAIN: "the host name could not be looked up; is the network up?",
  ENETUNREACH: "the network is unreachable; is it up?",
  EHOSTUNREACH: "the host is unreachable; is the network up?",
  ETIMEDOUT: "the connection timed out",
  ERR_TOTAL_TIME: "the answer took longer than allowed; allow more with HERMES_API_TIMEOUT",
  ERR_INVALID_URL: "the address is not a URL; correct its base_url",
  HPE_INVALID_CONSTANT: "what answers there does not speak HTTP; check that the address is a model server",
  CERT_HAS_EXPIRED: "its certificate has expired; tell its owner, or set this machine's clock",
  DEPTH_ZERO_SELF_SIGNED_CERT: `its certificate is self-signed; ${TRUST_IT}`,
  SELF_SIGNED_CERT_IN_CHAIN: `its certificate chain is self-signed; ${TRUST_IT}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `its certificate cannot be verified; ${TRUST_IT}`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: `its certificate cannot be verified; ${TRUST_IT}`,
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host; correct its base_url",
  EPROTO: "the TLS handshake failed; is it an https address?",
  ERR_SSL_WRONG_VERSION_NUMBER: "the TLS handshake failed; is it an https address?",
}
