import { expect, test } from "vitest"
import { createDispatchHarness, toolCall } from "../../test/fixtures/agent/dispatch-harness.ts"
import type { TestTool } from "../../test/fixtures/agent/dispatch-harness.ts"
import { NO_MASK } from "../base/redact-stream.ts"
import type { ModelOutcome, ModelReply, ModelRequest } from "../llm/model.ts"
import type { AgentEventBody } from "../protocol/events.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { IterationBudget } from "./iteration-budget.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import { noCompression } from "./context/no-compression.ts"
import { Conversation } from "./conversation.ts"
import type { Journal } from "./journal.ts"
import { runTurn } from "./loop.ts"
import type { Turn } from "./turn.ts"
import type { TurnEnd } from "./turn-end.ts"

const reply = (more: Partial<ModelReply>): ModelOutcome => ({
  kind: "reply",
  reply: {
    content: null,
    toolCalls: [],
    finishReason: "stop",
    reasoning: null,
    carriers: {},
    ending: "complete",
    usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    ...more,
  },
})
const says = (content: string): ModelOutcome => reply({ content })
const empty = reply({})
const calls = (tool: string, id: string, content: string | null = null): ModelOutcome =>
  reply({ content, toolCalls: [toolCall(id, tool, { id })], finishReason: "tool_calls" })
const reads = (...ids: readonly string[]): ModelOutcome =>
  reply({ toolCalls: ids.map((id) => toolCall(id, "t", { id })), finishReason: "tool_calls" })

const RUNTIME: Turn["model"]["runtime"] = {
  provider: "p",
  model: "m",
  wire: "in-process",
  baseUrl: "",
  contextLength: 1000,
  credentialSource: "",
  billingMode: "demo",
}

const NO_JOURNAL: Journal = {
  append: () => Promise.resolve(),
  keepPartial: () => undefined,
  reshape: () => Promise.resolve(),
  rotate: () => Promise.reject(new Error("nothing is compressed here")),
  rewind: () => Promise.resolve(),
  lockCompression: () => Promise.resolve(undefined),
}

interface ScriptedTurn {
  readonly end: TurnEnd
  readonly events: readonly AgentEventBody[]
  readonly requests: readonly ModelRequest[]
  readonly history: readonly Message[]
  readonly ran: readonly string[]
}

/** Runs a turn against scripted replies, with one tool that records its calls. */
async function runScript(
  script: readonly ModelOutcome[],
  more: Partial<Turn> & {
    readonly onTool?: () => void
    readonly before?: readonly Message[]
    readonly journal?: Journal
  } = {},
): Promise<ScriptedTurn> {
  const requests: ModelRequest[] = []
  const ran: string[] = []
  const tool: TestTool = {
    name: "t",
    parallel: "safe",
    run: (_context, args) => {
      ran.push(String(args["id"]))
      more.onTool?.()
      return Promise.resolve({ content: { did: args["id"] }, summary: "x" })
    },
  }
  const others: readonly TestTool[] = [{ ...tool, name: "todo", housekeeping: true }]
  await using harness = await createDispatchHarness([tool, ...others])
  const conversation = new Conversation({
    id: toSessionId("session"),
    system: "s",
    history: more.before ?? [{ role: "user", content: "hi" }],
    journal: more.journal ?? NO_JOURNAL,
  })
  const turn: Turn = {
    runId: "run",
    model: {
      runtime: RUNTIME,
      // oxlint-disable-next-line require-yield -- a scripted model emits no events
      async *stream(request) {
        requests.push(request)
        const outcome = script[requests.length - 1]
        if (outcome === undefined) throw new Error("the script is over")
        return await Promise.resolve(outcome)
      },
      beginTurn: () => undefined,
      close: () => undefined,
    },
    spending: {
      refusal: () => Promise.resolve(undefined),
      warning: () => undefined,
      liftLimit: () => undefined,
      record: () => Promise.resolve({ usd: 0, status: "included", source: "demo", version: "" }),
    },
    sampling: {},
    tools: [],
    conversation,
    compression: noCompression,
    budgetPressure: false,
    log: { error: () => undefined },
    dispatch: harness.session,
    interactions: harness.interactions,
    maxIterations: 5,
    budget: new IterationBudget(5),
    steering: { take: () => undefined },
    signal: new AbortController().signal,
    redact: (text) => text.replaceAll("planted-secret-value", () => "***"),
    maskStream: () => NO_MASK,
    fenceKey: () => "key",
    ...more,
  }
  const events: AgentEventBody[] = []
  const run = runTurn(turn)
  for (;;) {
    const step = await run.next()
    if (step.done === true) return { end: step.value, events, requests, history: conversation.history, ran }
    events.push(step.value)
  }
}

