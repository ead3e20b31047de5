import { describe, expect, test } from "vitest"

import { classifyUnusableReply, classifyResponse, classifyTransportError } from "./failure.ts"
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

/** The flags as letters: R retry, C compress, K rotate the key, F fall back. */
function flags({ retryable, compress, rotateCredential, fallback }: LlmFailure): string {
  return `${retryable ? "R" : ""}${compress ? "C" : ""}${rotateCredential ? "K" : ""}${fallback ? "F" : ""}`
}

function errorBody(message: string): string {
  return JSON.stringify({ error: { message } })
}

type Expected = readonly [FailureReason, string]

const BILLING: Expected = ["billing", "KF"]
const RATE_LIMIT: Expected = ["rate_limit", "RKF"]
const OVERFLOW: Expected = ["context_overflow", "RC"]
const BAD_REQUEST: Expected = ["format_error", "F"]
const TIMEOUT: Expected = ["timeout", "R"]

describe("the rejection of a request that is too long", () => {
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
  ])("%s", (message, numbers) => {
    const { reason, compress, windowTokens, availableOutputTokens } = classified(400, message)
    expect({ reason, compress, windowTokens, availableOutputTokens }).toEqual({
      reason: "context_overflow",
      compress: true,
      windowTokens: undefined,
      availableOutputTokens: undefined,
      ...numbers,
    })
  })

  test("numbers in other rejections are not context windows", () => {
    expect(classified(429, "Rate limit: 100000 token limit per minute")).not.toHaveProperty("windowTokens")
  })

  test.each([
    [400, 50_001, 3, true],
    [400, 50_000, 81, true],
    [400, 50_000, 80, undefined],
    [422, 90_000, 90, undefined],
  ])("a %i for %i tokens in %i messages may mean too long: %s", (status, approxTokens, numMessages, expected) => {
    const context = { ...CONTEXT, contextLength: 1_000_000, approxTokens, numMessages }
    const failure = classifyResponse(
      { status, headers: {}, body: errorBody("this field is not what we expected") },
      context,
    )
    expect(failure.mayBeTooLong).toBe(expected)
  })
})

test.each([
  [400, "This model does not support image input", true],
  [404, "No endpoints found that support image input", true],
  [400, "Invalid content type. image_url is only supported by certain models.", true],
  [400, "image exceeds 5 MB", undefined],
  [500, "This model does not support image input", undefined],
])("%i %s: refuses images %s", (status, message, expected) => {
  expect(classified(status, message).refusesImages).toBe(expected)
})

