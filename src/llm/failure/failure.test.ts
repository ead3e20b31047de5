import { describe, expect, test } from "vitest"

import { classifyMalformed, classifyResponse, classifyTransport } from "./failure.ts"
import type { FailureReason, LlmFailure } from "./failure.ts"

const NOW = Date.UTC(2026, 0, 1)
const CONTEXT = {
  provider: "acme",
  model: "m-1",
  baseUrl: "https://acme.test/v1",
  now: NOW,
  approxTokens: 1000,
  contextLength: 200_000,
  numMessages: 3,
}

/** The flags as the letters of the specification: R retry, C compress, K rotate the key, F fall back. */
function flags({ retryable, compress, rotateCredential, fallback }: LlmFailure): string {
  return `${retryable ? "R" : ""}${compress ? "C" : ""}${rotateCredential ? "K" : ""}${fallback ? "F" : ""}`
}

function says(message: string): string {
  return JSON.stringify({ error: { message } })
}

type Verdict = readonly [FailureReason, string]

const BILLING: Verdict = ["billing", "KF"]
const RATE_LIMIT: Verdict = ["rate_limit", "RKF"]
const OVERFLOW: Verdict = ["context_overflow", "RC"]
const BAD_REQUEST: Verdict = ["format_error", "F"]
const TIMEOUT: Verdict = ["timeout", "R"]

describe("what a refusal for length says", () => {
  test.each([
    [
      "max_tokens: 32768 > context_window: 200000 - input_tokens: 190000 = available_tokens: 10000",
      { availableOutputTokens: 10_000 },
    ],
    [
      "maximum context length is 131072 tokens (100000 of text input, 8000 of tool input, 32768 in the output)",
      { windowTokens: 131_072, availableOutputTokens: 23_072 },
    ],
    ["maximum context length is 32768 tokens", { windowTokens: 32_768 }],
    ["prompt is too long: 250000 tokens > 200000 maximum", { windowTokens: 200_000 }],
    ["the input is too long (context_length_exceeded: 131072)", {}],
  ])("%s", (said, numbers) => {
    const { reason, compress, windowTokens, availableOutputTokens } = refused(400, said)
    expect({ reason, compress, windowTokens, availableOutputTokens }).toEqual({
      reason: "context_overflow",
      compress: true,
      windowTokens: undefined,
      availableOutputTokens: undefined,
      ...numbers,
    })
  })

  test("numbers of other refusals are no windows", () => {
    expect(refused(429, "Rate limit: 100000 token limit per minute")).not.toHaveProperty("windowTokens")
  })

  test.each([
    [400, 50_001, 3, true],
    [400, 50_000, 81, true],
    [400, 50_000, 80, undefined],
    [422, 90_000, 90, undefined],
  ])("a %i for %i tokens in %i messages may be about length: %s", (status, approxTokens, numMessages, expected) => {
    const context = { ...CONTEXT, contextLength: 1_000_000, approxTokens, numMessages }
    const failure = classifyResponse({ status, headers: {}, body: says("this field is not what we expected") }, context)
    expect(failure.mayBeTooLong).toBe(expected)
  })
})

test.each([
  [400, "This model does not support image input", true],
  [404, "No endpoints found that support image input", true],
  [400, "Invalid content type. image_url is only supported by certain models.", true],
  [400, "image exceeds 5 MB", undefined],
  [500, "This model does not support image input", undefined],
])("%i %s: refuses images %s", (status, said, expected) => {
  expect(refused(status, said).refusesImages).toBe(expected)
})

test("the limits of the free tier are explained", () => {
  const quota = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
  expect(refused(429, `Quota exceeded for metric: ${quota}`).message).toBe(
    "acme (HTTP 429) limits the number of requests: this key belongs to the free tier, which allows only a few requests per minute and day. Turn on billing for its project at https://aistudio.google.com/apikey, or use another key",
  )
  expect(refused(429, "Quota exceeded").message).not.toContain("free tier")
})

test.each([
  [429, "0", "120", 120],
  [429, "0", "30", undefined],
  [429, "4", "120", undefined],
  [503, "0", "120", undefined],
])("%i with %s left for %s s: used up for %s", (status, remaining, reset, expected) => {
  const headers = {
    "x-ratelimit-limit-requests-1h": "10",
    "x-ratelimit-remaining-requests-1h": remaining,
    "x-ratelimit-reset-requests-1h": reset,
  }
  expect(classifyResponse({ status, headers, body: "" }, CONTEXT).usedUpSeconds).toBe(expected)
})

function refused(status: number, said: string): LlmFailure {
  return classifyResponse({ status, headers: {}, body: says(said) }, CONTEXT)
}

