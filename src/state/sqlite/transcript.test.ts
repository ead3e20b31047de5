import { expect, test } from "vitest"
import type { Message } from "../../protocol/message.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import { NOW, session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"

const A = sessionId("a")

const CALL = {
  id: "call_1",
  type: "function",
  function: { name: "read_file", arguments: '{"path":"图.txt"}' },
} as const

const EVERY_KIND: readonly Message[] = [
  { role: "system", content: "be kind" },
  { role: "user", content: "hello", injected: "\n\n[note]", provenance: "web", timestamp: NOW + 1 },
  {
    role: "assistant",
    content: null,
    tool_calls: [CALL],
    finish_reason: "tool_calls",
    reasoning: "thinking",
    reasoning_content: "echo",
    reasoning_details: [{ type: "thinking", signature: "s" }],
    codex_reasoning_items: [{ id: "r1" }],
    codex_message_items: [{ id: "m1" }],
    anthropic_content_blocks: [{ type: "thinking" }],
    timestamp: NOW + 2,
  },
  {
    role: "tool",
    content: "result",
    tool_call_id: "call_1",
    tool_name: "read_file",
    shown: { content: "cut" },
    timestamp: NOW + 3,
  },
  {
    role: "user",
    content: [
      { type: "text", text: "see" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA==", detail: "low" } },
    ],
    compression_priority: "high",
    timestamp: NOW + 4,
  },
]

test("appended messages survive the round trip and update the counters", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  expect(await t.store.append(A, EVERY_KIND)).toEqual([1, 2, 3, 4, 5])
  expect(await t.store.conversation(A)).toEqual(EVERY_KIND)
  expect(await t.store.session(A)).toMatchObject({ messageCount: 5, toolCallCount: 1 })
})

test("unknown fields of a message are kept in `extra`", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const summary = { role: "user", content: "summary", compressed_summary: true, timestamp: NOW } as Message
  await t.store.append(A, [summary])
  expect(await t.store.conversation(A)).toEqual([summary])
  expect(t.raw((db) => db.prepare("SELECT extra FROM messages").get()?.["extra"])).toBe('{"compressed_summary":true}')
})

test("empty lists are stored as NULL and lone surrogates as U+FFFD", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(A, [{ role: "assistant", content: "x\uD800", tool_calls: [], reasoning_details: [] }])
  const row = t.raw((db) => ({ ...db.prepare("SELECT content, tool_calls, reasoning_details FROM messages").get() }))
  expect(row).toEqual({ content: "x\uFFFD", tool_calls: null, reasoning_details: null })
})

test("messages without a time follow one microsecond apart", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(A, [
    { role: "user", content: "1" },
    { role: "user", content: "2", timestamp: NOW - 100 },
    { role: "user", content: "3" },
  ])
  const times = (await t.store.messages(A)).map((row) => row.timestamp)
  expect(times).toEqual([NOW, NOW - 100, NOW - 100 + 0.000_001])
})

test("messages are read in insertion order even when the clock was set back", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(A, [{ role: "user", content: "first", timestamp: NOW }])
  await t.store.append(A, [{ role: "assistant", content: "second", timestamp: NOW - 3600 }])
  expect((await t.store.messages(A)).map((row) => row.text)).toEqual(["first", "second"])
})

test("a message that cannot be stored rolls back the whole append", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const broken = { role: null, content: "x" } as unknown as Message
  await expect(t.store.append(A, [{ role: "user", content: "ok" }, broken])).rejects.toMatchObject({ kind: "failed" })
  expect(await t.store.messages(A)).toEqual([])
  expect(await t.store.session(A)).toMatchObject({ messageCount: 0 })
})

test("appending to a missing session names it", async () => {
  await using t = await temporaryStore()
  await expect(t.store.append(sessionId("missing"), [{ role: "user", content: "x" }])).rejects.toThrow(
    "Session missing does not exist any more",
  )
})

test("an append adds its totals in the same transaction", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const usage = { input: 10, output: 5, cacheRead: 3, cacheWrite: 2, reasoning: 1 }
  const totals = {
    usage,
    apiCalls: 1,
    model: "m1",
    billingProvider: "p1",
    estimatedCostUsd: 0.5,
    costStatus: "estimated",
  }
  await t.store.append(A, [{ role: "user", content: "x" }], totals)
  await t.store.addTotals(A, {
    usage,
    apiCalls: 2,
    costSource: "table",
    pricingVersion: "v2",
    billingBaseUrl: "http://b",
    model: "m2",
    billingProvider: "p2",
    estimatedCostUsd: 0.25,
  })
  expect(await t.store.session(A)).toMatchObject({
    usage: { input: 20, output: 10, cacheRead: 6, cacheWrite: 4, reasoning: 2 },
    apiCallCount: 3,
    model: "m1",
    billingProvider: "p1",
    estimatedCostUsd: 0.75,
    actualCostUsd: null,
    costStatus: "estimated",
    costSource: "table",
    pricingVersion: "v2",
    billingBaseUrl: "http://b",
  })
})

test("setting totals replaces them, keeps the others and creates a missing session", async () => {
  await using t = await temporaryStore()
  await t.store.setTotals(A, { usage: { ...NO_USAGE, input: 7 }, apiCalls: 4, actualCostUsd: 1 })
  await t.store.setTotals(A, { usage: { ...NO_USAGE, input: 9 }, costStatus: "actual" })
  expect(await t.store.session(A)).toMatchObject({
    source: "unknown",
    usage: { ...NO_USAGE, input: 9 },
    apiCallCount: 4,
    actualCostUsd: 1,
    estimatedCostUsd: null,
    costStatus: "actual",
  })
  await t.store.setModel(A, "chosen")
  await t.store.setDirectory(A, "/moved")
  expect(await t.store.session(A)).toMatchObject({ model: "chosen", cwd: "/moved" })
})

