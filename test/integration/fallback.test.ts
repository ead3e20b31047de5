import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import type { Clock } from "../../src/base/clock.ts"
import { startForwardProxy } from "../support/forward-proxy.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, reply, refuses, repeat, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { RunRecord } from "./assembled-app.ts"

/** A clock that does not wait. Its time changes only with `pass`. */
function instantClock(): Clock & { pass(ms: number): void } {
  let now = systemClock.now()
  return {
    now: () => now,
    sleep: () => Promise.resolve(),
    pass: (ms) => {
      now += ms
    },
  }
}

const PRIMARY = {
  basePath: "",
  model: "claude-opus-4-6",
  config: "  api_mode: anthropic_messages\n  api_key: key-of-the-primary\n",
} as const

function entry(url: string, more = ""): string {
  return `  - provider: custom\n    model: second-choice\n    base_url: ${url}/v1\n${more}`
}

function statusTexts({ events }: RunRecord, kind: string): readonly string[] {
  return events.flatMap((event) => (event.type === "status" && event.kind === kind ? [event.text] : []))
}

test("a primary model that stays unavailable is replaced within the turn, even by another wire format, and used again in the next", async () => {
  // Signatures are sent only to Anthropic's own host, so the proxy forwards that host to the scripted server.
  await using proxy = await startForwardProxy()
  await using fallback = await startModelServer([says("From the second choice.")])
  const busy = refuses(503, "busy")
  const primary = [
    "model:\n  provider: anthropic\n  base_url: http://api.anthropic.com\n  default: claude-opus-4-6",
    "  api_key: key-of-the-primary\nagent:\n  api_max_retries: 4\nfallback_providers:\n",
  ].join("\n")
  await using assembled = await assembleApp(
    [
      reply({
        reasoning: "I should look.",
        signature: "signature-of-the-primary",
        text: "Looking.",
        calls: [{ name: "read_file", input: { path: "a.txt" } }],
      }),
      busy,
      busy,
      busy,
      busy,
      says("The first choice is back."),
    ],
    {
      files: { "config.yaml": `${primary}${entry(fallback.url, "    key_env: SECOND_KEY\n")}` },
      env: { HTTPS_PROXY: proxy.url, SECOND_KEY: "key-of-the-fallback" },
      workFiles: { "a.txt": "A\n" },
      clock: instantClock(),
    },
  )
  proxy.forwardTo(assembled.model.url)
  const session = await assembled.open()
  const first = await runToEnd(session, "Read it.")
  const second = await runToEnd(session, "Thanks.")

  expect([first.end.result.finalResponse, second.end.result.finalResponse]).toEqual([
    "From the second choice.",
    "The first choice is back.",
  ])
  expect([first, second].map(({ end: { result } }) => [result.provider, result.model])).toEqual([
    ["custom", "second-choice"],
    ["anthropic", "claude-opus-4-6"],
  ])
  expect(statusTexts(first, "retry")).toHaveLength(3)
  expect(statusTexts(first, "fallback")).toEqual([
    expect.stringMatching(/\(HTTP 503\).*; switching to custom second-choice$/) as string,
  ])
  expect(statusTexts(second, "fallback")).toEqual([])

  const [fallbackRequest] = fallback.requests
  expect(fallback.requests).toHaveLength(1)
  expect([fallbackRequest?.wire, fallbackRequest?.headers["authorization"], fallback.view(0).model]).toEqual([
    "chat-completions",
    "Bearer key-of-the-fallback",
    "second-choice",
  ])
  expect(fallback.toolResults(0).map(({ text }) => text.includes("A"))).toEqual([true])
  const sent = JSON.stringify([fallbackRequest?.headers, fallbackRequest?.body])
  for (const foreign of ["signature-of-the-primary", "signature", '"thinking"', "key-of-the-primary"]) {
    expect([foreign, sent.includes(foreign)]).toEqual([foreign, false])
  }

  const primaryRequests = assembled.model.requests.map(({ wire, headers, rawBody }) => [
    wire,
    headers["x-api-key"],
    rawBody.includes("signature-of-the-primary"),
    rawBody.includes("second-choice") || rawBody.includes("key-of-the-fallback"),
  ])
  const later = ["anthropic-messages", "key-of-the-primary", true, false]
  const opening = ["anthropic-messages", "key-of-the-primary", false, false]
  expect(primaryRequests).toEqual([opening, ...Array.from({ length: 5 }, () => later)])
  expect(assembled.model.requests.at(-1)?.rawBody).toContain("From the second choice.")
})

