import { describe, expect, test } from "vitest"

import type { ModelReply } from "../llm/model.ts"
import { toolCall } from "../../test/fixtures/agent/dispatch-harness.ts"
import { createRetryState, judgeReply } from "./reply-acceptance.ts"
import type { RetryState, ReplyContext, ReplyVerdict } from "./reply-acceptance.ts"

const CHAT: ReplyContext = {
  runtime: { wire: "chat_completions", model: "m", provider: "p" },
  afterTools: false,
  toolsUsed: false,
  configuredMaxOutputTokens: undefined,
}

function replyOf(more: Partial<ModelReply>): ModelReply {
  return {
    content: null,
    toolCalls: [],
    finishReason: "stop",
    reasoning: null,
    carriers: {},
    ending: "complete",
    ...more,
  }
}

const textReply = (content: string, more: Partial<ModelReply> = {}) => replyOf({ content, ...more })
const emptyReply = replyOf({})
const written = (args: string) => ({ ...toolCall("a", "t"), function: { name: "t", arguments: args } })

/** The verdicts on consecutive replies of a turn. */
function judgeAll(
  replies: readonly ModelReply[],
  context: Partial<ReplyContext> = {},
  state: RetryState = createRetryState(),
): readonly ReplyVerdict[] {
  return replies.map((reply) => judgeReply(reply, state, { ...CHAT, ...context }))
}

const kinds = (verdicts: readonly ReplyVerdict[]): readonly string[] =>
  verdicts.map((verdict) => (verdict.kind === "give-up" ? verdict.code : verdict.kind))

const repeated = (count: number, reply: ModelReply): readonly ModelReply[] => Array.from({ length: count }, () => reply)

describe("how often each kind of reply is retried", () => {
  test.each<[string, ModelReply, Partial<ReplyContext>, readonly string[]]>([
    ["an answer", textReply("hi"), {}, ["keep"]],
    ["calls", replyOf({ toolCalls: [toolCall("a", "t")] }), {}, ["keep"]],
    ["a content filter", textReply("no", { finishReason: "content_filter" }), {}, ["content_policy_blocked"]],
    ["text cut by a lost connection", textReply("hi", { ending: "cut-text" }), {}, ["keep"]],
    ["a call cut by a lost connection", replyOf({ ending: "cut-call" }), {}, ["cut_calls"]],
    ["text at the output limit", textReply("hi", { finishReason: "length" }), {}, ["retry", "retry", "retry", "keep"]],
    [
      "calls at the output limit",
      replyOf({ toolCalls: [toolCall("a", "t")], finishReason: "length" }),
      {},
      ["retry", "retry", "retry", "output_limit"],
    ],
    ["reasoning only at the output limit", replyOf({ reasoning: "hm", finishReason: "length" }), {}, ["output_limit"]],
    [
      "nothing at the output limit",
      replyOf({ finishReason: "length" }),
      {},
      ["retry", "retry", "retry", "empty_response"],
    ],
    ["an incomplete reply", textReply("hi", { finishReason: "incomplete" }), {}, ["retry", "retry", "keep"]],
    ["an unclosed scratchpad", textReply("<REASONING_SCRATCHPAD>\nhm"), {}, ["retry", "retry", "open_scratchpad"]],
    [
      "arguments that end in the middle",
      replyOf({ toolCalls: [written('{"a": "b')] }),
      {},
      ["retry", "retry", "retry", "cut_calls"],
    ],
    ["arguments that are not JSON", replyOf({ toolCalls: [written('{"a" "b"}')] }), {}, ["retry", "retry", "keep"]],
    [
      "thoughts only",
      replyOf({ reasoning: "hm" }),
      {},
      ["retry", "retry", "retry", "retry", "retry", "empty_response"],
    ],
    ["nothing", emptyReply, {}, ["retry", "retry", "retry", "empty_response"]],
    ["blanks", textReply(" \n"), {}, ["retry", "retry", "retry", "empty_response"]],
    ["nothing after tools", emptyReply, { afterTools: true }, ["retry", "retry", "retry", "retry", "empty_response"]],
    ["an announcement on another wire", textReply("Let me look at the files."), {}, ["keep"]],
    [
      "an announcement on Responses",
      textReply("Let me look at the files."),
      { runtime: { ...CHAT.runtime, wire: "codex_responses" } },
      ["retry", "retry", "keep"],
    ],
    [
      "an announcement after work",
      textReply("Let me look at the files."),
      { runtime: { ...CHAT.runtime, wire: "codex_responses" }, toolsUsed: true },
      ["keep"],
    ],
  ])("%s", (_name, reply, context, expected) => {
    expect(kinds(judgeAll(repeated(expected.length, reply), context))).toEqual(expected)
  })
})