describe("a status and its body", () => {
  const raw = JSON.stringify({ error: { message: "context length exceeded" } })
  const vectors: readonly [number, string, Verdict][] = [
    [401, "", ["auth", "KF"]],
    [403, "", ["auth", "F"]],
    [403, says("Key limit exceeded"), BILLING],
    [403, says("Your spending limit is reached"), BILLING],
    [402, "", BILLING],
    [402, says("insufficient credits"), BILLING],
    [402, says("Usage limit reached, try again in 5 minutes"), RATE_LIMIT],
    [402, says("Your quota is used; it resets at 12:00"), RATE_LIMIT],
    [404, says("x is not a valid model"), ["model_not_found", "F"]],
    [404, "", ["unknown", "R"]],
    [404, "<!DOCTYPE html><p>This page does not exist</p>", ["unknown", "R"]],
    [
      404,
      says("No endpoints available matching your guardrail restrictions and data policy"),
      ["provider_policy_blocked", ""],
    ],
    [404, says("This model is not available on the free tier"), BILLING],
    [408, "", TIMEOUT],
    [413, "", ["payload_too_large", "RC"]],
    [418, "", BAD_REQUEST],
    [422, "", BAD_REQUEST],
    [429, "", RATE_LIMIT],
    [429, says("extra usage required for long context"), ["long_context_tier", "RC"]],
    [500, "", ["server_error", "R"]],
    [502, "", ["server_error", "R"]],
    [502, says("unknown parameter: foo"), BAD_REQUEST],
    [500, '{"error":{"message":"no","type":"invalid_request_error"}}', BAD_REQUEST],
    [504, "", ["server_error", "R"]],
    [503, "", ["overloaded", "R"]],
    [529, "", ["overloaded", "R"]],
    [400, says("Invalid signature in thinking block"), ["thinking_signature", "R"]],
    [400, says("thinking blocks cannot be modified"), ["thinking_signature", "R"]],
    [400, says("long context beta is not yet available"), ["oauth_long_context_beta_forbidden", "R"]],
    [400, says("error parsing grammar"), ["llama_cpp_grammar_pattern", "R"]],
    [400, says("Unable to generate parser for this template"), ["llama_cpp_grammar_pattern", "R"]],
    [400, says("text is not set"), ["multimodal_tool_content_unsupported", "R"]],
    [400, says("image exceeds 5 MB"), ["image_too_large", "R"]],
    [400, '{"error":{"code":"invalid_encrypted_content"}}', ["invalid_encrypted_content", "R"]],
    [400, says("Encrypted content for item rs_1 could not be verified"), ["invalid_encrypted_content", "R"]],
    [400, says("Unsupported parameter: 'max_tokens'"), BAD_REQUEST],
    [400, '{"error":{"message":"no","code":"unknown_parameter"}}', BAD_REQUEST],
    [400, says("maximum context length is 128000"), OVERFLOW],
    [400, '{"error":{"message":"Too much for us, sorry.","code":"context_length_exceeded"}}', OVERFLOW],
    [400, JSON.stringify({ error: { message: "Provider returned error", metadata: { raw } } }), OVERFLOW],
    [400, '{"error":{"message":"sorry","type":"invalid_request_error"}}', BAD_REQUEST],
    [400, says("No endpoints found matching your data policy"), ["provider_policy_blocked", ""]],
    [400, says("unknown model x"), ["model_not_found", "F"]],
    [400, '{"__type":"ThrottlingException","message":"slow down"}', RATE_LIMIT],
    [400, says("Your credit balance is too low"), BILLING],
    [400, '{"error":"bad field"}', BAD_REQUEST],
    [
      400,
      '{"error":{"message":"no","innererror":{"code":"ResponsibleAIPolicyViolation"}}}',
      ["content_policy_blocked", "F"],
    ],
    [400, says("The content filter module is fine, the request is not"), BAD_REQUEST],
    [403, says("You do not have an active Grok subscription"), ["auth", "F"]],
    [503, says("grok is out of available resources"), ["auth", "F"]],
  ]
  test.each(vectors)("%i %s", (code, body, [reason, letters]) => {
    const failure = classifyResponse({ status: code, headers: {}, body }, CONTEXT)
    expect([failure.status, failure.reason, flags(failure)]).toEqual([code, reason, letters])
  })

  test.each<[number, number, number, Verdict]>([
    [90_000, 200_000, 3, OVERFLOW],
    [1000, 200_000, 3, BAD_REQUEST],
    [1000, 200_000, 81, OVERFLOW],
    [90_000, 1_000_000, 300, BAD_REQUEST],
    [410_000, 1_000_000, 3, OVERFLOW],
    [3500, 8000, 3, OVERFLOW],
  ])(
    "a 400 that says only Error with %i of %i tokens in %i messages",
    (approxTokens, contextLength, numMessages, verdict) => {
      const context = { ...CONTEXT, approxTokens, contextLength, numMessages }
      const failure = classifyResponse({ status: 400, headers: {}, body: says("Error") }, context)
      expect([failure.reason, flags(failure)]).toEqual(verdict)
      const clear = classifyResponse(
        { status: 400, headers: {}, body: says("The field `foo` has a wrong value.") },
        context,
      )
      expect(clear.reason).toBe("format_error")
    },
  )
})

