import { createServer as createHttpServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import type { AddressInfo } from "node:net"

import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import {
  callsTool,
  corrupt,
  cutsAfter,
  emptyStream,
  hangsUp,
  htmlError,
  raw,
  refuses,
  says,
  stallsAfter,
  status,
} from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

/** Self-signed for 127.0.0.1, valid for a hundred years. Used only in tests. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg1JYfSYd+hIhzsmcM
cU5T0mGh3H+oOaoeqkrKOcLUrw+hRANCAARDPuBp+h/SZpE+/z5bgXJOQJCiaowX
+ksAd+Uw+2opr8g+VXCCAps1AcY5cjQUSOjn7tAAlOdPSyznJGYHHgbh
-----END PRIVATE KEY-----`
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBkDCCATagAwIBAgIULwcFW3t8dQ85DryN3BjQ2B6IWJIwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTExNTA3MjYwM1oYDzIxMjYxMDIy
MDcyNjAzWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARDPuBp+h/SZpE+/z5bgXJOQJCiaowX+ksAd+Uw+2opr8g+VXCCAps1
AcY5cjQUSOjn7tAAlOdPSyznJGYHHgbho2QwYjAdBgNVHQ4EFgQUnPcN6W8sbIDV
NattJoub74NH5YUwHwYDVR0jBBgwFoAUnPcN6W8sbIDVNattJoub74NH5YUwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
IETbtRrN6g2WGunypECbA8geziXILGlOkjlsfdrcWkK7AiEArXTEIxgoqxIrw7ML
5rSeDgA/o3FXvFEHw2tWd/dffQw=
-----END CERTIFICATE-----`

const WIRES = [
  ["chat_completions", "/v1", "test-model"],
  ["anthropic_messages", "", "claude-opus-4-6"],
  ["codex_responses", "/v1", "test-model"],
  ["gemini_native", "/v1beta", "gemini-2.5-pro"],
  ["bedrock_converse", "", "anthropic.claude-opus-4-6"],
] as const

const AWS = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" }
const NO_WAITS = { ...systemClock, sleep: () => Promise.resolve() }

/** The fault, the number of requests with two attempts allowed, and the failure reason that is reported. */
const FAULTS: readonly (readonly [string, () => ScriptEntry, number, string])[] = [
  ["401", () => refuses(401, "invalid key"), 1, "auth"],
  ["402 without credits", () => refuses(402, "insufficient credits"), 1, "billing"],
  ["402 with a retry time", () => refuses(402, "Usage limit reached, try again in 5 minutes"), 2, "rate_limit"],
  ["403", () => refuses(403, "not for you"), 1, "auth"],
  ["404 for the model", () => refuses(404, "x is not a valid model"), 1, "model_not_found"],
  ["404", () => status(404, "nothing here"), 2, "unknown"],
  ["408", () => refuses(408, "too slow"), 2, "timeout"],
  ["413", () => refuses(413, "too large"), 1, "payload_too_large"],
  ["429 with retry-after", () => refuses(429, "slow down", { "retry-after": "1" }), 2, "rate_limit"],
  ["429", () => refuses(429, "slow down"), 2, "rate_limit"],
  ["500", () => refuses(500, "sorry"), 2, "server_error"],
  ["502 with an HTML page", () => htmlError(502, "Bad Gateway"), 2, "server_error"],
  ["503", () => refuses(503, "busy"), 2, "overloaded"],
  ["529", () => refuses(529, "overloaded"), 2, "overloaded"],
  // The last request uses a new connection.
  ["a connection reset", () => hangsUp(), 3, "timeout"],
  ["silence before the first byte", () => says("late", { waitsFor: new Promise(() => {}) }), 3, "timeout"],
  ["silence after the headers", () => says("late", stallsAfter({ bytes: 0 })), 3, "timeout"],
  ["silence inside a frame", () => says("late", stallsAfter({ bytes: 20 })), 3, "timeout"],
  ["an empty response", () => emptyStream(), 2, "server_error"],
  [
    "an HTML page instead of a reply",
    () => raw("<html>Welcome</html>", { "content-type": "text/html" }),
    2,
    "server_error",
  ],
]

test.each(
  WIRES.flatMap(([wire, path, model]) =>
    FAULTS.map(([name, ...fault]) => [wire, name, path, model, ...fault] as const),
  ),
)("%s: %s", async (wire, _name, path, model, fault, requests, reason) => {
  await using assembled = await assembleApp([fault(), fault(), fault(), fault()], {
    basePath: path,
    model,
    config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\nagent:\n  api_max_retries: 2\n`,
    env: { ...AWS, HERMES_STREAM_STALE_TIMEOUT: "0.5" },
    clock: NO_WAITS,
  })
  const { end } = await runToEnd(await assembled.open(), "hello")
  expect({ outcome: end.outcome, reason: end.result.error?.reason, requests: assembled.model.requests.length }).toEqual(
    {
      outcome: "error",
      reason,
      requests,
    },
  )
})

test.each(WIRES)("%s: a request that fails once is retried", async (wire, path, model) => {
  for (const fault of [emptyStream(), hangsUp(), refuses(503, "busy"), says(["bad", " frame"], corrupt(0))]) {
    await using assembled = await assembleApp([fault, says("Hello again")], {
      basePath: path,
      model,
      config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\n`,
      env: AWS,
      clock: NO_WAITS,
    })
    const { end } = await runToEnd(await assembled.open(), "hello")
    expect({ text: end.result.finalResponse, requests: assembled.model.requests.length }).toEqual({
      text: "Hello again",
      requests: 2,
    })
  }
})

