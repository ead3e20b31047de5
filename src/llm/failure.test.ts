import { describe, expect, test } from "vitest"

import { classifyMalformed, classifyResponse, classifyTransport } from "./failure.ts"

const NOW = Date.UTC(2026, 0, 1)
const CONTEXT = { provider: "acme", model: "m-1", baseUrl: "https://acme.test/v1", now: NOW }

describe("classifyResponse", () => {
  test.each([
    [401, "", { reason: "auth", retryable: false }],
    [403, "", { reason: "auth", retryable: false }],
    [402, "", { reason: "billing", retryable: false }],
    [404, '{"error":{"message":"The model does not exist"}}', { reason: "model_not_found", retryable: false }],
    [404, "page not found", { reason: "unknown", retryable: true }],
    [408, "", { reason: "timeout", retryable: true }],
    [413, "", { reason: "payload_too_large", retryable: false }],
    [429, "", { reason: "rate_limit", retryable: true }],
    [500, "", { reason: "server_error", retryable: true }],
    [502, "", { reason: "server_error", retryable: true }],
    [503, "", { reason: "overloaded", retryable: true }],
    [529, "", { reason: "overloaded", retryable: true }],
    [
      400,
      '{"error":{"message":"maximum context length is 8192 tokens"}}',
      { reason: "context_overflow", retryable: false },
    ],
    [400, '{"error":"bad field"}', { reason: "format_error", retryable: false }],
    [422, "", { reason: "format_error", retryable: false }],
  ])("%i %s", (code, body, expected) => {
    expect(classifyResponse({ status: code, headers: {}, body }, CONTEXT)).toMatchObject({ ...expected, status: code })
  })

  test("is one object with one sentence", () => {
    const body = JSON.stringify({ error: { message: "Rate limit\nreached", type: "x" } })
    expect(classifyResponse({ status: 429, headers: { "retry-after": "3" }, body }, CONTEXT)).toEqual({
      reason: "rate_limit",
      status: 429,
      message:
        "acme (HTTP 429) limits the number of requests: Rate limit reached. Wait a moment or choose another model",
      retryable: true,
      retryAfterMs: 3000,
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
    ["<!DOCTYPE html><p>secret page</p>", ": an HTML page instead of an answer"],
    ['{"error":"plain"}', ": plain"],
    ['{"message":"bare"}', ": bare"],
    ["just text\n", ": just text"],
    ["", ""],
    ["x".repeat(400), `: ${"x".repeat(297)}...`],
  ])("the server's words %j", (body, said) => {
    const failure = classifyResponse({ status: 500, headers: {}, body }, CONTEXT)
    expect(failure.message).toBe(`acme (HTTP 500) answered with an error${said}`)
  })
})

describe("classifyTransport", () => {
  test.each([
    ["ECONNREFUSED", "nothing listens at that address", true],
    ["ECONNRESET", "the connection was reset", true],
    ["ETIMEDOUT", "the connection timed out", true],
    ["EAI_AGAIN", "the host name could not be looked up; is the network up?", true],
    ["ENOTFOUND", "the host name is unknown", false],
    ["ERR_INVALID_URL", "the address is not a URL", false],
    ["CERT_HAS_EXPIRED", "its certificate has expired", true],
    ["EODD", "odd (EODD)", true],
  ])("%s", (code, explained, retryable) => {
    const expected = {
      reason: "timeout",
      status: null,
      message: `acme at https://acme.test/v1 could not be reached: ${explained}`,
      retryable,
    }
    const error = Object.assign(new Error("odd"), { code })
    expect(classifyTransport(error, CONTEXT)).toEqual(expected)
    expect(classifyTransport(new Error("wrapped", { cause: error }), CONTEXT).retryable).toBe(retryable)
  })

  test("an error without a code is quoted", () => {
    expect(classifyTransport(new Error("odd"), CONTEXT).message).toBe(
      "acme at https://acme.test/v1 could not be reached: odd",
    )
  })
})

test("an answer that is no reply says to check the address", () => {
  expect(classifyMalformed("an empty stream", CONTEXT)).toEqual({
    reason: "server_error",
    status: null,
    message: "acme at https://acme.test/v1 answered with an empty stream; check that the address is a model server",
    retryable: true,
  })
})