describe("an error inside a stream", () => {
  test.each<[string, Verdict]>([
    ['{"error":{"code":429,"message":"slow down"}}', RATE_LIMIT],
    ['{"error":{"code":502,"message":"upstream"}}', ["server_error", "R"]],
    ['{"error":{"code":"insufficient_quota"}}', BILLING],
    ['{"error":{"status":"RESOURCE_EXHAUSTED"}}', ["rate_limit", "RK"]],
    ['{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached"}}', ["rate_limit", "RK"]],
    ['{"code":"invalid_model"}', ["model_not_found", "F"]],
    ['{"error":{"code":"context_length_exceeded"}}', OVERFLOW],
    ['{"error":{"code":"invalid_encrypted_content"}}', ["invalid_encrypted_content", "R"]],
    ['{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', ["overloaded", "R"]],
    ['{"type":"error","error":{"type":"api_error","message":"Internal"}}', ["server_error", "R"]],
    [says("flagged for possible cybersecurity risk"), ["content_policy_blocked", "F"]],
    [says("You do not have an active Grok subscription"), ["auth", "F"]],
    [says("payload too large"), ["payload_too_large", "RC"]],
    [says("expected string, got list"), ["multimodal_tool_content_unsupported", "R"]],
    [says("image too large"), ["image_too_large", "R"]],
    [says("usage limit reached for this key"), BILLING],
    [says("usage limit reached for this key, resets at 5pm"), RATE_LIMIT],
    [says("out of funds"), BILLING],
    [says("too many requests"), RATE_LIMIT],
    [says("prompt is too long"), OVERFLOW],
    [says("invalid api key"), ["auth", "KF"]],
    [says("no endpoints found matching your data policy"), ["provider_policy_blocked", ""]],
    [says("no such model"), ["model_not_found", "F"]],
    [says("deadline exceeded"), TIMEOUT],
    [says("boom"), ["unknown", "R"]],
  ])("%s", (body, verdict) => {
    const failure = classifyResponse({ status: null, headers: {}, body }, CONTEXT)
    expect([failure.reason, flags(failure)]).toEqual(verdict)
  })

  test("names no status it does not have", () => {
    expect(classifyResponse({ status: null, headers: {}, body: says("boom") }, CONTEXT)).toMatchObject({
      status: null,
      message: "acme answered with an error: boom",
    })
  })
})

