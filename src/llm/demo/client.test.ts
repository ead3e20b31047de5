import { describe, expect, test } from "vitest"

import type { Clock } from "../../base/clock.ts"
import type { Message } from "../../protocol/message.ts"
import type { ModelEvent, ModelOutcome, ModelReply, ModelRequest } from "../model.ts"
import { createDemoClient } from "./client.ts"
import { parseDemoScript } from "./script.ts"
import { fc } from "../../../test/support/property.ts"

describe("a reply by rules", () => {
  test("streams word by word and ends with the same text", async () => {
    const { events, outcome } = await send(createDemoClient({ clock: frozenClock }), requestOf(["hello"]))
    const deltas = events.filter((event) => event.type === "text-delta")
    expect(deltas.length).toBeGreaterThan(20)
    expect(deltas.map((event) => event.text).join("")).toBe(replyOf(outcome).content)
    expect(replyOf(outcome)).toMatchObject({ finishReason: "stop", ending: "complete", toolCalls: [], carriers: {} })
  })

  test("streams reasoning, text and the tool name, then returns the call", async () => {
    const { events, outcome } = await send(
      createDemoClient({ clock: frozenClock }),
      requestOf(["read a.txt"], ["read_file"]),
    )
    expect([...new Set(events.map((event) => event.type))]).toEqual([
      "reasoning-delta",
      "text-delta",
      "tool-generating",
    ])
    expect(outcome).toEqual({
      kind: "reply",
      reply: {
        content: "I will read a.txt.",
        toolCalls: [{ id: "demo_1", type: "function", function: { name: "read_file", arguments: '{"path":"a.txt"}' } }],
        finishReason: "tool_calls",
        reasoning: "Step 1 of 1: reading a.txt, with read_file.",
        // system 6 + question 10 + tool name 9 + parameters `{}` 2; text 18 + reasoning 43 + arguments 16
        usage: { input: 7, output: 20, cacheRead: 0, cacheWrite: 0, reasoning: 11 },
        carriers: {},
        ending: "complete",
      },
    })
  })

  test("the same request has the same reply in any client", async () => {
    const request = requestOf(["tour"], ["search_files"])
    const first = await send(createDemoClient({ clock: frozenClock }), request)
    expect(await send(createDemoClient({ clock: frozenClock }), request)).toEqual(first)
  })

  test("call ids continue after the highest of the history", async () => {
    const history: Message[] = [
      { role: "user", content: "read a.txt" },
      { role: "assistant", content: null, tool_calls: [call("demo_7"), call("call_99")] },
      { role: "tool", tool_call_id: "demo_7", tool_name: "read_file", content: '{"error":"gone"}' },
      { role: "assistant", content: "It is gone." },
      { role: "user", content: "read b.txt" },
    ]
    const { outcome } = await send(createDemoClient({ clock: frozenClock }), {
      ...requestOf([], ["read_file"]),
      messages: history,
    })
    expect(replyOf(outcome).toolCalls.map(({ id }) => id)).toEqual(["demo_8"])
  })

  test("an abort between two words ends the reply", async () => {
    const abort = new AbortController()
    const seen: ModelEvent[] = []
    const stream = createDemoClient({ clock: frozenClock }).stream(requestOf(["hello"]), { signal: abort.signal })
    let next = await stream.next()
    while (next.done !== true) {
      seen.push(next.value)
      if (seen.length === 3) abort.abort()
      next = await stream.next()
    }
    expect(seen).toHaveLength(3)
    expect(next.value).toEqual({ kind: "aborted" })
  })

  test("its runtime is free of charge", () => {
    expect(createDemoClient({ clock: frozenClock }).runtime).toEqual({
      provider: "demo",
      model: "hermes-demo",
      wire: "in-process",
      baseUrl: "",
      contextLength: 32_000,
      credentialSource: "none needed",
      billingMode: "demo",
    })
  })
})

