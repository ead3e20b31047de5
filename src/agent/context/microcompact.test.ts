import { describe, expect, test } from "vitest"

import { assistant, toolRound, user } from "../../../test/fixtures/agent/histories.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import { originalOf, startDraft } from "./history-draft.ts"
import { microcompact, pruneResults, shortArguments } from "./microcompact.ts"
import { generalDigest } from "./result-digest.ts"

const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } } as const
const PLACEHOLDER = { type: "text", text: "[screenshot removed to save context]" } as const
const run = (messages: readonly Message[], more: { tailStart?: number; pinned?: readonly Message[] } = {}) =>
  microcompact(startDraft(messages), {
    tailStart: more.tailStart ?? messages.length,
    pinned: new Set(more.pinned),
    digest: generalDigest,
    newestResultOnly: (tool) => tool === "tool_search",
  })

describe("obsolete results", () => {
  const long = "x".repeat(200)
  const results = (messages: readonly Message[]): readonly string[] =>
    messages.filter(({ role }) => role === "tool").map(({ content }) => contentText(content))

  test.each([
    ["equal results from 200 characters on", long, long, true],
    ["shorter ones stay", long.slice(1), long.slice(1), false],
    ["different ones stay", long, `${long}y`, false],
  ])("%s", (_name, first, second, pointed) => {
    const draft = run([...toolRound([{ id: "a", result: first }]), ...toolRound([{ id: "b", result: second }])], {
      tailStart: 0,
    })
    expect(results(draft.messages)).toEqual([
      pointed ? "[The same result appears again later: see the result of read_file, call b]" : first,
      second,
    ])
  })

  test("a repeated listing refers to the newest one, even when it differs", () => {
    for (const tool of ["tool_search", "mcp_github_list_issues"]) {
      const listing = (id: string, result: string, args = { name: "x" }) => toolRound([{ id, tool, args, result }])
      const draft = run(
        [...listing("a", long), ...listing("b", `${long}b`, { name: "y" }), ...listing("c", `${long}c`)],
        {
          tailStart: 0,
        },
      )
      expect(results(draft.messages)).toEqual([
        `[A newer version of this listing appears later: see the result of ${tool}, call c]`,
        `${long}b`,
        `${long}c`,
      ])
    }
  })

  test("pinned results stay", () => {
    const messages = [...toolRound([{ id: "a", result: long }]), ...toolRound([{ id: "b", result: long }])]
    const draft = startDraft(messages)
    expect(run(messages, { tailStart: 0, pinned: [messages[1]!] }).messages).toEqual(draft.messages)
  })
})

test("old messages lose their reasoning and images; the newest reply and the tail keep them", () => {
  const thinking = {
    reasoning: "for display",
    reasoning_content: "x",
    reasoning_details: [1],
    codex_message_items: [2],
  }
  const messages = [
    user([{ type: "text", text: "look" }, IMAGE]),
    assistant("old", thinking),
    user([IMAGE]),
    assistant("new", thinking),
  ]
  const draft = run(messages)
  expect(draft.messages).toEqual([
    user([{ type: "text", text: "look" }, PLACEHOLDER]),
    assistant("old", { reasoning: "for display" }),
    user([PLACEHOLDER]),
    messages[3],
  ])
  expect(draft.messages.map((message) => originalOf(draft, message))).toEqual(messages)
  expect(run(messages, { tailStart: 0 }).messages).toBe(messages)
  expect(run(messages, { pinned: messages }).messages).toBe(messages)
})

test("a shortened result becomes one line once it is old", () => {
  const cut = "beginning\n[Shortened: about 10 of 99999 characters kept. The full text could not be saved.]\nend"
  const messages = [
    ...toolRound([{ id: "a", args: { path: "f" }, result: cut }]),
    ...toolRound([{ id: "b", result: "x".repeat(500) }]),
  ]
  expect(
    run(messages)
      .messages.filter(({ role }) => role === "tool")
      .map(({ content }) => content),
  ).toEqual([`[read_file] path=f (${cut.length} chars result)`, "x".repeat(500)])
})

test("before a summary every longer result becomes one line, from the original arguments", () => {
  const args = { path: "f", content: "y".repeat(600) }
  const messages = [
    ...toolRound([
      { id: "a", args, result: "x".repeat(201) },
      { id: "b", args, result: "x".repeat(200) },
      { id: "c", args, result: [IMAGE] },
    ]),
    assistant("done"),
  ]
  const draft = pruneResults(startDraft(messages), {
    tailStart: 4,
    pinned: new Set(),
    digest: generalDigest,
    newestResultOnly: () => false,
  })
  expect(draft.messages.slice(1, 4).map(({ content }) => content)).toEqual([
    `[read_file] path=f content=${"y".repeat(40)} (201 chars result)`,
    "x".repeat(200),
    `[read_file] path=f content=${"y".repeat(40)} (0 chars result)`,
  ])
})

describe("long arguments", () => {
  test.each([
    ["short ones stay", JSON.stringify({ a: "x".repeat(400) }), JSON.stringify({ a: "x".repeat(400) })],
    [
      "long strings are cut, also nested ones",
      JSON.stringify({ n: 1, a: "x".repeat(600), b: [{ c: "y".repeat(201) }], d: "z".repeat(200) }),
      JSON.stringify({
        n: 1,
        a: `${"x".repeat(200)}...[truncated]`,
        b: [{ c: `${"y".repeat(200)}...[truncated]` }],
        d: "z".repeat(200),
      }),
    ],
    ["invalid JSON stays", `{"a":"${"x".repeat(600)}`, `{"a":"${"x".repeat(600)}`],
  ])("%s", (_name, text, short) => {
    expect(shortArguments(text)).toBe(short)
    expect(shortArguments(short)).toBe(short)
  })
})