test.each([
  [undefined, [8192, 12_288, 16_384]],
  [1000, [2000, 3000, 4000]],
  [20_000, [32_768, 32_768, 32_768]],
  [50_000, [50_000, 50_000, 50_000]],
])("the output limit of each continuation when the setting is %s", (configured, expected) => {
  const limits = (reply: ModelReply) =>
    judgeAll(repeated(3, reply), { configuredMaxOutputTokens: configured }).map((verdict) =>
      verdict.kind === "retry" ? verdict.maxOutputTokens : undefined,
    )
  expect(limits(textReply("hi", { finishReason: "length" }))).toEqual(expected)
  expect(limits(replyOf({ toolCalls: [toolCall("a", "t")], finishReason: "length" }))).toEqual(expected)
})

test("a continuation sends the whole text so far, and the parts are kept as one", () => {
  const state = createRetryState()
  const [, second] = judgeAll(
    [textReply("abc", { finishReason: "length" }), textReply("def", { finishReason: "length" })],
    {},
    state,
  )
  expect(second).toMatchObject({
    kind: "retry",
    temporaryMessages: [
      { role: "assistant", content: "abcdef" },
      { role: "user", synthetic: "recovery" },
    ],
  })
  expect(state.continuedText).toBe("abcdef")
  // After an empty reply the text so far is the answer.
  expect(judgeReply(emptyReply, state, CHAT)).toEqual({ kind: "keep", partial: true })
})

test("incomplete replies are sent together, a repeated one once", () => {
  const part = (content: string) => textReply(content, { finishReason: "incomplete" })
  const contents = (...replies: readonly ModelReply[]) =>
    judgeAll(replies).map((verdict) =>
      verdict.kind === "retry" ? verdict.temporaryMessages.map(({ content }) => content) : verdict.kind,
    )
  expect(contents(part("one"), part("two"), textReply("three"))).toEqual([["one"], ["one", "two"], "keep"])
  expect(contents(part("one"), part("one"), textReply("two"))).toEqual([["one"], ["one"], "keep"])
  expect(contents(part("one"), emptyReply)).toEqual([["one"], ["one"]])
})

test("a reply of reasoning only is sent back with its carriers", () => {
  const carriers = { reasoning_content: "hm" }
  expect(judgeAll([replyOf({ reasoning: "hm", carriers })])).toEqual([
    {
      kind: "retry",
      temporaryMessages: [{ role: "assistant", content: null, reasoning: "hm", reasoning_content: "hm" }],
    },
  ])
})

test("after an empty reply, the text of an earlier housekeeping reply is the answer", () => {
  const state = { ...createRetryState(), earlierText: "done" }
  expect(judgeReply(emptyReply, state, { ...CHAT, afterTools: true })).toEqual({ kind: "earlier-text", text: "done" })
  expect(judgeReply(textReply("more"), state, CHAT)).toEqual({ kind: "keep" })
})

test("the model is asked only once in a turn to answer from its results", () => {
  const state = createRetryState()
  const [first, second] = judgeAll([emptyReply, emptyReply], { afterTools: true }, state)
  expect(first).toMatchObject({ temporaryMessages: [{ content: "(empty)" }, { synthetic: "recovery" }] })
  expect(second).toEqual({ kind: "retry", temporaryMessages: [] })
})

test("a content filter is reported in the provider's words", () => {
  expect(judgeAll([textReply("I cannot.", { finishReason: "content_filter" })])).toEqual([
    {
      kind: "give-up",
      code: "content_policy_blocked",
      message: "content_policy_blocked: the provider refused to answer: I cannot.",
    },
  ])
})