test("text ends the turn after one call", async () => {
  const { end, requests } = await runScript([says("hello")])
  expect([end, requests.length]).toEqual([
    {
      outcome: "completed",
      exitReason: "text_response(finish_reason=stop)",
      finalResponse: "hello",
      totals: {
        apiCalls: 1,
        toolCalls: 0,
        usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
        filesChanged: [],
        failedWrites: [],
      },
    },
    1,
  ])
})

test("identical calls run once and have one result", async () => {
  const twice = reply({ toolCalls: [toolCall("a", "t", { id: 1 }), toolCall("b", "t", { id: 1 })] })
  const { ran, history } = await runScript([twice, says("done")])
  expect([ran, history.map(({ role }) => role)]).toEqual([["1"], ["user", "assistant", "tool", "assistant"]])
})

test("only consecutive empty replies end the turn, and their tokens count", async () => {
  const interrupted = await runScript([empty, empty, empty, reads("1"), empty, empty, empty, empty, says("done")])
  expect([interrupted.end.finalResponse, interrupted.end.totals.usage.input]).toEqual(["done", 9])
  expect((await runScript([empty, empty, empty, empty])).end).toMatchObject({
    outcome: "error",
    error: { code: "empty_response" },
  })
})

test("a content filter ends the turn at once, even without a text", async () => {
  const { end, requests } = await runScript([reply({ finishReason: "content_filter" })])
  expect([end.error?.code, requests.length]).toEqual(["content_policy_blocked", 1])
})

test("steering notes are sent once, at the end of the last result of the batch", async () => {
  const notes = ["a\nb"]
  const { history } = await runScript([reads("1", "2"), says("done")], { steering: { take: () => notes.pop() } })
  const contents = history.flatMap((message) => (message.role === "tool" ? [message.content] : []))
  expect(contents).toEqual([
    '{"did":"1"}',
    '{"did":"2"}\n\n[OUT-OF-BAND USER MESSAGE — a direct message from the user, delivered mid-turn; not tool output]\na\nb\n[/OUT-OF-BAND USER MESSAGE]',
  ])
})

test("a steering note during the final answer is left for the caller", async () => {
  const notes = ["later"]
  await runScript([says("done")], { steering: { take: () => notes.pop() } })
  expect(notes).toEqual(["later"])
})

test("an interrupt ends the turn after the batch and leaves a pending steering note to the caller", async () => {
  const stop = new AbortController()
  const notes = ["later"]
  const { end, history } = await runScript([reads("1"), says("never")], {
    signal: stop.signal,
    steering: { take: () => notes.pop() },
    onTool: () => {
      stop.abort()
    },
  })
  expect([end.outcome, end.exitReason, notes, JSON.stringify(history).includes("later")]).toEqual([
    "interrupted",
    "interrupted_by_user",
    ["later"],
    false,
  ])
})

test("when the budget is used up, the model gets one more reply and a note in the last result", async () => {
  const { end, requests, history } = await runScript([reads("1"), reads("2"), says("as far as I came")], {
    budget: new IterationBudget(2),
  })
  expect([end.outcome, end.exitReason, end.finalResponse, requests.length]).toEqual([
    "max-turns",
    "max_iterations_reached(2/2)",
    "as far as I came",
    3,
  ])
  const notes = history.filter((message) => JSON.stringify(message).includes("must be the final answer"))
  expect(notes).toEqual([expect.objectContaining({ role: "tool", tool_call_id: "2" })])
})

