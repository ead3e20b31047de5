import { describe, expect, test } from "vitest"

import { toolBench, type ToolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { ok } from "../../base/result.ts"
import { memoryPaths } from "../../knowledge/memory/memory-file.ts"
import { createMemoryStore, type MemoryStoreOptions } from "../../knowledge/memory/memory-store.ts"
import type { QuestionOutcome, AskPort, Question } from "../../toolkit/ports/ask.ts"
import type { ToolPorts } from "../../toolkit/tool.ts"
import { memory } from "./memory.ts"

const clock = { now: () => 0, sleep: () => Promise.resolve() }

function portsIn(bench: ToolBench, more: Partial<MemoryStoreOptions> = {}): { readonly ports: ToolPorts } {
  const { memoryPath, userPath } = memoryPaths(bench.home.path)
  const limits = { memory: 40, user: 20 }
  return { ports: { memory: createMemoryStore({ memoryPath, userPath, limits, clock, ...more }) } }
}

describe("results", () => {
  test.each<{ name: string; args: Readonly<Record<string, unknown>>; result: unknown }>([
    {
      name: "append is add",
      args: { action: "append", content: " c " },
      result: {
        success: true,
        target: "memory",
        entries: ["uses npm", "old fact", "c"],
        usage: "57% — 23/40 chars",
        entry_count: 3,
        message: "entry added",
      },
    },
    {
      name: "replace",
      args: { action: "replace", old_text: "npm", content: "uses pnpm" },
      result: {
        success: true,
        target: "memory",
        entries: ["uses pnpm", "old fact"],
        usage: "50% — 20/40 chars",
        entry_count: 2,
        message: "entry replaced",
      },
    },
    {
      name: "remove",
      args: { action: "remove", old_text: "old" },
      result: {
        success: true,
        target: "memory",
        entries: ["uses npm"],
        usage: "20% — 8/40 chars",
        entry_count: 1,
        message: "entry removed",
      },
    },
    {
      name: "read",
      args: { action: "read", target: "user" },
      result: {
        success: true,
        target: "user",
        entries: ["likes tea"],
        usage: "45% — 9/20 chars",
        entry_count: 1,
        message: "1 entry",
      },
    },
    {
      name: "search",
      args: { action: "search", query: "Tea npm" },
      result: {
        success: true,
        query: "Tea npm",
        results: expect.arrayContaining([
          { target: "memory", text: "uses npm" },
          { target: "user", text: "likes tea" },
        ]),
        count: 2,
      },
    },
    {
      name: "search for nothing",
      args: { action: "search" },
      result: { error: "query is missing: pass a few words to look for", success: false },
    },
    {
      name: "over the limit",
      args: { action: "add", target: "user", content: "x".repeat(20) },
      result: {
        success: false,
        error:
          "memory is full: the file would have 32 of 20 characters. Merge or remove entries now, in this turn, then try again",
        usage: "45% — 9/20 chars",
        current_entries: ["likes tea"],
      },
    },
    {
      name: "no such entry",
      args: { action: "remove", target: "user", old_text: "coffee" },
      result: { success: false, error: 'no entry contains "coffee"', current_entries: ["likes tea"] },
    },
  ])("$name", async ({ args, result }) => {
    await using bench = await toolBench({
      files: { "memories/MEMORY.md": "uses npm\n§\nold fact", "memories/USER.md": "likes tea" },
    })
    expect(await bench.call(memory, args, portsIn(bench))).toEqual(result)
  })

  test("a full file is reported in one word", async () => {
    await using bench = await toolBench({ files: { "memories/USER.md": "likes tea" } })
    const result = await bench.result(
      memory,
      { action: "add", target: "user", content: "x".repeat(20) },
      portsIn(bench),
    )
    expect(result.failureWord).toBe("full")
  })

  test("matching entries are shown, and a file that cannot be written names its backup", async () => {
    await using bench = await toolBench({
      files: { "memories/MEMORY.md": "xa\n§\nxb", "memories/USER.md": "p".repeat(50) },
    })
    const with_ = portsIn(bench)
    expect(await bench.call(memory, { action: "remove", old_text: "x" }, with_)).toEqual({
      success: false,
      error: '2 entries contain "x": pass a longer part of one',
      matches: ["xa", "xb"],
    })
    expect(await bench.call(memory, { action: "add", target: "user", content: "n" }, with_)).toEqual({
      success: false,
      error: expect.stringContaining("was not overwritten"),
      backup: `${memoryPaths(bench.home.path).userPath}.bak.0`,
    })
  })
})

describe("approval", () => {
  const asking = (answer: QuestionOutcome): { asked: Question[]; ask: AskPort } => {
    const asked: Question[] = []
    return { asked, ask: { ask: (question) => (asked.push(question), Promise.resolve(answer)) } }
  }

  test.each<{ answer: QuestionOutcome; result: unknown }>([
    { answer: { kind: "answer", text: "Yes" }, result: expect.objectContaining({ entries: ["new"] }) },
    {
      answer: { kind: "answer", text: "No" },
      result: { success: false, error: "the user rejected this change; do not try it again" },
    },
    { answer: { kind: "interrupted" }, result: expect.objectContaining({ success: false }) },
    {
      answer: { kind: "unattended" },
      result: {
        success: true,
        staged: "id1",
        target: "memory",
        message: "staged as id1: the user decides later; continue without it",
      },
    },
    { answer: { kind: "timeout" }, result: expect.objectContaining({ staged: "id1" }) },
  ])("after $answer", async ({ answer, result }) => {
    await using bench = await toolBench()
    const { asked, ask } = asking(answer)
    const { ports } = portsIn(bench, { stage: () => ok("id1") })
    const got = await bench.call(memory, { action: "add", content: "new" }, { ports: { ...ports, ask } })
    expect(got).toEqual(result)
    expect(asked).toEqual([
      {
        kind: "question",
        asker: "hermes",
        question: `Add to Hermes's notes: "new"?`,
        choices: ["Yes", "No"],
        allowFreetext: false,
      },
    ])
  })

  test("the question states the change", async () => {
    await using bench = await toolBench({ files: { "memories/USER.md": "likes tea" } })
    const { asked, ask } = asking({ kind: "unattended" })
    const { ports } = portsIn(bench, { stage: () => ok("id1") })
    const with_ = { ports: { ...ports, ask } }
    await bench.call(memory, { action: "replace", target: "user", old_text: "tea", content: "milk" }, with_)
    await bench.call(memory, { action: "remove", target: "user", old_text: "tea" }, with_)
    expect(asked.map(({ question }) => question)).toEqual([
      'Change the entry with "tea" in what Hermes knows about you to "milk"?',
      'Remove the entry with "tea" from what Hermes knows about you?',
    ])
  })

  test("the user is not asked without write_approval", async () => {
    await using bench = await toolBench()
    const { asked, ask } = asking({ kind: "unattended" })
    const { ports } = portsIn(bench)
    await bench.call(memory, { action: "add", content: "new" }, { ports: { ...ports, ask } })
    expect(asked).toEqual([])
  })
})

test("without the port the call fails", async () => {
  await using bench = await toolBench()
  expect(await bench.call(memory, { action: "read" })).toEqual({ error: "memory is not available here" })
})

test("read and search have read access, everything else write access; previews name the target", () => {
  const calls = [
    { action: "read" },
    { action: "search", query: "tea" },
    { action: "add", target: "user", content: "c" },
    { action: "append", content: "c" },
    { action: "replace", old_text: "o", content: "c" },
    { action: "remove", old_text: "o" },
  ].map((args) => {
    const parsed = memory.runnable.parse(args)
    return parsed.ok ? [parsed.value.access, parsed.value.preview] : parsed.error
  })
  expect(calls).toEqual([
    ["read", "read memory"],
    ["read", "search memory: tea"],
    ["write", "add user: c"],
    ["write", "append memory: c"],
    ["write", "replace memory: c"],
    ["write", "remove memory: o"],
  ])
})

test.each([
  [{ action: "add", target: "user", content: "c" }, "[memory] add on user"],
  [{ action: "read" }, "[memory] read on memory"],
  [{}, "[memory] ? on memory"],
])("the digest of %j is %s", (args, line) => {
  expect(memory.runnable.digest?.({ tool: "memory", args, result: "" })).toBe(line)
})

test("the definition stays small", () => {
  const { name, description, parameters } = memory
  expect(Buffer.byteLength(JSON.stringify({ name, description, parameters }))).toBeLessThan(900)
})
