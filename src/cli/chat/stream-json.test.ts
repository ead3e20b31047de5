import { expect, test } from "vitest"

import type { AgentEventBody } from "../../protocol/events.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { createStreamJson } from "./stream-json.ts"
import type { StreamLine } from "./stream-json.ts"

test.each<{ name: string; body: AgentEventBody; lines: readonly StreamLine[] }>([
  {
    name: "a question",
    body: {
      type: "clarify-request",
      requestId: "clarify_1",
      kind: "question",
      question: "Which?",
      choices: ["a", "b"],
      allowFreetext: true,
      expiresAt: null,
    },
    lines: [{ type: "clarify.request", request_id: "clarify_1", question: "Which?", choices: ["a", "b"] }],
  },
  {
    name: "its answer",
    body: {
      type: "status",
      kind: "answered",
      text: "",
      requestId: "clarify_1",
      question: "clarify",
      choice: "a",
      by: "user",
    },
    lines: [{ type: "clarify.resolved", request_id: "clarify_1", answer: "a", by: "user" }],
  },
  {
    name: "a compression",
    body: { type: "status", kind: "compress", text: "Shortened." },
    lines: [{ type: "status", kind: "compress", text: "Shortened." }],
  },
  {
    name: "the child session",
    body: {
      type: "session-rotated",
      oldSessionId: toSessionId("s1"),
      newSessionId: toSessionId("s2"),
      reason: "compression",
    },
    lines: [{ type: "session.rotated", old_session_id: "s1", new_session_id: "s2", reason: "compression" }],
  },
  {
    name: "a notice",
    body: { type: "status", kind: "notice", text: "Low credit." },
    lines: [{ type: "status", kind: "warning", text: "Low credit." }],
  },
  {
    name: "the usage of an auxiliary call",
    body: {
      type: "usage",
      usage: { input: 5, output: 2, cacheRead: 1, cacheWrite: 0, reasoning: 0 },
      contextTokens: 8,
      contextLength: 1000,
      task: "compression",
    },
    lines: [
      {
        type: "usage",
        input: 5,
        output: 2,
        cache_read: 1,
        cache_write: 0,
        reasoning: 0,
        context_tokens: 8,
        context_length: 1000,
        task: "compression",
      },
    ],
  },
  { name: "an iteration", body: { type: "status", kind: "iteration", text: "", iteration: 2 }, lines: [] },
])("$name", ({ body, lines }) => {
  const linesOf = createStreamJson({ version: "1", deltas: true })
  expect(linesOf({ ...body, sessionId: toSessionId("s1"), runId: "r", seq: 0, ts: 0 })).toEqual(lines)
})

test("text that was discarded belongs to no complete message", () => {
  const linesOf = createStreamJson({ version: "1", deltas: true })
  const envelope = { sessionId: toSessionId("s1"), runId: "r", seq: 0, ts: 0 }
  const events: readonly AgentEventBody[] = [
    { type: "text-delta", text: "Let me" },
    { type: "status", kind: "notice", text: "discarded", discardsText: true },
    { type: "text-delta", text: "Done." },
    {
      type: "message-end",
      streamed: true,
      message: { id: "x", role: "assistant", text: "Done.", finishReason: "stop", toolCalls: [] },
    },
  ]
  const lines = events.flatMap((event) => linesOf({ ...event, ...envelope }))
  expect(lines.map((line) => [line.type, line["message_id"]])).toEqual([
    ["message.start", "m0"],
    ["message.delta", "m0"],
    ["status", undefined],
    ["message.start", "m1"],
    ["message.delta", "m1"],
    ["message.complete", "m1"],
  ])
})