test("a rate-limited primary model has a cooldown of one minute", async () => {
  const clock = instantClock()
  await using fallback = await startModelServer([repeat(says("second"))])
  await using assembled = await assembleApp([refuses(429, "slow down"), repeat(says("first"))], {
    ...PRIMARY,
    config: `${PRIMARY.config}fallback_providers:\n${entry(fallback.url)}`,
    clock,
  })
  const session = await assembled.open()
  const replies: (string | null)[] = []
  const ask = async (): Promise<void> => {
    replies.push((await runToEnd(session, "Hi.")).end.result.finalResponse)
  }
  await ask()
  clock.pass(59_000)
  await ask()
  clock.pass(1000)
  await ask()
  expect({ replies, primary: assembled.model.requests.length }).toEqual({
    replies: ["second", "second", "first"],
    primary: 2,
  })
})

test("the fallback model finishes a turn of several calls and is billed for its part", async () => {
  await using fallback = await startModelServer([
    callsTool("terminal", { command: "echo by the second" }),
    says("All done."),
  ])
  await using assembled = await assembleApp([refuses(401, "invalid key")], {
    ...PRIMARY,
    config: `${PRIMARY.config}fallback_providers:\n${entry(fallback.url)}`,
    clock: instantClock(),
  })
  const session = await assembled.open()
  const { end } = await runToEnd(session, "Work.")
  const row = await (await assembled.app.store()).session(session.id)
  expect([end.outcome, end.result.finalResponse, end.result.toolCalls]).toEqual(["completed", "All done.", 1])
  expect([assembled.model.requests.length, fallback.requests.length]).toEqual([1, 2])
  expect([row?.billingBaseUrl, row?.apiCallCount]).toEqual([`${fallback.url}/v1`, 2])
})

test("an entry that cannot be used is reported and skipped", async () => {
  await using fallback = await startModelServer([says("Here.")])
  await using assembled = await assembleApp([refuses(401, "invalid key")], {
    ...PRIMARY,
    config: `${PRIMARY.config}fallback_providers:\n  - provider: missing\n    model: x\n  - provider: openai\n    model: gpt-4.1\n${entry(fallback.url)}`,
    clock: instantClock(),
  })
  const run = await runToEnd(await assembled.open(), "Hi.")
  expect(run.end.result.finalResponse).toBe("Here.")
  expect(statusTexts(run, "fallback")).toEqual([
    expect.stringMatching(/^missing x cannot be used: unknown provider "missing"/) as string,
    expect.stringMatching(/^openai gpt-4\.1 cannot be used: .*OPENAI_API_KEY/) as string,
    expect.stringMatching(/; switching to custom second-choice$/) as string,
  ])
})

test("when all models fail, the first failure is reported with the other models that were tried", async () => {
  await using fallback = await startModelServer([repeat(refuses(403, "not for you"))])
  await using assembled = await assembleApp([repeat(refuses(402, "insufficient credits"))], {
    ...PRIMARY,
    config: `${PRIMARY.config}fallback_providers:\n  - provider: missing\n    model: x\n${entry(fallback.url)}`,
    clock: instantClock(),
  })
  const session = await assembled.open()
  const { end } = await runToEnd(session, "Hi.")
  expect(end.result.error).toEqual({
    code: "provider_error",
    reason: "billing",
    message: expect.stringMatching(
      /HTTP 402.*insufficient credits.*also tried: missing x, which cannot be used, custom second-choice/,
    ) as string,
    retryable: false,
  })
})

test("a reply that was partly shown is not requested again from a fallback", async () => {
  await using fallback = await startModelServer([])
  const text = ["The beginning of an answer ", "that never ends."]
  await using assembled = await assembleApp(
    [says(text, { streamError: { type: "overloaded_error", message: "Overloaded" } })],
    {
      ...PRIMARY,
      config: `${PRIMARY.config}fallback_providers:\n${entry(fallback.url)}`,
      clock: instantClock(),
    },
  )
  const run = await runToEnd(await assembled.open(), "Hi.")
  expect([assembled.model.requests.length, fallback.requests.length]).toEqual([1, 0])
  expect(run.events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")).toBe(text.join(""))
})
