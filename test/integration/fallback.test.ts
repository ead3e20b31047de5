import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import type { Clock } from "../../src/base/clock.ts"
import { startForwardProxy } from "../support/forward-proxy.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, reply, refuses, repeat, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { RunRecord } from "./assembled-app.ts"

/** Waits end at once, and time only passes when the test says so. */
function patientClock(): Clock & { pass(ms: number): void } {
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

test("a primary that stays away is replaced within the turn, on another wire, and asked first in the next", async () => {
  // Seals travel to Anthropic's own host only; the proxy makes the scripted server that host.
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
        signature: "seal-of-the-primary",
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
      clock: patientClock(),
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
    expect.stringMatching(/\(HTTP 503\).*; going on with custom second-choice$/) as string,
  ])
  expect(statusTexts(second, "fallback")).toEqual([])

  const [stood] = fallback.requests
  expect(fallback.requests).toHaveLength(1)
  expect([stood?.wire, stood?.headers["authorization"], fallback.view(0).model]).toEqual([
    "chat-completions",
    "Bearer key-of-the-fallback",
    "second-choice",
  ])
  expect(fallback.toolResults(0).map(({ text }) => text.includes("A"))).toEqual([true])
  const sent = JSON.stringify([stood?.headers, stood?.body])
  for (const foreign of ["seal-of-the-primary", "signature", '"thinking"', "key-of-the-primary"]) {
    expect([foreign, sent.includes(foreign)]).toEqual([foreign, false])
  }

  const asked = assembled.model.requests.map(({ wire, headers, rawBody }) => [
    wire,
    headers["x-api-key"],
    rawBody.includes("seal-of-the-primary"),
    rawBody.includes("second-choice") || rawBody.includes("key-of-the-fallback"),
  ])
  const later = ["anthropic-messages", "key-of-the-primary", true, false]
  const opening = ["anthropic-messages", "key-of-the-primary", false, false]
  expect(asked).toEqual([opening, ...Array.from({ length: 5 }, () => later)])
  expect(assembled.model.requests.at(-1)?.rawBody).toContain("From the second choice.")
})

test("a primary that limits requests rests for a minute", async () => {
  const clock = patientClock()
  await using fallback = await startModelServer([repeat(says("second"))])
  await using assembled = await assembleApp([refuses(429, "slow down"), repeat(says("first"))], {
    ...PRIMARY,
    config: `${PRIMARY.config}fallback_providers:\n${entry(fallback.url)}`,
    clock,
  })
  const session = await assembled.open()
  const answers: (string | null)[] = []
  const ask = async (): Promise<void> => {
    answers.push((await runToEnd(session, "Hi.")).end.result.finalResponse)
  }
  await ask()
  clock.pass(59_000)
  await ask()
  clock.pass(1000)
  await ask()
  expect({ answers, primary: assembled.model.requests.length }).toEqual({
    answers: ["second", "second", "first"],
    primary: 2,
  })
})

test("the stand-in finishes a turn of several calls, and is billed for its part", async () => {
  await using fallback = await startModelServer([
    callsTool("terminal", { command: "echo by the second" }),
    says("All done."),
  ])
  await using assembled = await assembleApp([refuses(401, "invalid key")], {
    ...PRIMARY,
    config: `${PRIMARY.config}fallback_providers:\n${entry(fallback.url)}`,
    clock: patientClock(),
  })
  const session = await assembled.open()
  const { end } = await runToEnd(session, "Work.")
  const row = await (await assembled.app.store()).session(session.id)
  expect([end.outcome, end.result.finalResponse, end.result.toolCalls]).toEqual(["completed", "All done.", 1])
  expect([assembled.model.requests.length, fallback.requests.length]).toEqual([1, 2])
  expect([row?.billingBaseUrl, row?.apiCallCount]).toEqual([`${fallback.url}/v1`, 2])
})

test("an entry that cannot be used is told and skipped", async () => {
  await using fallback = await startModelServer([says("Here.")])
  await using assembled = await assembleApp([refuses(401, "invalid key")], {
    ...PRIMARY,
    config: `${PRIMARY.config}fallback_providers:\n  - provider: nobody\n    model: x\n  - provider: openai\n    model: gpt-4.1\n${entry(fallback.url)}`,
    clock: patientClock(),
  })
  const run = await runToEnd(await assembled.open(), "Hi.")
  expect(run.end.result.finalResponse).toBe("Here.")
  expect(statusTexts(run, "fallback")).toEqual([
    expect.stringMatching(/^nobody x cannot be used: unknown provider "nobody"/) as string,
    expect.stringMatching(/^openai gpt-4\.1 cannot be used: .*OPENAI_API_KEY/) as string,
    expect.stringMatching(/; going on with custom second-choice$/) as string,
  ])
})

test("when everybody fails, the first failure is reported with who else was asked", async () => {
  await using fallback = await startModelServer([repeat(refuses(403, "not for you"))])
  await using assembled = await assembleApp([repeat(refuses(402, "insufficient credits"))], {
    ...PRIMARY,
    config: `${PRIMARY.config}fallback_providers:\n  - provider: nobody\n    model: x\n${entry(fallback.url)}`,
    clock: patientClock(),
  })
  const session = await assembled.open()
  const { end } = await runToEnd(session, "Hi.")
  expect(end.result.error).toEqual({
    code: "provider_error",
    reason: "billing",
    message: expect.stringMatching(
      /HTTP 402.*insufficient credits.*also tried: nobody x, which cannot be used, custom second-choice/,
    ) as string,
    retryable: false,
  })
})

test("what was shown is not asked for again elsewhere", async () => {
  await using fallback = await startModelServer([])
  const text = ["The beginning of an answer ", "that never ends."]
  await using assembled = await assembleApp(
    [says(text, { streamError: { type: "overloaded_error", message: "Overloaded" } })],
    {
      ...PRIMARY,
      config: `${PRIMARY.config}fallback_providers:\n${entry(fallback.url)}`,
      clock: patientClock(),
    },
  )
  const run = await runToEnd(await assembled.open(), "Hi.")
  expect([assembled.model.requests.length, fallback.requests.length]).toEqual([1, 0])
  expect(run.events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")).toBe(text.join(""))
})