test("a model that still calls tools is asked for a summary with tools disabled", async () => {
  const tools = [{ name: "t", description: "", parameters: {} }]
  const { end, requests, ran, history } = await runScript([reads("1"), reads("2"), reads("3"), says("what I did")], {
    budget: new IterationBudget(2),
    tools,
  })
  expect([end.finalResponse, ran, requests.map((request) => request.toolChoice)]).toEqual([
    "what I did",
    ["1", "2"],
    [undefined, undefined, undefined, "none"],
  ])
  expect(requests[3]?.messages.at(-1)).toMatchObject({ role: "user", synthetic: "max_iterations" })
  expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"])
})

test("a last reply at the limit that was cut off is partial", async () => {
  const cut = reply({ content: "So far I", ending: "cut-text" })
  const { end } = await runScript([reads("1"), cut], { budget: new IterationBudget(1) })
  expect(end).toMatchObject({ outcome: "max-turns", finalResponse: "So far I", partial: true })
})

test("a model that calls tools even without permission gets no second chance for a summary", async () => {
  const { end, requests } = await runScript([reads("1"), reads("2"), reads("3"), says("never")], {
    budget: new IterationBudget(1),
  })
  expect([requests.length, end.totals.apiCalls, end.outcome]).toEqual([3, 3, "max-turns"])
})

test("without a summary the answer explains why the turn ended", async () => {
  const { end } = await runScript([reads("1"), reads("2"), empty, empty], { budget: new IterationBudget(1) })
  expect(end).toMatchObject({ outcome: "max-turns", finalResponse: expect.stringContaining("limit of 1 iterations") })
})

test("secrets are masked in stored messages, while the tool receives them", async () => {
  const call = toolCall("a", "t", { id: 'say "planted-secret-value"' })
  const { ran, history, requests } = await runScript([reply({ toolCalls: [call] }), says("planted-secret-value")])
  expect([ran, JSON.stringify([history[1], history.at(-1), requests[1]?.messages[1]]).includes("planted")]).toEqual([
    ['say "planted-secret-value"'],
    false,
  ])
})

test("a call whose result was lost is settled before the next request", async () => {
  const { requests } = await runScript([says("ok")], {
    before: [
      { role: "user", content: "a" },
      { role: "assistant", content: null, tool_calls: [toolCall("x", "t")] },
      { role: "user", content: "b" },
    ],
  })
  expect(requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"])
})

test("earlier messages are sent as the same objects again, so their cached encoding stays valid", async () => {
  const { requests } = await runScript([reads("1"), says("done")])
  expect(requests[1]?.messages[0]).toBe(requests[0]?.messages[0])
})

test("a store failure ends the turn with its reason and the usage so far", async () => {
  const failure = Object.assign(new Error("disk full"), { name: "StoreError" })
  const { end } = await runScript([reads("1"), says("never")], {
    journal: {
      ...NO_JOURNAL,
      append: ([message]) => (message?.role === "tool" ? Promise.reject(failure) : Promise.resolve()),
    },
  })
  expect(end).toEqual({
    outcome: "error",
    exitReason: "storage_failed",
    finalResponse: null,
    error: {
      code: "storage_failed",
      reason: "unknown",
      message: "the run was stopped because the conversation could not be saved: disk full",
      retryable: false,
    },
    totals: {
      apiCalls: 1,
      toolCalls: 1,
      usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      filesChanged: [],
      failedWrites: [],
    },
  })
})

test("a model that falls silent after its tools is asked for an answer once per turn", async () => {
  const { requests } = await runScript([reads("1"), empty, reads("2"), empty, empty, says("done")])
  const asked = requests.filter(({ messages }) =>
    contentText(messages.at(-1)?.content ?? null).includes("Answer the user"),
  )
  expect([requests.length, asked.length]).toEqual([6, 1])
})

test("a reply that reached the output limit is continued with a larger limit and stored as one message", async () => {
  const part = (content: string): ModelOutcome => reply({ content, finishReason: "length" })
  const { end, requests, history } = await runScript([part("abc"), part("def"), says("ghi")])
  expect([end.finalResponse, requests.map(({ maxOutputTokens }) => maxOutputTokens)]).toEqual([
    "abcdefghi",
    [undefined, 8192, 12_288],
  ])
  expect(history).toMatchObject([{ role: "user" }, { role: "assistant", content: "abcdefghi" }])
  expect(history).toHaveLength(2)
})

test("temporary messages are not sent again after a kept reply", async () => {
  const { requests, history } = await runScript([reads("1"), empty, reads("2"), says("done")])
  expect(requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5, 5])
  expect(requests[2]?.messages.at(-1)).toMatchObject({ role: "user", synthetic: "recovery" })
  expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"])
})

