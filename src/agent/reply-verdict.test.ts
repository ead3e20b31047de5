import { describe, expect, test } from "vitest"

import type { ModelReply } from "../llm/model.ts"
import { toolCall } from "../../test/fixtures/agent/dispatch-bench.ts"
import { createPatience, judgeReply } from "./reply-verdict.ts"
import type { Patience, ReplyContext, Verdict } from "./reply-verdict.ts"

const CHAT: ReplyContext = {
  runtime: { wire: "chat_completions", model: "m", provider: "p" },
  afterTools: false,
  toolsUsed: false,
  requestedCap: undefined,
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

const words = (content: string, more: Partial<ModelReply> = {}) => replyOf({ content, ...more })
const nothing = replyOf({})
const written = (args: string) => ({ ...toolCall("a", "t"), function: { name: "t", arguments: args } })

/** The verdicts on replies that come one after the other within a turn. */
function judgeAll(
  replies: readonly ModelReply[],
  context: Partial<ReplyContext> = {},
  patience: Patience = createPatience(),
): readonly Verdict[] {
  return replies.map((reply) => judgeReply(reply, patience, { ...CHAT, ...context }))
}

const kinds = (verdicts: readonly Verdict[]): readonly string[] =>
  verdicts.map((verdict) => (verdict.kind === "give-up" ? verdict.code : verdict.kind))

const repeated = (count: number, reply: ModelReply): readonly ModelReply[] => Array.from({ length: count }, () => reply)

describe("how often a reply of a kind is put up with in a row", () => {
  test.each<[string, ModelReply, Partial<ReplyContext>, readonly string[]]>([
    ["an answer", words("hi"), {}, ["keep"]],
    ["calls", replyOf({ toolCalls: [toolCall("a", "t")] }), {}, ["keep"]],
    ["a refusal", words("no", { finishReason: "content_filter" }), {}, ["content_policy_blocked"]],
    ["text that was cut on the way", words("hi", { ending: "cut-text" }), {}, ["keep"]],
    ["a call that was cut on the way", replyOf({ ending: "cut-call" }), {}, ["cut_calls"]],
    ["text at the output limit", words("hi", { finishReason: "length" }), {}, ["again", "again", "again", "keep"]],
    [
      "calls at the output limit",
      replyOf({ toolCalls: [toolCall("a", "t")], finishReason: "length" }),
      {},
      ["again", "again", "again", "output_limit"],
    ],
    ["thoughts at the output limit", replyOf({ reasoning: "hm", finishReason: "length" }), {}, ["output_limit"]],
    [
      "nothing at the output limit",
      replyOf({ finishReason: "length" }),
      {},
      ["again", "again", "again", "empty_response"],
    ],
    ["an unfinished reply", words("hi", { finishReason: "incomplete" }), {}, ["again", "again", "keep"]],
    ["an open scratchpad", words("<REASONING_SCRATCHPAD>\nhm"), {}, ["again", "again", "open_scratchpad"]],
    [
      "arguments that end in the middle",
      replyOf({ toolCalls: [written('{"a": "b')] }),
      {},
      ["again", "again", "again", "output_limit"],
    ],
    ["arguments that are no JSON", replyOf({ toolCalls: [written('{"a" "b"}')] }), {}, ["again", "again", "keep"]],
    [
      "thoughts only",
      replyOf({ reasoning: "hm" }),
      {},
      ["again", "again", "again", "again", "again", "empty_response"],
    ],
    ["nothing", nothing, {}, ["again", "again", "again", "empty_response"]],
    ["blanks", words(" \n"), {}, ["again", "again", "again", "empty_response"]],
    ["nothing after tools", nothing, { afterTools: true }, ["again", "again", "again", "again", "empty_response"]],
    ["an announcement on another wire", words("Let me look at the files."), {}, ["keep"]],
    [
      "an announcement on Responses",
      words("Let me look at the files."),
      { runtime: { ...CHAT.runtime, wire: "codex_responses" } },
      ["again", "again", "keep"],
    ],
    [
      "an announcement after work",
      words("Let me look at the files."),
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
])("the cap of each continuation when the settings ask for %s", (requestedCap, expected) => {
  const caps = (reply: ModelReply) =>
    judgeAll(repeated(3, reply), { requestedCap }).map((verdict) =>
      verdict.kind === "again" ? verdict.outputCap : undefined,
    )
  expect(caps(words("hi", { finishReason: "length" }))).toEqual(expected)
  expect(caps(replyOf({ toolCalls: [toolCall("a", "t")], finishReason: "length" }))).toEqual(expected)
})

test("a continuation shows all that was said so far, and the parts are kept together", () => {
  const patience = createPatience()
  const [, second] = judgeAll(
    [words("abc", { finishReason: "length" }), words("def", { finishReason: "length" })],
    {},
    patience,
  )
  expect(second).toMatchObject({
    kind: "again",
    scaffold: [
      { role: "assistant", content: "abcdef" },
      { role: "user", synthetic: "recovery" },
    ],
  })
  expect(patience.continued).toBe("abcdef")
  // Nothing more comes: what there is, is the answer.
  expect(judgeReply(nothing, patience, CHAT)).toEqual({ kind: "keep", partial: true })
})

test("replies that go on are sent together, one that repeats itself once", () => {
  const part = (content: string) => words(content, { finishReason: "incomplete" })
  const scaffolds = (...replies: readonly ModelReply[]) =>
    judgeAll(replies).map((verdict) =>
      verdict.kind === "again" ? verdict.scaffold.map(({ content }) => content) : verdict.kind,
    )
  expect(scaffolds(part("one"), part("two"), words("three"))).toEqual([["one"], ["one", "two"], "keep"])
  expect(scaffolds(part("one"), part("one"), words("two"))).toEqual([["one"], ["one"], "keep"])
  expect(scaffolds(part("one"), nothing)).toEqual([["one"], ["one"]])
})

test("thoughts are sent back as they came, with what seals them", () => {
  const carriers = { reasoning_content: "hm" }
  expect(judgeAll([replyOf({ reasoning: "hm", carriers })])).toEqual([
    { kind: "again", scaffold: [{ role: "assistant", content: null, reasoning: "hm", reasoning_content: "hm" }] },
  ])
})

test("text beside bookkeeping is the answer to an empty reply, before anything is asked again", () => {
  const patience = { ...createPatience(), earlierText: "done" }
  expect(judgeReply(nothing, patience, { ...CHAT, afterTools: true })).toEqual({ kind: "earlier-text", text: "done" })
  expect(judgeReply(words("more"), patience, CHAT)).toEqual({ kind: "keep" })
})

test("the model is asked only once in a turn to answer from its results", () => {
  const patience = createPatience()
  const [first, second] = judgeAll([nothing, nothing], { afterTools: true }, patience)
  expect(first).toMatchObject({ scaffold: [{ content: "(empty)" }, { synthetic: "recovery" }] })
  expect(second).toEqual({ kind: "again", scaffold: [] })
})

test("a refusal is told in the provider's words", () => {
  expect(judgeAll([words("I cannot.", { finishReason: "content_filter" })])).toEqual([
    {
      kind: "give-up",
      code: "content_policy_blocked",
      message: "content_policy_blocked: the provider refused to answer: I cannot.",
    },
  ])
})