test.each(WIRES)("%s: a call with truncated arguments never runs", async (wire, path, model) => {
  const whole = { command: `touch made-by-a-cut-call # ${"x".repeat(2000)}` }
  await using assembled = await assembleApp([callsTool("terminal", whole, cutsAfter(1200)), says("Done.")], {
    basePath: path,
    model,
    config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\n`,
    env: AWS,
    clock: NO_WAITS,
  })
  const { end } = await runToEnd(await assembled.open(), "go")
  expect({
    text: end.result.finalResponse,
    tools: end.result.toolCalls,
    requests: assembled.model.requests.length,
  }).toEqual({
    text: "Done.",
    tools: 0,
    requests: 2,
  })
})

test.each(WIRES)(
  "%s: a stall after some text ends with that text, without a second request",
  async (wire, path, model) => {
    await using assembled = await assembleApp([says(["Hello ", "world"], stallsAfter({ deltas: 1 }))], {
      basePath: path,
      model,
      config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\n`,
      env: { ...AWS, HERMES_STREAM_STALE_TIMEOUT: "0.5" },
      clock: NO_WAITS,
    })
    const { events, end } = await runToEnd(await assembled.open(), "hello")
    const shown = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")
    expect({ shown, reason: end.result.error?.reason, requests: assembled.model.requests.length }).toEqual({
      shown: "Hello ",
      reason: undefined,
      requests: 1,
    })
    expect(await assembled.model.requests[0]?.outcome).toBe("left")
  },
)

const TLS_FAULTS = [
  ["an untrusted certificate", { key: KEY, cert: CERTIFICATE }, /its certificate is self-signed.*SSL_CERT_FILE/],
  ["a server without TLS", undefined, /the TLS handshake failed; is it an https address\?/],
] as const

test.each(WIRES.flatMap(([wire, path, model]) => TLS_FAULTS.map((fault) => [wire, ...fault, path, model] as const)))(
  "%s: %s",
  async (wire, _name, identity, sentence, path, model) => {
    await using server = await startTlsTestServer(identity)
    await using assembled = await assembleApp([], {
      files: {
        "config.yaml": `model:\n  base_url: ${server.url}${path}\n  default: ${model}\n  api_mode: ${wire}\n  api_key: test-key-0123456789\nagent:\n  api_max_retries: 2\n`,
      },
      env: AWS,
      clock: NO_WAITS,
    })
    const session = await assembled.open()
    const { end } = await runToEnd(session, "hello")
    // Retried as often as allowed, without an extra connection, and no request was sent.
    expect([end.result.error?.reason, server.connections(), server.requests()]).toEqual(["timeout", 2, 0])
    expect(end.result.error?.message).toMatch(sentence)
    expect((await runToEnd(session, "still there?")).end.outcome).toBe("error")
  },
)

/** Starts an HTTPS server with this certificate, or a plain HTTP server without one. */
async function startTlsTestServer(identity: { readonly key: string; readonly cert: string } | undefined) {
  let [connections, requests] = [0, 0]
  const respond = (_incoming: IncomingMessage, response: ServerResponse): void => {
    requests += 1
    response.end()
  }
  const server = identity === undefined ? createHttpServer(respond) : createHttpsServer({ ...identity }, respond)
  server.on("connection", () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    requests: () => requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test.each([
  ["Unrecognized request argument supplied: stream_options", { stream: true }],
  ["streaming is not supported for this model", { stream: false }],
])("after the error %j, the session stops sending the unsupported field", async (error, body) => {
  await using assembled = await assembleApp([refuses(400, error), says("Hello"), says("again")])
  const session = await assembled.open()
  expect((await runToEnd(session, "hello")).end.result.finalResponse).toBe("Hello")
  expect((await runToEnd(session, "more")).end.result.finalResponse).toBe("again")
  expect(assembled.model.requests.slice(1).map((request) => request.body)).toMatchObject([body, body])
  expect(assembled.model.requests.slice(1).every(({ rawBody }) => !rawBody.includes("stream_options"))).toBe(true)
})

test("GPT-5 on a server without the Responses API falls back to Chat Completions", async () => {
  await using assembled = await assembleApp([status(404, "not found"), says("Hello"), says("again")], {
    model: "gpt-5-local",
  })
  const session = await assembled.open()
  expect((await runToEnd(session, "hello")).end.result.finalResponse).toBe("Hello")
  expect((await runToEnd(session, "more")).end.result.finalResponse).toBe("again")
  expect(assembled.model.requests.map(({ wire }) => wire)).toEqual([
    "responses",
    "chat-completions",
    "chat-completions",
  ])
})
