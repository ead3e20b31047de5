import { expect, test } from "vitest"

import { bodyText } from "../../../test/support/body-text.ts"
import { createEngineHarness, toolRound, user, assistant } from "../../../test/fixtures/agent/histories.ts"
import type { EngineHarness, HistoryCall } from "../../../test/fixtures/agent/histories.ts"
import { fc } from "../../../test/support/property.ts"
import { createAnthropicMessagesWire } from "../../llm/wire/anthropic-messages/wire.ts"
import { createBedrockConverseWire } from "../../llm/wire/bedrock-converse/wire.ts"
import { createChatCompletionsWire } from "../../llm/wire/chat-completions/wire.ts"
import { createCodexResponsesWire } from "../../llm/wire/codex-responses/wire.ts"
import { createGeminiWire } from "../../llm/wire/gemini/wire.ts"
import type { ModelRequest } from "../../llm/model.ts"
import { parseJson } from "../../base/json.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import { repairStoredHistory } from "../history-repair.ts"
import { unseenResults } from "./budget-reduction.ts"
import type { CompressOutcome } from "./context-engine.ts"
import { createEstimator } from "./token-estimate.ts"
import type { SummaryPort } from "./summary/summariser.ts"
import { wrapSummary } from "./summary/summary-text.ts"
import { withTodoList } from "./todo-reinjection.ts"
import { isValidHistory } from "./history-validity.ts"
import type { CompressionSettings } from "./window-budget.ts"

/** The shape of a generated history. Sizes are in percent of the window, so that every window is filled. */
interface Shape {
  readonly window: number
  readonly overhead: number
  readonly fill: number
  readonly rounds: number
  /** How often, in percent of the rounds. */
  readonly requests: number
  readonly parallel: number
  readonly texts: number
  readonly images: number
  readonly plans: number
  readonly reasoning: number
  readonly copies: number
  readonly giants: number
  readonly earlierSummary: "none" | "user" | "merged"
  readonly ending: "results" | "answer" | "question" | "open"
  /** How many messages another process or edition stored at the wrong position, in percent. */
  readonly disorder: number
  readonly seed: number
}

const often = fc.integer({ min: 0, max: 100 })
const seldom = fc.constantFrom(0, 0, 3, 15)
const SHAPE: fc.Arbitrary<Shape> = fc.record({
  window: fc.constantFrom(8192, 8192, 8192, 32_000, 32_000, 32_000, 64_000, 64_000, 128_000, 200_000),
  overhead: fc.integer({ min: 0, max: 45 }),
  fill: fc.integer({ min: 60, max: 150 }),
  rounds: fc.integer({ min: 2, max: 80 }),
  requests: often,
  parallel: seldom,
  texts: often,
  images: seldom,
  plans: seldom,
  reasoning: seldom,
  copies: seldom,
  giants: seldom,
  earlierSummary: fc.constantFrom("none", "none", "user", "merged"),
  ending: fc.constantFrom("results", "results", "answer", "question", "open"),
  disorder: seldom,
  seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
})

const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } } as const

/** As it is read from a store: repaired. */
function makeHistory(shape: Shape): readonly Message[] {
  const stored = makeMessages(shape)
  if (shape.disorder === 0) return stored
  const random = generator(shape.seed + 1)
  const disordered = [...stored]
  for (const message of stored) {
    if (random() * 100 >= shape.disorder) continue
    const index = disordered.indexOf(message)
    if (message.role === "assistant" && message.tool_calls === undefined)
      disordered.splice(index, 0, assistant("Twice."))
    else disordered.splice(index + 1 + Math.floor(random() * 4), 0, ...disordered.splice(index, 1))
  }
  return [...repairStoredHistory(new Map(disordered.map((message, index) => [message, index + 1]))).keys()]
}

