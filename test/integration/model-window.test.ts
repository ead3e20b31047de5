import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { startForwardProxy } from "../support/forward-proxy.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { refuses, repeat, says, stallsAfter } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const INSTANT_CLOCK = { ...systemClock, sleep: () => Promise.resolve() }

test("a context length in a server's error is stored for later sessions", async () => {
  const refusal = refuses(400, "This model's maximum context length is 4096 tokens, however you requested more")
  await using assembled = await assembleApp([refusal, repeat(says("Hello"))])
  const contextLength = () => {
    const chosen = assembled.app.chooseModel({})
    return chosen.ok ? chosen.value.runtime.contextLength : undefined
  }
  expect(contextLength()).toBe(8192)
  await runToEnd(await assembled.open(), "hello")
  expect(contextLength()).toBe(4096)
  const file = join(assembled.home.path, "context_length_cache.yaml")
  expect(await readFile(file, "utf8")).toBe(`context_lengths:\n  "test-model@${assembled.model.url}/v1": 4096\n`)
})

test("without access to the long context, the request is retried without it and with the smaller window", async () => {
  await using proxy = await startForwardProxy()
  const config = [
    "model:\n  provider: custom\n  base_url: http://den.services.ai.azure.com/anthropic\n  default: claude-opus-4-6",
    "  api_key: key-of-the-den\n",
  ].join("\n")
  await using assembled = await assembleApp(
    [refuses(400, "The long context beta is not yet available for this subscription."), says("Hello"), says("again")],
    { files: { "config.yaml": config }, env: { HTTPS_PROXY: proxy.url }, clock: INSTANT_CLOCK },
  )
  proxy.forwardTo(assembled.model.url)
  const session = await assembled.open()
  const { events } = await runToEnd(session, "hello")
  await runToEnd(session, "and now?")
  const betas = assembled.model.requests.map(({ headers }) => headers["anthropic-beta"] ?? "")
  expect(betas.map((beta) => beta.includes("context-1m"))).toEqual([true, false, false])
  expect(events).toContainEqual(expect.objectContaining({ type: "usage", contextLength: 200_000 }))
})

test("a request that exceeds HERMES_API_TIMEOUT is retried", async () => {
  await using assembled = await assembleApp([says("never", stallsAfter({ bytes: 0 })), says("Hello")], {
    env: { HERMES_API_TIMEOUT: "0.2" },
    clock: INSTANT_CLOCK,
  })
  const { events, end } = await runToEnd(await assembled.open(), "hello")
  expect(end).toMatchObject({ outcome: "completed", result: { finalResponse: "Hello" } })
  expect(events.filter((event) => event.type === "status" && event.kind === "retry")).toMatchObject([
    { reason: "timeout" },
  ])
})

test("when the model does not accept images, a notice is emitted and the request is sent without the image", async () => {
  await using assembled = await assembleApp([
    refuses(400, "this model does not support image input"),
    says("I cannot see it."),
  ])
  const { events, end } = await runToEnd(await assembled.open(), [
    { type: "text", text: "what is this?" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AAEC" } },
  ])
  expect(end).toMatchObject({ outcome: "completed", result: { finalResponse: "I cannot see it." } })
  expect(events).toContainEqual(
    expect.objectContaining({
      type: "status",
      kind: "notice",
      text: expect.stringContaining("has no vision, and the images could not be described"),
    }),
  )
  expect(assembled.model.requests.map(({ rawBody }) => rawBody.includes("AAEC"))).toEqual([true, false])
})

test("with every key in cooldown, the error names the time until the next one and the command to reset them", async () => {
  await using elsewhere = await startModelServer([])
  await using assembled = await assembleApp([], {
    env: { OPENROUTER_BASE_URL: `${elsewhere.url}/v1` },
    files: { "auth.json": JSON.stringify({ version: 1, credential_pool: { openrouter: [keyInCooldown()] } }) },
  })
  const chosen = assembled.app.chooseModel({ provider: "openrouter", model: "m" })
  if (!chosen.ok) throw new Error(chosen.error.message)
  const { end } = await runToEnd(await assembled.open({ model: chosen.value }), "hello")
  expect(end.result.error).toMatchObject({
    reason: "rate_limit",
    message: expect.stringMatching(/the next one is available in 1h\. .*`hermes auth reset openrouter`/) as string,
  })
  expect(elsewhere.requests).toEqual([])
})

function keyInCooldown(): object {
  return {
    id: "abc123",
    label: "mine",
    auth_type: "api_key",
    priority: 0,
    source: "manual",
    access_token: "sk-or-0123456789",
    last_status: "exhausted",
    last_status_at: Date.now() / 1000,
    last_error_code: 429,
    last_error_reason: null,
    last_error_message: null,
    last_error_reset_at: Date.now() / 1000 + 3599,
    request_count: 0,
  }
}