describe("a script", () => {
  test("plays its steps in order, then reports its end", async () => {
    const client = scripted([
      { say: "Looking.", think: "Hm.", call: [{ tool: "read_file", args: { path: "a" } }, { tool: "todo" }] },
      { say: "Cut short", finish: "length" },
    ])
    const first = replyOf((await send(client, requestOf(["x"]))).outcome)
    expect(first).toMatchObject({ content: "Looking.", reasoning: "Hm.", finishReason: "tool_calls" })
    expect(first.toolCalls).toEqual([
      { id: "demo_1", type: "function", function: { name: "read_file", arguments: '{"path":"a"}' } },
      { id: "demo_2", type: "function", function: { name: "todo", arguments: "{}" } },
    ])
    expect(replyOf((await send(client, requestOf(["x"]))).outcome)).toMatchObject({
      content: "Cut short",
      reasoning: null,
      finishReason: "length",
    })
    expect(replyOf((await send(client, requestOf(["x"]))).outcome).content).toBe(
      "The demo script has ended; it has 2 steps.",
    )
  })

  test("any text arrives unchanged", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1 }), async (say) => {
        const { events, outcome } = await send(scripted([{ say }]), requestOf(["x"]))
        const texts = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []))
        expect(texts.join("")).toBe(say)
        expect(replyOf(outcome).content).toBe(say)
      }),
    )
  })

  test("a rate limit emits a retry, waits, then plays the step", async () => {
    const slept: number[] = []
    const clock = recordingClock(slept)
    const client = createDemoClient({
      script: parsed([{ fault: "rate-limit", say: "Now." }]),
      clock,
      random: () => 0.5,
    })
    const { events, outcome } = await send(client, requestOf(["x"]))
    expect(events[0]).toEqual({
      type: "retry",
      attempt: 1,
      delayMs: 2500,
      reason: "rate_limit",
      text: "the demo script limits the number of requests; trying again in 2.5 s",
    })
    expect(slept).toEqual([2500])
    expect(replyOf(outcome).content).toBe("Now.")
  })

  test("wait_ms is the wait of a rate limit, and otherwise a delay before the reply", async () => {
    const slept: number[] = []
    const script = parsed([{ fault: "rate-limit", say: "a", wait_ms: 7 }, { say: "b", wait_ms: 30 }, { say: "c" }])
    const client = createDemoClient({ script, clock: recordingClock(slept) })
    for (let turn = 0; turn < 3; turn += 1) await send(client, requestOf(["x"]))
    expect(slept).toEqual([7, 30])
  })

  test("an abort ends the wait", async () => {
    const abort = new AbortController()
    const clock: Clock = {
      now: () => 0,
      sleep: (_ms, { signal }) => {
        abort.abort()
        return Promise.reject(signal.reason as Error)
      },
    }
    const client = createDemoClient({ script: parsed([{ say: "late", wait_ms: 1 }]), clock })
    expect(await send(client, requestOf(["x"]), abort.signal)).toEqual({ events: [], outcome: { kind: "aborted" } })
  })

  test("an overflow fails like a server whose context window is exceeded", async () => {
    expect((await send(scripted([{ fault: "overflow" }]), requestOf(["x"]))).outcome).toMatchObject({
      kind: "failed",
      failure: {
        reason: "context_overflow",
        status: 400,
        message: "the demo script reports that the conversation exceeds the context window of hermes-demo",
        retryable: false,
      },
    })
  })

  test.each([
    [
      { fault: "malformed-json", call: { tool: "read_file", args: { path: "a" } } },
      { content: null, finishReason: "tool_calls", ending: "complete", calls: ['{"path":"a"'] },
    ],
    [
      { fault: "disconnect", say: "one two😀" },
      { content: "one ", finishReason: "stop", ending: "cut-text", calls: [] },
    ],
    [
      { fault: "disconnect", say: "I read.", call: { tool: "read_file" } },
      { content: "I read.", finishReason: "length", ending: "cut-call", calls: [] },
    ],
    [
      { fault: "empty", say: "unsaid" },
      { content: null, finishReason: "stop", ending: "complete", calls: [] },
    ],
  ])("%j", async (step, expected) => {
    const { content, finishReason, ending, toolCalls } = replyOf(
      (await send(scripted([step]), requestOf(["x"]))).outcome,
    )
    const calls = toolCalls.map((made) => made.function.arguments)
    expect({ content, finishReason, ending, calls }).toEqual(expected)
  })
})

const frozenClock: Clock = { now: () => 0, sleep: () => Promise.reject(new Error("unexpected sleep")) }

function recordingClock(slept: number[]): Clock {
  return {
    now: () => 0,
    sleep: (ms) => {
      slept.push(ms)
      return Promise.resolve()
    },
  }
}

function parsed(steps: unknown) {
  const script = parseDemoScript(steps)
  if (!script.ok) throw new Error(script.error)
  return script.value
}

function scripted(steps: unknown) {
  return createDemoClient({ script: parsed(steps), clock: frozenClock })
}

function requestOf(questions: readonly string[], tools: readonly string[] = []): ModelRequest {
  return {
    model: "hermes-demo",
    system: "System",
    messages: questions.map((content) => ({ role: "user", content })),
    tools: tools.map((name) => ({ name, description: "", parameters: {} })),
  }
}

function call(id: string) {
  return { id, type: "function", function: { name: "read_file", arguments: "{}" } } as const
}

async function send(
  client: ReturnType<typeof createDemoClient>,
  request: ModelRequest,
  signal = new AbortController().signal,
): Promise<{ events: ModelEvent[]; outcome: ModelOutcome }> {
  const events: ModelEvent[] = []
  const stream = client.stream(request, { signal })
  for (;;) {
    const next = await stream.next()
    if (next.done === true) return { events, outcome: next.value }
    events.push(next.value)
  }
}

function replyOf(outcome: ModelOutcome): ModelReply {
  if (outcome.kind !== "reply") throw new Error(`there is no reply: ${JSON.stringify(outcome)}`)
  return outcome.reply
}