function makeMessages(shape: Shape): readonly Message[] {
  const random = generator(shape.seed)
  const chance = (percent: number): boolean => random() * 100 < percent
  const budget = (shape.window * shape.fill) / 100
  const perRound = (budget / shape.rounds) * 4
  const messages: Message[] = [user(`#0# The task. ${"detail ".repeat(5)}`)]
  if (shape.earlierSummary === "user") {
    messages.push(assistant("#1# Understood."))
    messages.push(
      user(wrapSummary("## Active Task\nEarlier.", "older"), { compressed_summary: true, synthetic: "summary" }),
    )
  }
  if (shape.earlierSummary === "merged") {
    messages.push(assistant("#1# Understood."))
    messages.push(
      user(`${wrapSummary("## Active Task\nEarlier.", "older")}\n\n#2# Go on.`, { compressed_summary: true }),
    )
  }
  for (let round = 0; round < shape.rounds; round += 1) {
    const tag = `#r${round}#`
    const plan = chance(shape.plans) ? ({ compression_priority: "high" } as const) : {}
    if (messages.at(-1)?.role !== "user" && chance(shape.requests / 4)) {
      const words = `${tag} Please also ${"do this ".repeat(1 + random() * 30)}`
      messages.push(chance(shape.images) ? user([{ type: "text", text: words }, IMAGE]) : user(words, plan))
    }
    const reasoning = chance(shape.reasoning) ? { reasoning_content: "thinking ".repeat(40) } : {}
    if (messages.at(-1)?.role === "user" && chance(10)) {
      messages.push(assistant(`${tag} ${"An answer. ".repeat(1 + random() * 20)}`, { ...reasoning, ...plan }))
      continue
    }
    // After an answer only the user can continue.
    const last = messages.at(-1)
    if (last?.role === "assistant") messages.push(user(`${tag}q Next.`))
    const count = chance(shape.parallel) ? 4 : 1
    // Plans are short texts.
    const size = "compression_priority" in plan ? 300 : (chance(shape.giants) ? 8 : 2 * random()) * (perRound / count)
    const calls = Array.from({ length: count }, (_, index): HistoryCall => {
      const text = chance(shape.copies)
        ? "the same listing ".repeat(30)
        : `${tag}${index} `.padEnd(size, "line of output\n")
      return {
        id: `c${round}_${index}`,
        tool: chance(5) ? "skills_list" : "terminal",
        args: { command: `run ${tag} ${"y".repeat(chance(10) ? 900 : 20)}` },
        result: chance(shape.images)
          ? [{ type: "text", text }, IMAGE]
          : chance(50)
            ? text
            : JSON.stringify({ output: text, exit_code: 0 }),
      }
    })
    const text = chance(shape.texts / 3) ? { text: `${tag} Looking.` } : {}
    messages.push(...toolRound(calls, { ...text, assistant: { ...reasoning, ...plan }, tool: plan }))
  }
  if (shape.ending !== "results" && messages.at(-1)?.role !== "assistant") messages.push(assistant("#e# Done."))
  if (shape.ending === "question") messages.push(user("#q# And the last question?"))
  if (shape.ending === "open")
    messages.push(user("#o# One more."), ...toolRound([{ id: "open", result: "" }]).slice(0, 1))
  return messages
}

function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

const SUMMARISERS: Readonly<Record<string, SummaryPort>> = {
  good: async () => await Promise.resolve({ kind: "text", text: "## Active Task\nGo on." }),
  failing: async () => await Promise.resolve({ kind: "failed", message: "502", noProvider: false, malformed: false }),
  missing: async () => await Promise.resolve({ kind: "failed", message: "none", noProvider: true, malformed: false }),
  empty: async () => await Promise.resolve({ kind: "text", text: " \n" }),
  oversized: async ({ maxTokens }) => await Promise.resolve({ kind: "text", text: "blah ".repeat(maxTokens * 10) }),
  throwing: async () => await Promise.reject(new Error("socket closed")),
}

const TODOS = [
  { id: "1", content: "first", status: "in_progress" },
  { id: "2", content: "second", status: "pending" },
] as const

async function compressed(
  shape: Shape,
  how: { readonly summariser: string; readonly settings?: Partial<CompressionSettings> },
) {
  const before = makeHistory(shape)
  const harness = createEngineHarness({
    window: shape.window,
    ...(how.settings === undefined ? {} : { settings: how.settings }),
    summarise: SUMMARISERS[how.summariser],
  })
  const overheadTokens = Math.floor((shape.window * shape.overhead) / 100)
  const outcome = await harness.engine.compress(before, { ...harness.request, overheadTokens })
  return { before, harness, outcome, overheadTokens }
}

const RUNS = 1200
const TIMEOUT_MS = 180_000

/** Each test uses different histories. */
function seedOf(index: number): number {
  return (fc.readConfigureGlobal().seed ?? 0) + index
}

