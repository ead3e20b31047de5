import { expect, test } from "vitest"

import { engineBench, SETTINGS, toolRound, user, assistant } from "../../../test/fixtures/agent/histories.ts"
import type { EngineBench, MadeCall } from "../../../test/fixtures/agent/histories.ts"
import { fc } from "../../../test/support/property.ts"
import { createAnthropicMessagesWire } from "../../llm/wire/anthropic-messages.ts"
import { createBedrockConverseWire } from "../../llm/wire/bedrock-converse.ts"
import { createChatCompletionsWire } from "../../llm/wire/chat-completions.ts"
import { createCodexResponsesWire } from "../../llm/wire/codex-responses.ts"
import { createGeminiWire } from "../../llm/wire/gemini.ts"
import type { ModelRequest } from "../../llm/model.ts"
import { parseJson } from "../../base/json.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { CompressOutcome } from "./engine.ts"
import { createEstimator } from "./estimate.ts"
import type { SummaryPort } from "./summary/summariser.ts"
import { wrapSummary } from "./summary/summary-text.ts"
import { withTodoList } from "./todo-reinjection.ts"
import { isValidHistory } from "./validity.ts"
import type { CompressionSettings } from "./window-budget.ts"

/** What a history is made of. Sizes are in percent of the window, so that every window is filled. */
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
  readonly seed: number
}

const often = fc.integer({ min: 0, max: 100 })
const seldom = fc.constantFrom(0, 0, 3, 15)
const SHAPE: fc.Arbitrary<Shape> = fc.record({
  window: fc.constantFrom(8192, 8192, 32_000, 32_000, 64_000, 128_000, 200_000),
  overhead: fc.integer({ min: 0, max: 45 }),
  fill: fc.integer({ min: 60, max: 200 }),
  rounds: fc.integer({ min: 2, max: 100 }),
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
  seed: fc.integer({ min: 1, max: 2 ** 31 - 2 }),
})

const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } } as const

function makeHistory(shape: Shape): readonly Message[] {
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
    // After an answer only the person can go on.
    const last = messages.at(-1)
    if (last?.role === "assistant") messages.push(user(`${tag}q Next.`))
    const count = chance(shape.parallel) ? 4 : 1
    // Plans are short texts.
    const size = "compression_priority" in plan ? 300 : (chance(shape.giants) ? 8 : 2 * random()) * (perRound / count)
    const calls = Array.from({ length: count }, (_, index): MadeCall => {
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
  const bench = engineBench({
    window: shape.window,
    ...(how.settings === undefined ? {} : { settings: how.settings }),
    summarise: SUMMARISERS[how.summariser],
  })
  const overheadTokens = Math.floor((shape.window * shape.overhead) / 100)
  const outcome = await bench.engine.compress(before, { ...bench.request, overheadTokens })
  return { before, bench, outcome, overheadTokens }
}

test("dbg", async () => {
  const shape = JSON.parse(process.env["SHAPE"]!) as Shape
  const { before, outcome, bench, overheadTokens } = await compressed(shape, {
    summariser: process.env["SUMM"] ?? "good",
    ...(process.env["STRAT"] ? { settings: { strategy: "summarize" } } : {}),
  })
  const e = createEstimator()
  const show = (m: Message) =>
    m.role +
    " " +
    e.messages([m]) +
    " " +
    ((m as any).compression_priority ?? "") +
    " " +
    ((m as any).synthetic ?? "") +
    " " +
    JSON.stringify(m.content)?.slice(0, 90) +
    "…" +
    JSON.stringify(m.content)?.slice(-40)
  process.stdout.write(
    (process.env["FULL"] ? before.map(show).join("\n") : "") +
      "\n=====" +
      JSON.stringify([
        outcome.layersRun,
        outcome.tokensBefore,
        outcome.tokensAfter,
        outcome.auxError,
        bench.engine.figures,
        overheadTokens,
      ]) +
      "\n" +
      outcome.messages.map(show).join("\n") +
      "\n",
  )
})