describe("what else a response tells", () => {
  test("is one object with one sentence", () => {
    const body = JSON.stringify({
      error: { message: "Rate limit\nreached", type: "usage_limit_reached", resets_at: NOW / 1000 + 600 },
    })
    expect(classifyResponse({ status: 429, headers: { "retry-after": "3" }, body }, CONTEXT)).toEqual({
      reason: "rate_limit",
      status: 429,
      message:
        "acme (HTTP 429) limits the number of requests: Rate limit reached. Wait a moment or choose another model",
      detail: "Rate limit\nreached",
      retryable: true,
      compress: false,
      rotateCredential: true,
      fallback: true,
      retryAfterMs: 3000,
      errorCode: "usage_limit_reached",
      resetAt: NOW / 1000 + 600,
    })
  })

  test.each([
    ["3", 3000],
    ["0.5", 500],
    ["0", 0],
    ["-4", 0],
    ["100000", 120_000],
    ["Thu, 01 Jan 2026 00:00:30 GMT", 30_000],
    ["Wed, 31 Dec 2025 23:59:00 GMT", 0],
    ["soon", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("retry-after %s → %s ms", (header, wait) => {
    const failure = classifyResponse({ status: 503, headers: { "retry-after": header }, body: "" }, CONTEXT)
    expect(failure.retryAfterMs).toBe(wait)
  })

  test("a wait in milliseconds is the exact one", () => {
    const headers = { "retry-after-ms": "250", "retry-after": "1" }
    expect(classifyResponse({ status: 429, headers, body: "" }, CONTEXT).retryAfterMs).toBe(250)
  })

  test.each([
    ["<!DOCTYPE html><p>secret page</p>", ": an HTML page instead of an answer"],
    ['{"error":"plain"}', ": plain"],
    ['{"message":"bare"}', ": bare"],
    ['{"detail":"said by FastAPI"}', ": said by FastAPI"],
    ['[{"error":{"message":"said by Gemini"}}]', ": said by Gemini"],
    [
      JSON.stringify({ error: { message: "Provider returned error", metadata: { raw: says("inner") } } }),
      ": Provider returned error (inner)",
    ],
    ["just text\n", ": just text"],
    ["[]", ": []"],
    ["", ""],
    ["x".repeat(400), `: ${"x".repeat(297)}...`],
  ])("the server's words %j", (body, said) => {
    const failure = classifyResponse({ status: 500, headers: {}, body }, CONTEXT)
    expect(failure.message).toBe(`acme (HTTP 500) answered with an error${said}`)
  })

  test.each([
    [401, "", "acme (HTTP 401) refused the key. Check it with `hermes auth list acme`"],
    [402, "", "acme (HTTP 402) says the account has no credit. Add credit, or choose another model with --model"],
    [503, "", "acme (HTTP 503) is overloaded. Try again in a moment"],
    [404, "no such model", "acme (HTTP 404) does not know the model m-1: no such model. Choose another with --model"],
    [404, "", "acme (HTTP 404) has nothing to answer with at that address. Check its base_url"],
    [
      404,
      says('model "m-1" not found, try pulling it first'),
      'acme (HTTP 404) does not know the model m-1: model "m-1" not found, try pulling it first. Choose another with --model',
    ],
    [401, says("Wrong key."), "acme (HTTP 401) refused the key: Wrong key. Check it with `hermes auth list acme`"],
    [
      403,
      "<html>",
      "acme (HTTP 403) refused the key: an HTML page instead of an answer. Check it with `hermes auth list acme`, and its base_url",
    ],
    [405, "<html>", "acme (HTTP 405) answered with an error: an HTML page instead of an answer. Check its base_url"],
    [501, "Unsupported method", "acme (HTTP 501) answered with an error: Unsupported method. Check its base_url"],
    [502, "<html>", "acme (HTTP 502) answered with an error: an HTML page instead of an answer"],
    [
      null,
      says("Unexpected endpoint or method."),
      "acme answered with an error: Unexpected endpoint or method. Check its base_url",
    ],
    [413, "", "acme (HTTP 413) says the request is too large"],
    [400, "context length", "acme (HTTP 400) says the conversation is longer than m-1 can read: context length"],
    [400, "image too large", "acme (HTTP 400) says an image is too large: image too large. Send a smaller one"],
    [
      400,
      "content_filter",
      "acme (HTTP 400) refused the request for its content: content_filter. Say it differently, or choose another model",
    ],
  ])("%i %s is told as: %s", (status, body, message) => {
    expect(classifyResponse({ status, headers: {}, body }, CONTEXT).message).toBe(message)
  })
})

test("a redirect is told, not followed and not tried again", () => {
  const headers = { location: "https://login.example.com/start?state=secret" }
  const failure = classifyResponse({ status: 302, headers, body: "" }, CONTEXT)
  expect([failure.message, failure.retryable, failure.fallback]).toEqual([
    "acme (HTTP 302) sends the request on to https://login.example.com/start, where no key is sent. Correct its base_url",
    false,
    true,
  ])
})

describe("classifyTransport", () => {
  test.each([
    ["ERR_PROXY_FOREIGN", false, true],
    ["ERR_PROXY_LOGIN", false, true],
    ["ERR_PROXY_TIMEOUT", true, false],
  ])("%s: asked again %s, another model %s", (code, retryable, fallback) => {
    const failure = classifyTransport(Object.assign(new Error("odd"), { code }), CONTEXT)
    expect([failure.reason, failure.retryable, failure.fallback]).toEqual(["timeout", retryable, fallback])
  })

  test.each([
    ["ECONNREFUSED", "nothing listens at that address; start the server or correct its base_url", {}],
    ["ECONNRESET", "the connection was reset", { connectionLost: true }],
    ["ETIMEDOUT", "the connection timed out", { connectionLost: true }],
    ["ERR_TOTAL_TIME", "the answer took longer than allowed; allow more with HERMES_API_TIMEOUT", {}],
    ["EAI_AGAIN", "the host name could not be looked up; is the network up?", {}],
    ["ENOTFOUND", "the host name is unknown; correct its base_url", {}],
    ["CERT_HAS_EXPIRED", "its certificate has expired; tell its owner, or set this machine's clock", {}],
    ["ERR_PROXY_REFUSED", "odd", {}],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "the TLS handshake failed; is it an https address?", {}],
    ["UND_ERR_HEADERS_TIMEOUT", "odd (UND_ERR_HEADERS_TIMEOUT)", { connectionLost: true }],
  ])("%s", (code, explained, more) => {
    const error = Object.assign(new Error("odd"), { code })
    expect(classifyTransport(error, CONTEXT)).toEqual({
      reason: "timeout",
      status: null,
      message: `acme at https://acme.test/v1 could not be reached: ${explained}`,
      detail: "odd",
      retryable: true,
      compress: false,
      rotateCredential: false,
      fallback: false,
      ...more,
    })
    const wrapped = classifyTransport(new TypeError("fetch failed", { cause: error }), CONTEXT)
    expect([wrapped.reason, flags(wrapped), wrapped.detail]).toEqual(["timeout", "R", "fetch failed odd"])
  })

  test("an address that is no address is not asked again", () => {
    const error = Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL" })
    expect(classifyTransport(error, CONTEXT)).toEqual({
      reason: "format_error",
      status: null,
      message: "acme at https://acme.test/v1 could not be reached: the address is not a URL; correct its base_url",
      detail: "Invalid URL",
      retryable: false,
      compress: false,
      rotateCredential: false,
      fallback: true,
    })
  })

  test.each<[string, number, number, number, Verdict]>([
    ["server disconnected", 130_000, 200_000, 3, OVERFLOW],
    ["server disconnected", 10_000, 200_000, 3, TIMEOUT],
    ["server disconnected", 130_000, 1_000_000, 300, TIMEOUT],
    ["socket hang up", 10_000, 200_000, 201, OVERFLOW],
    ["[SSL: BAD_RECORD_MAC]", 190_000, 200_000, 3, TIMEOUT],
    ["boom", 190_000, 200_000, 3, ["unknown", "R"]],
  ])("%s at %i of %i tokens and %i messages", (message, approxTokens, contextLength, numMessages, verdict) => {
    const failure = classifyTransport(new Error(message), { ...CONTEXT, approxTokens, contextLength, numMessages })
    expect([failure.reason, flags(failure)]).toEqual(verdict)
  })

  test("a reset of a long conversation is told as too long", () => {
    const error = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })
    const failure = classifyTransport(error, { ...CONTEXT, approxTokens: 150_000 })
    expect([failure.reason, failure.message]).toEqual([
      "context_overflow",
      "acme at https://acme.test/v1 broke off (the connection was reset): the conversation is probably longer than m-1 can read",
    ])
  })

  test.each<[string, Verdict]>([
    ["ReadTimeout", TIMEOUT],
    ["APIConnectionError", TIMEOUT],
    ["AbortError", TIMEOUT],
    ["RateLimitError", RATE_LIMIT],
    ["OddError", ["unknown", "R"]],
  ])("an error called %s", (name, verdict) => {
    const failure = classifyTransport(Object.assign(new Error("x"), { name }), CONTEXT)
    expect([failure.reason, flags(failure)]).toEqual(verdict)
  })

  test("the status of a cause counts", () => {
    const cause = Object.assign(new Error("refused"), { statusCode: 401 })
    expect(classifyTransport(new Error("x", { cause }), CONTEXT)).toMatchObject({ reason: "auth", status: 401 })
  })

  test("the name of the host is no evidence", () => {
    const error = Object.assign(new Error("getaddrinfo ENOTFOUND quota.example"), { code: "ENOTFOUND" })
    expect(classifyTransport(error, { ...CONTEXT, baseUrl: "https://quota.example" }).reason).toBe("timeout")
  })

  test("what is no error is quoted", () => {
    expect(classifyTransport("odd", CONTEXT).message).toBe("acme at https://acme.test/v1 could not be reached: odd")
  })
})

test("an answer that is no reply says to check the address", () => {
  expect(classifyMalformed({ why: "an empty stream" }, CONTEXT)).toEqual({
    reason: "server_error",
    status: null,
    message: "acme at https://acme.test/v1 answered with an empty stream; check that the address is a model server",
    detail: "an empty stream",
    retryable: true,
    compress: false,
    rotateCredential: false,
    fallback: true,
    invalidReply: true,
  })
})

test("a probe without a size is never too long", () => {
  const { approxTokens: _tokens, numMessages: _messages, contextLength: _length, ...probe } = CONTEXT
  expect(classifyResponse({ status: 400, headers: {}, body: "" }, probe).reason).toBe("format_error")
})