for (const [index, summariser] of ["good", "failing", "oversized"].entries()) {
  test(
    `what matters survives ${RUNS} compressions; the auxiliary model is ${summariser}`,
    { timeout: TIMEOUT_MS },
    async () => {
      let changed = 0
      await fc.assert(
        fc.asyncProperty(SHAPE, async (shape) => {
          const { before, harness, outcome, overheadTokens } = await compressed(shape, { summariser })
          expect(isValidHistory(before)).toBe(true)
          expectIntact(before, outcome, harness)
          if (outcome.layersRun.length === 0) return
          changed += 1
          expect(
            hasRoomForFiveTurns(outcome, harness, overheadTokens) ||
              isMostlyUntouchable(before, harness, overheadTokens),
          ).toBe(true)
        }),
        { numRuns: RUNS, seed: seedOf(index) },
      )
      expect(changed).toBeGreaterThan(RUNS * 0.7)
    },
  )
}

test("the summarize strategy keeps the same things", { timeout: TIMEOUT_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(SHAPE, fc.constantFrom(...Object.keys(SUMMARISERS)), async (shape, summariser) => {
      const { before, harness, outcome } = await compressed(shape, { summariser, settings: { strategy: "summarize" } })
      expectIntact(before, outcome, harness)
    }),
    { numRuns: RUNS, seed: seedOf(3) },
  )
})

test("with abort_on_summary_failure a failed auxiliary model changes nothing", { timeout: TIMEOUT_MS }, async () => {
  let aborted = 0
  await fc.assert(
    fc.asyncProperty(SHAPE, fc.constantFrom("failing", "missing", "empty", "throwing"), async (shape, summariser) => {
      const settings = { strategy: "summarize", abortOnSummaryFailure: true } as const
      const { before, harness, outcome } = await compressed(shape, { summariser, settings })
      if (harness.summaryRequests.length === 0) return
      aborted += 1
      expect([outcome.messages === before, outcome.aborted, outcome.layersRun]).toEqual([true, true, []])
    }),
    { numRuns: 400 },
  )
  expect(aborted).toBeGreaterThan(250)
})

test("a compressed history encodes on every wire", { timeout: TIMEOUT_MS }, async () => {
  const runtime = { provider: "custom", baseUrl: "http://127.0.0.1/v1", host: "127.0.0.1", contextLength: 200_000 }
  const wires = [
    createChatCompletionsWire(runtime, {
      extraBody: {},
      openRouter: {},
      streaming: true,
      includeUsage: true,
    }),
    createAnthropicMessagesWire(runtime, {}),
    createCodexResponsesWire(runtime),
    createBedrockConverseWire(runtime, { guardrail: {} }),
    createGeminiWire(runtime),
  ]
  const tools = ["terminal", "skills_list", "read_file"].map((name) => ({
    name,
    description: name,
    parameters: { type: "object", properties: {} },
  }))
  await fc.assert(
    fc.asyncProperty(SHAPE, fc.constantFrom("good", "failing"), async (shape, summariser) => {
      const { outcome } = await compressed(shape, { summariser })
      if (shape.ending === "open") return
      const messages = withTodoList(outcome.messages, TODOS)
      const ids = outcome.messages.flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : []))
      for (const wire of wires) {
        const request: ModelRequest = { model: "test-model", system: "s", messages, tools }
        const body = bodyText(wire.encode(request))
        // No wire dropped a call or a result; Gemini pairs them by name and order.
        const complete = wire.path(request).includes("enerateContent") || ids.every((id) => body.includes(id))
        expect([parseJson(body) !== undefined, body.includes("removed)"), complete]).toEqual([true, false, true])
      }
    }),
    { numRuns: 300 },
  )
})

function expectIntact(before: readonly Message[], outcome: CompressOutcome, harness: EngineHarness): void {
  const { messages } = outcome
  if (outcome.layersRun.length === 0) {
    expect(messages).toBe(before)
    return
  }
  expect(outcome.tokensAfter).toBeLessThan(outcome.tokensBefore)
  expect(isValidHistory(messages)).toBe(true)
  if (messages.at(-1)?.role !== "assistant") {
    const listed = withTodoList(messages, TODOS)
    expect(isValidHistory(listed)).toBe(true)
    expect(contentText(listed.at(-1)?.content ?? null).endsWith("- [ ] 2. second (pending)")).toBe(true)
  }
  expectWords(before, messages)
  expectEnd(before, messages)
  for (const plan of before.filter((message) => message.role !== "system" && message.compression_priority === "high")) {
    expect(messages.some((message) => message === plan || saysTheSame(message, plan))).toBe(true)
  }
  expectOnlyReportedLosses(before, outcome, harness)
}