test("replacing a transcript keeps times and recomputes both counters", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(A, EVERY_KIND)
  await t.store.replaceMessages(A, EVERY_KIND.slice(0, 2))
  expect(await t.store.conversation(A)).toEqual(EVERY_KIND.slice(0, 2))
  expect(await t.store.session(A)).toMatchObject({ messageCount: 2, toolCallCount: 0 })
})

test("undo deletes messages at schema version 11, which old readers share", async () => {
  await using t = await temporaryStore()
  t.raw((db) => db.exec("UPDATE schema_version SET version = 11"))
  await t.store.createSession(session("a"))
  await t.store.append(A, EVERY_KIND)
  expect(await t.store.undoTo(A, 2)).toBe("hello")
  expect(t.raw((db) => db.prepare("SELECT id FROM messages").all().length)).toBe(1)
  expect(await t.store.session(A)).toMatchObject({ messageCount: 1, toolCallCount: 0 })
  expect(await t.store.search("hello")).toEqual([])
})

test("undo hides messages from schema version 12 on", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(A, EVERY_KIND)
  expect(await t.store.undoTo(A, 2)).toBe("hello")
  expect(await t.store.session(A)).toMatchObject({ messageCount: 1, toolCallCount: 0 })
  expect((await t.store.messages(A)).map((row) => row.id)).toEqual([1])
  const all = await t.store.messages(A, { includeInactive: true })
  expect(all.map((row) => row.active)).toEqual([true, false, false, false, false])
  expect(t.raw((db) => db.prepare("SELECT rewind_count FROM sessions").get()?.["rewind_count"])).toBe(1)
  expect(await t.store.search("hello")).toEqual([])
  expect(await t.store.search("hello", { includeInactive: true })).toHaveLength(1)
})

test("undo of a message of another session changes nothing", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.createSession(session("b"))
  await t.store.append(A, [{ role: "user", content: "mine" }])
  expect(await t.store.undoTo(sessionId("b"), 1)).toBe("")
  expect(await t.store.messages(A)).toHaveLength(1)
})

test("extras can be added to a stored message", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  const [id] = await t.store.append(A, [{ role: "user", content: "long", provenance: "file", timestamp: NOW }])
  await t.store.addExtras([{ messageId: id!, extras: { shown: { content: "lo…" } } }])
  expect(await t.store.conversation(A)).toEqual([
    { role: "user", content: "long", provenance: "file", shown: { content: "lo…" }, timestamp: NOW },
  ])
})

test("invalid JSON columns are ignored, and unknown roles are not part of the conversation", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  t.raw((db) =>
    db.exec(`INSERT INTO messages(session_id, role, content, tool_calls, reasoning_details, extra, timestamp) VALUES
      ('a', 'session_meta', 'x', NULL, NULL, NULL, 1),
      ('a', 'assistant', 'y', '{broken', '[broken', 'broken', 2)`),
  )
  expect((await t.store.messages(A)).map((row) => row.role)).toEqual(["session_meta", "assistant"])
  expect(await t.store.conversation(A)).toEqual([{ role: "assistant", content: "y", timestamp: 2 }])
})

test("the conversation with ancestors contains the repeated user message only once", async () => {
  await using t = await temporaryStore()
  const [parent, child] = [sessionId("parent"), sessionId("child")]
  await t.store.createSession(session("parent"))
  await t.store.append(parent, [
    { role: "user", content: "one", timestamp: NOW },
    { role: "assistant", content: "answer", timestamp: NOW + 1 },
    { role: "user", content: "two", timestamp: NOW + 2 },
  ])
  t.clock.seconds = NOW + 10
  await t.store.rotate(parent, session("child"), [
    { role: "user", content: "two", timestamp: NOW + 10 },
    { role: "assistant", content: "later", timestamp: NOW + 11 },
  ])
  const texts = (messages: readonly Message[]): unknown[] => messages.map((message) => message.content)
  expect(texts(await t.store.conversation(child))).toEqual(["two", "later"])
  expect(texts(await t.store.conversation(child, { withAncestors: true }))).toEqual(["one", "answer", "two", "later"])
})

test("memory fences of older versions are removed from the conversation", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(A, [
    { role: "user", content: "q\n\n<memory-context>\n[note]\n\nfact\n</memory-context>", timestamp: NOW },
  ])
  expect(await t.store.conversation(A)).toEqual([{ role: "user", content: "q", timestamp: NOW }])
})

test("messagesAround and anchoredView return the neighbours of a message", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.append(
    A,
    Array.from({ length: 12 }, (_, index) =>
      index % 3 === 2
        ? ({ role: "tool", content: `m${index}`, tool_call_id: "c", tool_name: "t" } as const)
        : ({ role: "user", content: `m${index}` } as const),
    ),
  )
  const window = await t.store.messagesAround(2, 3)
  expect({ ...window, messages: window.messages.map((row) => row.text) }).toEqual({
    messages: ["m0", "m1", "m2", "m3", "m4"],
    before: 1,
    after: 3,
  })
  const view = await t.store.anchoredView(6, 1)
  const texts = (rows: readonly { readonly text: string }[]): string[] => rows.map((row) => row.text)
  expect([texts(view.opening), texts(view.messages), texts(view.closing)]).toEqual([
    ["m0", "m1", "m3"],
    ["m4", "m5", "m6"],
    ["m7", "m9", "m10"],
  ])
  expect(await t.store.messagesAround(999, 3)).toEqual({ messages: [], before: 0, after: 0 })
  expect(await t.store.anchoredView(999, 3)).toEqual({ messages: [], before: 0, after: 0, opening: [], closing: [] })
})