test.each([
  [400, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", true],
  [400, "The `content[].thinking` in the thinking mode must be passed back to the API.", true],
  [400, "Invalid signature in thinking block", undefined],
  [500, "Expected `thinking` or `redacted_thinking`, but found `text`.", undefined],
])("%i %s: requires thinking %s", (status, message, expected) => {
  expect(classified(status, message).requiresThinking).toBe(expected)
})

test.each([
  [403, "User: x is not authorized to perform: bedrock:InvokeModelWithResponseStream on resource: y", true],
  [403, "User: x is not authorized to perform: bedrock:InvokeModel on resource: y", undefined],
  [400, "bedrock:InvokeModelWithResponseStream", undefined],
  [400, "Streaming is not supported for this model", true],
  [500, "Streaming is not supported for this model", undefined],
])("%i %s: refuses streaming %s", (status, message, expected) => {
  expect(classified(status, message).refusesStreaming).toBe(expected)
})

test.each([
  [400, "Unknown field: stream_options", true],
  [500, "Unknown field: stream_options", undefined],
  [400, "Unknown field: stream", undefined],
])("%i %s: refuses stream_options %s", (status, message, expected) => {
  expect(classified(status, message).refusesStreamOptions).toBe(expected)
})

test("the free tier's limits are explained", () => {
  const quota = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
  expect(classified(429, `Quota exceeded for metric: ${quota}`).message).toBe(
    "acme (HTTP 429) limits the number of requests: this key belongs to the free tier, which allows only a few requests per minute and day. Turn on billing for its project at https://aistudio.google.com/apikey, or use another key",
  )
  expect(classified(429, "Quota exceeded").message).not.toContain("free tier")
})

test.each([
  [429, "0", "120", 120],
  [429, "0", "30", undefined],
  [429, "4", "120", undefined],
  [503, "0", "120", undefined],
])("%i with %s remaining for %s s: exhausted for %s", (status, remaining, reset, expected) => {
  const headers = {
    "x-ratelimit-limit-requests-1h": "10",
    "x-ratelimit-remaining-requests-1h": remaining,
    "x-ratelimit-reset-requests-1h": reset,
  }
  expect(classifyResponse({ status, headers, body: "" }, CONTEXT).limitExhaustedSeconds).toBe(expected)
})

function classified(status: number, message: string): LlmFailure {
  return classifyResponse({ status, headers: {}, body: errorBody(message) }, CONTEXT)
}

describe("a status and its body", () => {
  const raw = JSON.stringify({ error: { message: "context length exceeded" } })
  const vectors: readonly [number, string, Expected][] = [
    [401, "", ["auth", "KF"]],
    [403, "", ["auth", "F"]],
    [403, errorBody("Key limit exceeded"), BILLING],
    [403, errorBody("Your spending limit is reached"), BILLING],
    [402, "", BILLING],
    [402, errorBody("insufficient credits"), BILLING],
    [402, errorBody("Usage limit reached, try again in 5 minutes"), RATE_LIMIT],
    [402, errorBody("Your quota is used; it resets at 12:00"), RATE_LIMIT],
    [404, errorBody("x is not a valid model"), ["model_not_found", "F"]],
    [404, "", ["unknown", "R"]],
    [404, "<!DOCTYPE html><p>This page does not exist</p>", ["unknown", "R"]],
    [
      404,
      errorBody("No endpoints available matching your guardrail restrictions and data policy"),
      ["provider_policy_blocked", ""],
    ],
    [404, errorBody("This model is not available on the free tier"), BILLING],
    [408, "", TIMEOUT],
    [413, "", ["payload_too_large", "RC"]],
    [418, "", BAD_REQUEST],
    [422, "", BAD_REQUEST],
    [429, "", RATE_LIMIT],
    [429, errorBody("extra usage required for long context"), ["long_context_tier", "RC"]],
    [500, "", ["server_error", "R"]],
    [502, "", ["server_error", "R"]],
    [502, errorBody("unknown parameter: foo"), BAD_REQUEST],
    [500, '{"error":{"message":"no","type":"invalid_request_error"}}', BAD_REQUEST],
    [504, "", ["server_error", "R"]],
    [503, "", ["overloaded", "R"]],
    [529, "", ["overloaded", "R"]],
    [400, errorBody("Invalid signature in thinking block"), ["thinking_signature", "R"]],
    [400, errorBody("thinking blocks cannot be modified"), ["thinking_signature", "R"]],
    [400, errorBody("long context beta is not yet available"), ["oauth_long_context_beta_forbidden", "R"]],
    [400, errorBody("error parsing grammar"), ["llama_cpp_grammar_pattern", "R"]],
    [400, errorBody("Unable to generate parser for this template"), ["llama_cpp_grammar_pattern", "R"]],
    [400, errorBody("text is not set"), ["multimodal_tool_content_unsupported", "R"]],
    [400, errorBody("image exceeds 5 MB"), ["image_too_large", "R"]],
    [400, '{"error":{"code":"invalid_encrypted_content"}}', ["invalid_encrypted_content", "R"]],
    [400, errorBody("Encrypted content for item rs_1 could not be verified"), ["invalid_encrypted_content", "R"]],
    [400, errorBody("Unsupported parameter: 'max_tokens'"), BAD_REQUEST],
    [400, '{"error":{"message":"no","code":"unknown_parameter"}}', BAD_REQUEST],
    [400, errorBody("maximum context length is 128000"), OVERFLOW],
    [400, '{"error":{"message":"Too much for us, sorry.","code":"context_length_exceeded"}}', OVERFLOW],
    [400, JSON.stringify({ error: { message: "Provider returned error", metadata: { raw } } }), OVERFLOW],
    [400, '{"error":{"message":"sorry","type":"invalid_request_error"}}', BAD_REQUEST],
    [400, errorBody("No endpoints found matching your data policy"), ["provider_policy_blocked", ""]],
    [400, errorBody("unknown model x"), ["model_not_found", "F"]],
    [400, '{"__type":"ThrottlingException","message":"slow down"}', RATE_LIMIT],
    [400, errorBody("Your credit balance is too low"), BILLING],
    [400, '{"error":"bad field"}', BAD_REQUEST],
    [
      400,
      '{"error":{"message":"no","innererror":{"code":"ResponsibleAIPolicyViolation"}}}',
      ["content_policy_blocked", "F"],
    ],
    [400, errorBody("The content filter module is fine, the request is not"), BAD_REQUEST],
    [403, errorBody("You do not have an active Grok subscription"), ["auth", "F"]],
    [503, errorBody("grok is out of available resources"), ["auth", "F"]],
  ]
  test.each(vectors)("%i %s", (code, body, [reason, letters]) => {
    const failure = classifyResponse({ status: code, headers: {}, body }, CONTEXT)
    expect([failure.status, failure.reason, flags(failure)]).toEqual([code, reason, letters])
  })

  test.each<[number, number, number, Expected]>([
    [90_000, 200_000, 3, OVERFLOW],
    [1000, 200_000, 3, BAD_REQUEST],
    [1000, 200_000, 81, OVERFLOW],
    [90_000, 1_000_000, 300, BAD_REQUEST],
    [410_000, 1_000_000, 3, OVERFLOW],
    [3500, 8000, 3, OVERFLOW],
  ])(
    "a 400 with the message Error for %i of %i tokens in %i messages",
    (approxTokens, contextLength, numMessages, expected) => {
      const context = { ...CONTEXT, approxTokens, contextLength, numMessages }
      const failure = classifyResponse({ status: 400, headers: {}, body: errorBody("Error") }, context)
      expect([failure.reason, flags(failure)]).toEqual(expected)
      const clear = classifyResponse(
        { status: 400, headers: {}, body: errorBody("The field `foo` has a wrong value.") },
        context,
      )
      expect(clear.reason).toBe("format_error")
    },
  )
})

describe("an error inside a stream", () => {
  test.each<[string, Expected]>([
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
    [errorBody("flagged for possible cybersecurity risk"), ["content_policy_blocked", "F"]],
    [errorBody("You do not have an active Grok subscription"), ["auth", "F"]],
    [errorBody("payload too large"), ["payload_too_large", "RC"]],
    [errorBody("expected string, got list"), ["multimodal_tool_content_unsupported", "R"]],
    [errorBody("image too large"), ["image_too_large", "R"]],
    [errorBody("usage limit reached for this key"), BILLING],
    [errorBody("usage limit reached for this key, resets at 5pm"), RATE_LIMIT],
    [errorBody("out of funds"), BILLING],
    [errorBody("too many requests"), RATE_LIMIT],
    [errorBody("prompt is too long"), OVERFLOW],
    [errorBody("invalid api key"), ["auth", "KF"]],
    [errorBody("no endpoints found matching your data policy"), ["provider_policy_blocked", ""]],
    [errorBody("no such model"), ["model_not_found", "F"]],
    [errorBody("deadline exceeded"), TIMEOUT],
    [errorBody("boom"), ["unknown", "R"]],
  ])("%s", (body, expected) => {
    const failure = classifyResponse({ status: null, headers: {}, body }, CONTEXT)
    expect([failure.reason, flags(failure)]).toEqual(expected)
  })

  test("has no status if the body contains none", () => {
    expect(classifyResponse({ status: null, headers: {}, body: errorBody("boom") }, CONTEXT)).toMatchObject({
      status: null,
      message: "acme answered with an error: boom",
    })
  })
})

describe("other facts of a response", () => {
  test("are in one object with one message", () => {
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

  test.each([
    ["34s", 34_000],
    ["0.5s", 500],
    ["900s", 120_000],
    ["later", undefined],
  ])("RetryInfo of Google with retryDelay %s → %s ms", (retryDelay, wait) => {
    const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }
    const quota = { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [] }
    const error = { code: 429, status: "RESOURCE_EXHAUSTED", message: "Quota exceeded", details: [quota, retryInfo] }
    const failure = classifyResponse({ status: 429, headers: {}, body: JSON.stringify({ error }) }, CONTEXT)
    expect(failure.retryAfterMs).toBe(wait)
  })

  test("retry-after-ms takes precedence", () => {
    const headers = { "retry-after-ms": "250", "retry-after": "1" }
    expect(classifyResponse({ status: 429, headers, body: "" }, CONTEXT).retryAfterMs).toBe(250)
  })

  test.each([
    ["<!DOCTYPE html><p>secret page</p>", ": an HTML page instead of JSON"],
    ['{"error":"plain"}', ": plain"],
    ['{"message":"bare"}', ": bare"],
    ['{"detail":"from FastAPI"}', ": from FastAPI"],
    ['[{"error":{"message":"from Gemini"}}]', ": from Gemini"],
    [
      JSON.stringify({ error: { message: "Provider returned error", metadata: { raw: errorBody("inner") } } }),
      ": Provider returned error (inner)",
    ],
    ["just text\n", ": just text"],
    ["[]", ": []"],
    ["", ""],
    ["x".repeat(400), `: ${"x".repeat(297)}...`],
  ])("the server's message in %j", (body, message) => {
    const failure = classifyResponse({ status: 500, headers: {}, body }, CONTEXT)
    expect(failure.message).toBe(`acme (HTTP 500) answered with an error${message}`)
  })

  test.each([
    [401, "", "acme (HTTP 401) refused the key. Check it with `hermes auth list acme`"],
    [
      402,
      "",
      "acme (HTTP 402) reports that the account has no credit. Add credit, or choose another model with --model",
    ],
    [503, "", "acme (HTTP 503) is overloaded. Try again in a moment"],
    [404, "no such model", "acme (HTTP 404) does not know the model m-1: no such model. Choose another with --model"],
    [404, "", "acme (HTTP 404) found nothing at that address. Check its base_url"],
    [
      404,
      errorBody('model "m-1" not found, try pulling it first'),
      'acme (HTTP 404) does not know the model m-1: model "m-1" not found, try pulling it first. Choose another with --model',
    ],
    [401, errorBody("Wrong key."), "acme (HTTP 401) refused the key: Wrong key. Check it with `hermes auth list acme`"],
    [
      403,
      "<html>",
      "acme (HTTP 403) refused the key: an HTML page instead of JSON. Check it with `hermes auth list acme`, and its base_url",
    ],
    [405, "<html>", "acme (HTTP 405) answered with an error: an HTML page instead of JSON. Check its base_url"],
    [501, "Unsupported method", "acme (HTTP 501) answered with an error: Unsupported method. Check its base_url"],
    [502, "<html>", "acme (HTTP 502) answered with an error: an HTML page instead of JSON"],
    [
      null,
      errorBody("Unexpected endpoint or method."),
      "acme answered with an error: Unexpected endpoint or method. Check its base_url",
    ],
    [413, "", "acme (HTTP 413) rejected the request as too large"],
    [
      400,
      "context length",
      "acme (HTTP 400) reports that the conversation exceeds the context window of m-1: context length",
    ],
    [400, "image too large", "acme (HTTP 400) rejected an image as too large: image too large. Send a smaller one"],
    [
      400,
      "content_filter",
      "acme (HTTP 400) rejected the request because of its content: content_filter. Rephrase it, or choose another model",
    ],
  ])("%i %s has the message: %s", (status, body, message) => {
    expect(classifyResponse({ status, headers: {}, body }, CONTEXT).message).toBe(message)
  })
})

test("a redirect is reported, not followed and not retried", () => {
  const headers = { location: "https://login.example.com/start?state=secret" }
  const failure = classifyResponse({ status: 302, headers, body: "" }, CONTEXT)
  expect([failure.message, failure.retryable, failure.fallback]).toEqual([
    "acme (HTTP 302) redirects to https://login.example.com/start, but the key is only sent to the configured address. Correct its base_url",
    false,
    true,
  ])
})

describe("classifyTransportError", () => {
  test.each([
    ["ERR_PROXY_FOREIGN", false, true],
    ["ERR_PROXY_LOGIN", false, true],
    ["ERR_PROXY_TIMEOUT", true, false],
  ])("%s: retryable %s, fallback %s", (code, retryable, fallback) => {
    const failure = classifyTransportError(Object.assign(new Error("odd"), { code }), CONTEXT)
    expect([failure.reason, failure.retryable, failure.fallback]).toEqual(["timeout", retryable, fallback])
  })

  test.each([
    ["ECONNREFUSED", "nothing listens at that address; start the server or correct its base_url", {}],
    ["ECONNRESET", "the connection was reset", { connectionLost: true }],
    ["ETIMEDOUT", "the connection timed out", { connectionLost: true }],
    ["ERR_TOTAL_TIME", "the response took longer than allowed; raise HERMES_API_TIMEOUT", {}],
    ["EAI_AGAIN", "the host name could not be looked up; is the network up?", {}],
    ["ENOTFOUND", "the host name is unknown; check the network connection and its base_url", {}],
    ["CERT_HAS_EXPIRED", "its certificate has expired; tell its owner, or correct this machine's clock", {}],
    ["ERR_PROXY_REFUSED", "odd", {}],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "the TLS handshake failed; is it an https address?", {}],
    ["UND_ERR_HEADERS_TIMEOUT", "odd (UND_ERR_HEADERS_TIMEOUT)", { connectionLost: true }],
  ])("%s", (code, explained, more) => {
    const error = Object.assign(new Error("odd"), { code })
    expect(classifyTransportError(error, CONTEXT)).toEqual({
      reason: "timeout",
      status: null,
      message:
        code === "ECONNRESET"
          ? `acme at https://acme.test/v1 broke off before its reply was complete: ${explained}`
          : `acme at https://acme.test/v1 could not be reached: ${explained}`,
      detail: "odd",
      retryable: true,
      compress: false,
      rotateCredential: false,
      fallback: false,
      ...more,
    })
    const wrapped = classifyTransportError(new TypeError("fetch failed", { cause: error }), CONTEXT)
    expect([wrapped.reason, flags(wrapped), wrapped.detail]).toEqual(["timeout", "R", "fetch failed odd"])
  })

  test("an invalid URL is not retried", () => {
    const error = Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL" })
    expect(classifyTransportError(error, CONTEXT)).toEqual({
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

  test.each<[string, number, number, number, Expected]>([
    ["server disconnected", 130_000, 200_000, 3, OVERFLOW],
    ["server disconnected", 10_000, 200_000, 3, TIMEOUT],
    ["server disconnected", 130_000, 1_000_000, 300, TIMEOUT],
    ["socket hang up", 10_000, 200_000, 201, OVERFLOW],
    ["[SSL: BAD_RECORD_MAC]", 190_000, 200_000, 3, TIMEOUT],
    ["boom", 190_000, 200_000, 3, ["unknown", "R"]],
  ])("%s at %i of %i tokens and %i messages", (message, approxTokens, contextLength, numMessages, expected) => {
    const failure = classifyTransportError(new Error(message), { ...CONTEXT, approxTokens, contextLength, numMessages })
    expect([failure.reason, flags(failure)]).toEqual(expected)
  })

  test("a connection reset during a long conversation is reported as too long", () => {
    const error = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })
    const failure = classifyTransportError(error, { ...CONTEXT, approxTokens: 150_000 })
    expect([failure.reason, failure.message]).toEqual([
      "context_overflow",
      "acme at https://acme.test/v1 closed the connection (the connection was reset): the conversation probably exceeds the context window of m-1",
    ])
  })

  test.each<[string, Expected]>([
    ["ReadTimeout", TIMEOUT],
    ["APIConnectionError", TIMEOUT],
    ["AbortError", TIMEOUT],
    ["RateLimitError", RATE_LIMIT],
    ["OddError", ["unknown", "R"]],
  ])("an error named %s", (name, expected) => {
    const failure = classifyTransportError(Object.assign(new Error("x"), { name }), CONTEXT)
    expect([failure.reason, flags(failure)]).toEqual(expected)
  })

  test("the status of a cause is used", () => {
    const cause = Object.assign(new Error("refused"), { statusCode: 401 })
    expect(classifyTransportError(new Error("x", { cause }), CONTEXT)).toMatchObject({ reason: "auth", status: 401 })
  })

  test("the host name matches no rule", () => {
    const error = Object.assign(new Error("getaddrinfo ENOTFOUND quota.example"), { code: "ENOTFOUND" })
    expect(classifyTransportError(error, { ...CONTEXT, baseUrl: "https://quota.example" }).reason).toBe("timeout")
  })

  test("a thrown value that is not an Error is quoted", () => {
    expect(classifyTransportError("odd", CONTEXT).message).toBe(
      "acme at https://acme.test/v1 could not be reached: odd",
    )
  })
})

test("an unusable reply suggests to check the address", () => {
  expect(classifyUnusableReply({ received: "an empty stream" }, CONTEXT)).toEqual({
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