/** The last user message and the first message, if the user wrote it, are unchanged. */
function expectWords(before: readonly Message[], after: readonly Message[]): void {
  const last = before.findLast((message) => message.role === "user" && message.synthetic === undefined)
  for (const message of [before[0]?.role === "user" ? before[0] : last, last]) {
    expect(message !== undefined && after.some((kept) => kept.role === "user" && saysTheSame(kept, message))).toBe(true)
  }
}

function saysTheSame(message: Message, original: Message): boolean {
  if (message.role !== original.role) return false
  if (message.role === "tool" && original.role === "tool" && message.tool_call_id !== original.tool_call_id)
    return false
  if (message.role === "assistant" && original.role === "assistant") {
    if (JSON.stringify(message.tool_calls) !== JSON.stringify(original.tool_calls)) return false
    if (original.content === null) return true
  }
  const words = textParts(original).at(-1) ?? ""
  const own = words.slice(Math.max(0, words.lastIndexOf("#2#")))
  return textParts(message).some((text) => text === own || text.endsWith(`\n\n${own}`))
}

function textParts({ content }: Message): readonly string[] {
  if (content === null) return [""]
  return typeof content === "string" ? [content] : content.flatMap((part) => (part.type === "text" ? [part.text] : []))
}

/** The newest calls still have their results, in whatever form. A user message after them starts a new turn. */
function expectEnd(before: readonly Message[], after: readonly Message[]): void {
  const end = before.slice(before.findLastIndex((message) => message.role !== "tool"))
  if (end[0]?.role === "user") return
  const kept = after.slice(-end.length)
  expect(kept.map(nameOf)).toEqual(end.map(nameOf))
}

function nameOf(message: Message): string {
  if (message.role === "tool") return `result ${message.tool_call_id}`
  // Without a summary or a note before the text.
  const own =
    contentText(message.content)
      .split(/--- END OF CONTEXT SUMMARY[^\n]*|\[END OF NOTE\]/u)
      .at(-1) ?? ""
  const tag = [...own.matchAll(/#\w+#/gu)].at(-1)?.[0] ?? ""
  if (message.role !== "assistant") return `said ${tag}`
  return `calls ${(message.tool_calls ?? []).map((call) => call.id).join(" ")} ${tag}`
}

function expectOnlyReportedLosses(before: readonly Message[], outcome: CompressOutcome, harness: EngineHarness): void {
  const kept = new Set(outcome.messages.map((message) => outcome.reshaped.get(message) ?? message))
  const gone = before.filter((message) => !kept.has(message))
  if (!outcome.removedMessages) {
    expect(gone).toEqual([])
    expect(harness.removals.length === 0 || outcome.layersRun.every((layer) => layer === 1 || layer === 3)).toBe(true)
    return
  }
  expect(outcome.droppedRounds).toBeGreaterThan(0)
  const reported = new Set(harness.removals.flatMap(({ messages }) => messages).map(nameOf))
  const unreported = gone.filter(
    (message) =>
      !(message.role === "user" && (message.synthetic === "summary" || message.synthetic === "gap")) &&
      !reported.has(nameOf(message)),
  )
  expect(unreported.map(nameOf)).toEqual([])
}

/** Five rounds of ordinary size do not require another compression. */
function hasRoomForFiveTurns(outcome: CompressOutcome, { engine }: EngineHarness, overheadTokens: number): boolean {
  const turn = 0.035 * (engine.figures.thresholdTokens - overheadTokens)
  const extra = Array.from({ length: 5 }, (_, index) =>
    toolRound([{ id: `t${index}`, result: "z".repeat(4 * turn - 200) }]),
  ).flat()
  const size = createEstimator().messages([...outcome.messages, ...extra]) + overheadTokens
  return !engine.shouldCompress(size)
}

/** Messages that no compression may change, and unseen images, fill much of the window. */
function isMostlyUntouchable(before: readonly Message[], { engine }: EngineHarness, overheadTokens: number): boolean {
  const last = before.findLast((message) => message.role === "user" && message.synthetic === undefined)
  const kept = before.filter(
    (message) =>
      message === before[0] ||
      message === last ||
      (message.role !== "system" && message.compression_priority === "high") ||
      (message.role === "tool" && typeof message.content !== "string" && unseenResults(before).has(message)),
  )
  return createEstimator().messages(kept) > 0.4 * (engine.figures.thresholdTokens - overheadTokens)
}