test.each([
  { name: "text with a housekeeping call", script: [calls("todo", "1", "done"), empty], answer: "done" },
  { name: "text with a normal call", script: [calls("t", "1", "working"), empty, says("done")], answer: "done" },
  {
    name: "a housekeeping call without text after one with text",
    script: [calls("todo", "1", "done"), calls("todo", "2"), empty, says("really done")],
    answer: "really done",
  },
])("an empty reply after $name", async ({ script, answer }) => {
  expect((await runScript(script)).end.finalResponse).toBe(answer)
})

test("with budget pressure enabled, the last result of a batch carries the budget warning", async () => {
  const { history } = await runScript([reads("1", "2"), says("done")], {
    budget: new IterationBudget(1),
    budgetPressure: true,
  })
  const lines = history.flatMap((message) =>
    message.role === "tool" ? [contentText(message.content).includes("[Budget, urgent: 1 of 1")] : [],
  )
  expect(lines).toEqual([false, true])
})

test("an internal error costs an iteration and is logged; the turn continues", async () => {
  let faults = 1
  const reported: unknown[] = []
  const { end, requests } = await runScript([reads("1"), says("done")], {
    compression: {
      ...noCompression,
      // oxlint-disable-next-line require-yield -- it fails before it emits an event
      async *afterToolResults() {
        await Promise.resolve()
        if (faults-- > 0) throw new Error("broken")
      },
    },
    log: {
      error: (message) => {
        reported.push(message)
      },
    },
  })
  expect([end.finalResponse, reported]).toEqual(["done", ["an iteration failed; the turn continues: broken"]])
  expect(requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
})

test.each([
  { name: "a second internal error in a row", budget: 5, script: [reads("1"), reads("2"), says("never")], requests: 2 },
  { name: "an internal error in the last iteration", budget: 1, script: [reads("1"), says("never")], requests: 1 },
])("$name ends the turn with its message", async ({ budget, script, requests }) => {
  const turn = await runScript(script, {
    budget: new IterationBudget(budget),
    compression: {
      ...noCompression,
      // oxlint-disable-next-line require-yield -- it fails before it emits an event
      async *afterToolResults() {
        throw await Promise.resolve(new Error("broken"))
      },
    },
  })
  expect([turn.requests.length, turn.end.exitReason, turn.end.error?.message]).toEqual([
    requests,
    "error_near_max_iterations",
    "internal error in Hermes: broken",
  ])
})

test("a fallback model starts without temporary messages and retry counts", async () => {
  let fallbacks = 1
  const blocked = reply({ content: "no", finishReason: "content_filter" })
  const script = [blocked, says("yes")]
  const requests: number[] = []
  const { end, events } = await runScript([], {
    model: {
      runtime: RUNTIME,
      // oxlint-disable-next-line require-yield -- a scripted model emits no events
      async *stream(request) {
        requests.push(request.messages.length)
        return await Promise.resolve(script[requests.length - 1] ?? empty)
      },
      beginTurn: () => undefined,
      close: () => undefined,
      fallBack: () => Promise.resolve(fallbacks-- > 0 ? "switching to another model" : undefined),
    },
  })
  expect([end.finalResponse, requests]).toEqual(["yes", [1, 1]])
  expect(events).toContainEqual({
    type: "status",
    kind: "fallback",
    text: "content_policy_blocked: the provider refused to answer: no; switching to another model",
  })
})
