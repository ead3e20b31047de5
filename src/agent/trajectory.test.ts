import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import type { AssistantMessage, Message, Part, ToolCall } from "../protocol/message.ts"
import { appendTrajectory, toTrajectory } from "./trajectory.ts"
import type { TrajectoryTurn } from "./trajectory.ts"

const user: Message = { role: "user", content: "first" }

function call(name: string, args: string, id = "c1"): ToolCall {
  return { id, type: "function", function: { name, arguments: args } }
}

function result(content: string | readonly Part[], id = "c1"): Message {
  return { role: "tool", tool_call_id: id, tool_name: "f", content }
}

function calls(...tool_calls: readonly ToolCall[]): AssistantMessage {
  return { role: "assistant", content: null, tool_calls }
}

/** The turns after the preamble and the query. */
function turnsOf(...messages: readonly Message[]): readonly TrajectoryTurn[] {
  const { conversations } = toTrajectory({
    messages: [user, ...messages],
    tools: [],
    userQuery: "query",
    model: "m",
    completed: true,
    now: 0,
  })
  return conversations.slice(2)
}

describe("assistant messages", () => {
  test.each<{ name: string; message: AssistantMessage; value: string }>([
    {
      name: "text without reasoning",
      message: { role: "assistant", content: "hi" },
      value: "<think>\n</think>\nhi",
    },
    {
      name: "text with reasoning",
      message: { role: "assistant", content: "hi", reasoning: "r" },
      value: "<think>\nr\n</think>\nhi",
    },
    {
      name: "blank reasoning is none",
      message: { role: "assistant", content: " hi ", reasoning: "  " },
      value: "<think>\n</think>\n hi",
    },
    {
      name: "a call without text",
      message: calls(call("f", "{}")),
      value: '<think>\n</think>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    },
    {
      name: "a scratchpad",
      message: { role: "assistant", content: "<REASONING_SCRATCHPAD>x</REASONING_SCRATCHPAD>y" },
      value: "<think>x</think>y",
    },
    {
      name: "broken arguments",
      message: calls(call("f", '{"a": "unterm')),
      value: '<think>\n</think>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
    },
    {
      name: "reasoning, text and two calls",
      message: {
        role: "assistant",
        content: "Looking.",
        reasoning: "hm",
        tool_calls: [call("f", '{"b":[1,2],"a":"x, y: z"}'), call("g", '{"ü":"\\u00e9 \\"q\\""}', "c2")],
      },
      value: [
        "<think>\nhm\n</think>",
        "Looking.",
        '<tool_call>\n{"name": "f", "arguments": {"b": [1, 2], "a": "x, y: z"}}\n</tool_call>',
        '<tool_call>\n{"name": "g", "arguments": {"ü": "é \\"q\\""}}\n</tool_call>',
      ].join("\n"),
    },
    {
      name: "numbers and the order of keys stay as written",
      message: calls(call("f", '{ "b": 12345678901234567890, "2": 1.0, "1": true }')),
      value:
        '<think>\n</think>\n<tool_call>\n{"name": "f", "arguments": {"b": 12345678901234567890, "2": 1.0, "1": true}}\n</tool_call>',
    },
    { name: "nothing", message: { role: "assistant", content: null }, value: "<think>\n</think>" },
  ])("$name", ({ message, value }) => {
    expect(turnsOf(message)).toEqual([{ from: "gpt", value }])
  })
})

describe("tool results", () => {
  const answer = (content: string, { id = "c1", name = "f" } = {}): string =>
    `<tool_response>\n{"tool_call_id": "${id}", "name": "${name}", "content": ${content}}\n</tool_response>`

  test.each([
    { name: "an object", content: '{"a":1}', expected: '{"a": 1}' },
    { name: "a list", content: ' [1,"b"]', expected: '[1, "b"]' },
    { name: "what only begins like one", content: "{bad", expected: '"{bad"' },
    { name: "text", content: "zwölf\n", expected: '"zwölf\\n"' },
    { name: "a number is text", content: "7", expected: '"7"' },
  ])("$name", ({ content, expected }) => {
    expect(turnsOf(calls(call("f", "{}")), result(content))[1]).toEqual({ from: "tool", value: answer(expected) })
  })

  test("results of one reply are one entry; each takes its name from the call at the same index", () => {
    const messages = [calls(call("f", "{}"), call("g", "{}", "c2")), result("x"), result("y", "c2"), result("z", "c3")]
    expect(turnsOf(...messages)[1]).toEqual({
      from: "tool",
      value: [answer('"x"'), answer('"y"', { id: "c2", name: "g" }), answer('"z"', { id: "c3", name: "unknown" })].join(
        "\n",
      ),
    })
  })

  test.each<{ content: readonly Part[]; expected: string }>([
    {
      content: [
        { type: "text", text: "a cat" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
      expected: '"a cat"',
    },
    { content: [{ type: "image_url", image_url: { url: "data:," } }], expected: '"[screenshot]"' },
  ])("an image is replaced by its text: $expected", ({ content, expected }) => {
    expect(turnsOf(calls(call("f", "{}")), result(content))[1]).toEqual({ from: "tool", value: answer(expected) })
  })
})

describe("user messages", () => {
  test("the query replaces the first message; injected text is left out", () => {
    const { conversations } = toTrajectory({
      messages: [
        { role: "system", content: "secret prompt" },
        { role: "user", content: "old", injected: "<memory>m</memory>" },
        { role: "assistant", content: "ok" },
        { role: "user", content: "next", injected: "<memory>m</memory>" },
      ],
      tools: [],
      userQuery: "query",
      model: "m",
      completed: true,
      now: 0,
    })
    expect(conversations.slice(1)).toEqual([
      { from: "human", value: "query" },
      { from: "gpt", value: "<think>\n</think>\nok" },
      { from: "human", value: "next" },
    ])
    expect(JSON.stringify(conversations)).not.toMatch(/secret prompt|memory/)
  })

  test("an image becomes the text part [screenshot]", () => {
    const content: readonly Part[] = [
      { type: "text", text: "what is it?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ]
    expect(turnsOf({ role: "user", content })).toEqual([
      {
        from: "human",
        value: [
          { type: "text", text: "what is it?" },
          { type: "text", text: "[screenshot]" },
        ],
      },
    ])
  })
})

test("the first turn holds the tools and how calls are written", () => {
  const parameters = { type: "object", properties: { path: { type: "string" } } }
  const { conversations } = toTrajectory({
    messages: [user],
    tools: [{ name: "read", description: "Reads.", parameters }],
    userQuery: "q",
    model: "m",
    completed: true,
    now: 0,
  })
  const [first] = conversations
  const system = typeof first?.value === "string" ? first.value : ""
  expect(first?.from).toBe("system")
  expect(system).toContain(
    '<tools>\n[{"name": "read", "description": "Reads.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}, "required": null}]\n</tools>',
  )
  expect(system).toContain('"title": "FunctionCall"')
  expect(system).toContain('"required": ["name", "arguments"]')
  expect(system).toMatch(/<tool_response>[^]*<tool_call>\n\{"name": /)
})

describe("the file", () => {
  test.each([
    { completed: true, file: "trajectory_samples.jsonl" },
    { completed: false, file: "failed_trajectories.jsonl" },
  ])("completed $completed goes to $file, one line each", async ({ completed, file }) => {
    const directory = await mkdtemp(join(tmpdir(), "hermes-trajectory-"))
    try {
      const now = new Date(2026, 2, 4, 5, 6, 7, 80).getTime()
      const record = toTrajectory({ messages: [user], tools: [], userQuery: "größe", model: "m", completed, now })
      expect(await appendTrajectory(directory, record)).toEqual({ ok: true, value: undefined })
      expect(await appendTrajectory(directory, record)).toEqual({ ok: true, value: undefined })
      const [line, second, ...rest] = (await readFile(join(directory, file), "utf8")).split("\n")
      expect([second, rest]).toEqual([line, [""]])
      expect(JSON.parse(line ?? "")).toEqual(record)
      expect(line).toMatch(/^\{"conversations": \[\{"from": "system", "value": "/)
      expect(line).toMatch(
        new RegExp(
          `\\{"from": "human", "value": "größe"\\}\\], "timestamp": "2026-03-04T05:06:07.080000", "model": "m", "completed": ${completed}\\}$`,
        ),
      )
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  test("a whole second has no fraction", () => {
    const now = new Date(2026, 10, 14, 15, 16, 17).getTime()
    const record = toTrajectory({ messages: [user], tools: [], userQuery: "q", model: "m", completed: true, now })
    expect(record.timestamp).toBe("2026-11-14T15:16:17")
  })

  test("a missing directory is created; one that cannot be is returned as a failure", async () => {
    const record = toTrajectory({ messages: [user], tools: [], userQuery: "q", model: "m", completed: true, now: 0 })
    const directory = await mkdtemp(join(tmpdir(), "trajectory-"))
    expect(await appendTrajectory(join(directory, "a", "b"), record)).toEqual({ ok: true, value: undefined })
    const path = join(directory, "a", "b", "trajectory_samples.jsonl")
    expect(await appendTrajectory(path, record)).toEqual({
      ok: false,
      error: expect.stringMatching(/^the trajectory could not be added to .*trajectory_samples\.jsonl: /),
    })
    await rm(directory, { recursive: true })
  })
})
