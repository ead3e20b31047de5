import { describe, expect, test } from "vitest"

import { bodyText } from "../../../test/support/body-text.ts"
import { wireNamed } from "../../../test/support/model-server/wires/table.ts"
import { fc } from "../../../test/support/property.ts"
import { isRecord } from "../../base/json.ts"
import type { AssistantMessage, Message, ReasoningCarriers } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"
import { createAnthropicMessagesWire } from "./anthropic-messages/wire.ts"
import { REASONING_TYPE } from "./bedrock-converse/history.ts"
import { createBedrockConverseWire } from "./bedrock-converse/wire.ts"
import { openToolLoop } from "./open-tool-loop.ts"

const SIGNED = { type: "thinking", thinking: "hm", signature: "s" }
const REASONING = { type: REASONING_TYPE, reasoningContent: { reasoningText: { text: "hm", signature: "s" } } }

/** What different vendors, and the Python edition, leave in a reply with calls. */
const VENDORS: Readonly<Record<string, ReasoningCarriers>> = {
  anthropic: { reasoning: "hm", reasoning_details: [SIGNED] },
  "anthropic, redacted": { reasoning_details: [{ type: "redacted_thinking", data: "x" }] },
  "anthropic, interleaved": {
    reasoning_details: [SIGNED],
    anthropic_content_blocks: [{ type: "tool_use", id: "first", name: "f" }, SIGNED],
  },
  bedrock: { reasoning_details: [REASONING] },
  deepseek: { reasoning: "hm", reasoning_content: "hm" },
  openrouter: { reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s", index: 0 }] },
  openai: { codex_reasoning_items: [{ type: "reasoning", encrypted_content: "x" }] },
  "without reasoning": {},
}
const TOOL = { name: "f", description: "", parameters: { type: "object", properties: {} } }

interface Round {
  readonly vendor: string
  readonly text: string
  readonly isAnswered: boolean
  readonly note: boolean
}

function roundMessages({ vendor, text, isAnswered, note }: Round, index: number): readonly Message[] {
  const id = vendor === "anthropic, interleaved" ? "first" : `c${index}`
  const reply: AssistantMessage = {
    role: "assistant",
    content: text === "" ? null : text,
    tool_calls: [{ id, type: "function", function: { name: "f", arguments: "{}" } }],
    ...VENDORS[vendor],
  }
  return [
    reply,
    ...(isAnswered ? [{ role: "tool", tool_call_id: id, tool_name: "f", content: "done" } as const] : []),
    ...(note ? [{ role: "user", content: "hurry up" } as const] : []),
  ]
}

const ROUND = fc.record({
  vendor: fc.constantFrom(...Object.keys(VENDORS)),
  text: fc.constantFrom("", "I will look."),
  isAnswered: fc.nat(9).map((value) => value > 0),
  note: fc.nat(9).map((value) => value > 7),
})
const TURN = fc.record({ rounds: fc.array(ROUND, { maxLength: 4 }), answer: fc.boolean() })

/** Any history of any vendors that a request may have: it ends with a user message or with tool results. */
const HISTORY = fc
  .array(TURN, { minLength: 1, maxLength: 3 })
  .map((turns) =>
    turns.flatMap(({ rounds, answer }, index): readonly Message[] => [
      { role: "user", content: "go" },
      ...rounds.flatMap((round, position) => roundMessages(round, index * 10 + position)),
      ...(answer && index < turns.length - 1 ? [{ role: "assistant", content: "done" } as const] : []),
    ]),
  )

function requestFor(messages: readonly Message[], model: string): ModelRequest {
  return { model, system: "", messages, tools: [TOOL], effort: "medium" }
}

const ANTHROPIC_HOSTS = ["api.anthropic.com", "me.services.ai.azure.com", "gateway.test"]

function anthropicBody(host: string, request: ModelRequest): unknown {
  const endpoint = { provider: "anthropic", baseUrl: `https://${host}`, host, contextLength: 200_000 }
  return JSON.parse(bodyText(createAnthropicMessagesWire(endpoint, {}).encode(request)))
}

function bedrockBody(request: ModelRequest): unknown {
  const endpoint = { provider: "bedrock", baseUrl: "https://aws.test", host: "aws.test", contextLength: 200_000 }
  return JSON.parse(bodyText(createBedrockConverseWire(endpoint).encode(request)))
}

function thinkingIn(body: unknown): unknown {
  if (!isRecord(body)) return undefined
  const fields = body["additionalModelRequestFields"]
  return body["thinking"] ?? (isRecord(fields) ? fields["thinking"] : undefined)
}

describe("a request with a thinking budget is accepted for any history", () => {
  test.each(ANTHROPIC_HOSTS)("Anthropic Messages at %s", (host) => {
    fc.assert(
      fc.property(HISTORY, (messages) => {
        const body = anthropicBody(host, requestFor(messages, "claude-sonnet-4-5"))
        expect(wireNamed("anthropic-messages").rejection?.(body, {})).toBeUndefined()
        if (openToolLoop(messages) === undefined) expect(thinkingIn(body)).toMatchObject({ type: "enabled" })
      }),
    )
  })

  test("Bedrock Converse", () => {
    fc.assert(
      fc.property(HISTORY, (messages) => {
        const body = bedrockBody(requestFor(messages, "anthropic.claude-sonnet-4-5"))
        expect(wireNamed("bedrock-converse").rejection?.(body, {})).toBeUndefined()
        if (openToolLoop(messages) === undefined) expect(thinkingIn(body)).toMatchObject({ type: "enabled" })
      }),
    )
  })
})

const QUESTION: Message = { role: "user", content: "go" }

function loop(...vendors: readonly string[]): readonly Message[] {
  return [
    QUESTION,
    ...vendors.flatMap((vendor, index) => roundMessages({ vendor, text: "", isAnswered: true, note: false }, index)),
  ]
}

describe("thinking stays enabled", () => {
  test.each([
    ["in a loop of its own, also when a later reply has no thinking", loop("anthropic", "without reasoning")],
    [
      "after the next message of the user",
      [...loop("openai"), { role: "assistant", content: "ok" } as const, QUESTION],
    ],
  ])("%s", (_name, messages) => {
    const body = anthropicBody("api.anthropic.com", requestFor(messages, "claude-sonnet-4-5"))
    expect(thinkingIn(body)).toEqual({ type: "enabled", budget_tokens: 8000 })
  })

  test("adaptive, whatever the history: the server checks only budgets", () => {
    const body = anthropicBody("api.anthropic.com", requestFor(loop("openai"), "claude-opus-4-6"))
    expect(thinkingIn(body)).toMatchObject({ type: "adaptive" })
  })

  test("for models of other vendors, which do not check", () => {
    const endpoint = { provider: "minimax", baseUrl: "", host: "api.minimax.io", contextLength: 200_000 }
    const request = requestFor(loop("without reasoning"), "MiniMax-M2.5")
    expect(thinkingIn(JSON.parse(bodyText(createAnthropicMessagesWire(endpoint, {}).encode(request))))).toBeDefined()
  })
})

test.each([
  ["Anthropic", () => anthropicBody("api.anthropic.com", requestFor(loop("openai", "anthropic"), "claude-sonnet-4-5"))],
  ["Bedrock", () => bedrockBody(requestFor(loop("openai", "bedrock"), "anthropic.claude-sonnet-4-5"))],
])("%s: a loop that another model began continues without thinking", (_name, encode) => {
  expect(thinkingIn(encode())).toBeUndefined()
})

test("the open tool loop begins after the last message of the user that is not a note to it", () => {
  expect(openToolLoop([QUESTION])).toBeUndefined()
  expect(openToolLoop([...loop("openai"), { role: "assistant", content: "ok" }])).toBeUndefined()
  const messages = [...loop("deepseek"), { role: "user", content: "hurry" } as const, ...loop("openai").slice(1)]
  expect(openToolLoop(messages)).toBe(messages[1])
})
