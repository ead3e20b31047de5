import { describe, expect, test } from "vitest"

import { assertNever } from "../../src/base/assert-never.ts"
import { contentText } from "../../src/protocol/message.ts"
import type { Message, Part } from "../../src/protocol/message.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, raw, refuses, reply, says } from "../support/model-server/turn.ts"
import type { Turn } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

/** The path of each wire format on the test server, and a model that it supports. */
const WIRES = {
  chat_completions: { path: "/v1", model: "test-model" },
  anthropic_messages: { path: "", model: "claude-opus-4-6" },
  codex_responses: { path: "/v1", model: "test-model" },
  gemini_native: { path: "/v1beta", model: "gemini-2.5-pro" },
  bedrock_converse: { path: "", model: "anthropic.claude-opus-4-6" },
} as const
type WireName = keyof typeof WIRES

const IMAGE: Part = {
  type: "image_url",
  image_url: {
    url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  },
}

/** Reasoning, two parallel calls, another call and text, then a second turn. */
const SCRIPT = () => [
  reply({
    reasoning: "First both files.",
    signature: "sig-1",
    text: "I will read both.",
    calls: [
      { name: "read_file", input: { path: "a.txt" } },
      { name: "read_file", input: { path: "b.txt" } },
    ],
  }),
  reply({
    reasoning: "Now write.",
    signature: "sig-2",
    text: "",
    calls: [{ name: "write_file", input: { path: "c.txt", content: "ab" } }],
  }),
  says("Both read, one written."),
  says("You are welcome."),
]

function configFor(wire: WireName): string {
  return `  api_mode: ${wire}\n  api_key: test-key-0123456789\n`
}

async function converse(wire: WireName) {
  const { path, model } = WIRES[wire]
  await using assembled = await assembleApp(SCRIPT(), {
    config: configFor(wire),
    workFiles: { "a.txt": "A\n", "b.txt": "B\n" },
    env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" },
    basePath: path,
    model,
  })
  const session = await assembled.open()
  const first = await runToEnd(session, [{ type: "text", text: "Look at this and work." }, IMAGE])
  const second = await runToEnd(session, "Thanks.")
  const store = await assembled.app.store()
  return {
    replies: [first.end.result.finalResponse, second.end.result.finalResponse],
    history: (await store.conversation(session.id)).map(withoutWire),
    requests: assembled.model.requests.map(({ rawBody }) => rawBody),
    unanswered: assembled.model.unanswered,
  }
}

/** Removes what depends on the provider: the ids of calls and the data that carries the reasoning. */
function withoutWire(message: Message): unknown {
  switch (message.role) {
    case "assistant":
      return {
        role: message.role,
        content: message.content === "" ? null : message.content,
        reasoning: message.reasoning ?? null,
        finish: message.finish_reason,
        calls: (message.tool_calls ?? []).map((call) => [
          call.function.name,
          JSON.parse(call.function.arguments) as unknown,
        ]),
      }
    case "tool":
      return {
        role: message.role,
        tool: message.tool_name,
        content: contentText(message.content).replaceAll(/"\/[^"]*\//g, '"…/'),
      }
    case "user":
    case "system":
      return { role: message.role, content: message.content }
    default:
      return assertNever(message)
  }
}

test("one conversation has the same history with all five wire formats", async () => {
  const reference = await converse("chat_completions")
  expect(reference.replies).toEqual(["Both read, one written.", "You are welcome."])
  expect(reference.history).toHaveLength(9)
  for (const wire of ["anthropic_messages", "codex_responses", "gemini_native", "bedrock_converse"] as const) {
    const { replies, history, unanswered } = await converse(wire)
    expect({ wire, replies, history, unanswered }).toEqual({
      wire,
      replies: reference.replies,
      history: reference.history,
      unanswered: [],
    })
  }
})

describe("each request extends the bytes of the previous one", () => {
  test.each(["chat_completions", "codex_responses", "gemini_native", "bedrock_converse"] as const)(
    "%s",
    async (wire) => {
      const { requests } = await converse(wire)
      expect(requests).toHaveLength(4)
      for (const [index, later] of requests.entries()) {
        const earlier = requests[index - 1]
        if (earlier === undefined) continue
        const open = earlier.replace(/[\]}]+$/, "")
        expect([index, later.startsWith(open)]).toEqual([index, true])
      }
    },
  )
})

test("a conversation continues with another model and wire format, and the request names the new model", async () => {
  await using assembled = await assembleApp(
    [
      reply({
        reasoning: "Hm.",
        signature: "sig-1",
        text: "",
        calls: [{ name: "read_file", input: { path: "a.txt" } }],
      }),
      says("Read."),
      says("Hello from the other."),
    ],
    { config: "  api_mode: chat_completions\n", workFiles: { "a.txt": "A\n" } },
  )
  const session = await assembled.open()
  await runToEnd(session, "Read a.txt.")
  const other = assembled.app.chooseModel({
    provider: "custom",
    model: "claude-opus-4-6",
    baseUrl: assembled.model.url,
    apiMode: "anthropic_messages",
    apiKey: "test-key-0123456789",
  })
  expect(other.ok && (await session.switchModel(other.value))).toEqual({ ok: true, value: undefined })
  const { end } = await runToEnd(session, "And now?")
  expect(end.result).toMatchObject({ finalResponse: "Hello from the other.", model: "claude-opus-4-6" })
  expect(assembled.model.requests.map(({ wire }) => wire)).toEqual([
    "chat-completions",
    "chat-completions",
    "anthropic-messages",
  ])
  expect(assembled.model.requests[2]?.rawBody).toContain("answered by claude-opus-4-6 (custom)")
  expect((await (await assembled.app.store()).session(session.id))?.model).toBe("claude-opus-4-6")
})

test("an auxiliary call generates the title after the first exchange", async () => {
  await using assembled = await assembleApp(
    [says("Use a proxy."), says('"Title: Fixing the Login Page"'), says("Sure.")],
    {
      config: "  api_mode: chat_completions\n",
    },
  )
  const session = await assembled.open({ generateTitle: true })
  await runToEnd(session, "my login page is broken, what should I do about it?")
  await session.close("test")
  const store = await assembled.app.store()
  expect((await store.session(session.id))?.title).toBe("Fixing the Login Page")
  expect(assembled.model.requests).toHaveLength(2)
})

describe("call ids", () => {
  /** Calls a tool once per path as a server without unique ids does. */
  const CALLS: Record<string, readonly [WireName, (...paths: readonly string[]) => Turn]> = {
    "Gemini, which sends no ids": [
      "gemini_native",
      (...paths) => {
        const parts = paths.map((path) => ({ functionCall: { name: "terminal", args: print(path) } }))
        const chunk = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] }
        return raw(`data: ${JSON.stringify(chunk)}\n\n`, { "content-type": "text/event-stream" })
      },
    ],
    "a Chat Completions server without ids": ["chat_completions", (...paths) => chatCalls(paths, () => ({}))],
    "a Chat Completions server that numbers each reply from 0": [
      "chat_completions",
      (...paths) => chatCalls(paths, (index) => ({ id: `call_${index}` })),
    ],
    "a Chat Completions server with one id for all": [
      "chat_completions",
      (...paths) => chatCalls(paths, () => ({ id: "call" })),
    ],
    "an Anthropic server that repeats ids": [
      "anthropic_messages",
      (...paths) => reply({ calls: paths.map((path) => ({ name: "terminal", input: print(path), id: "toolu_1" })) }),
    ],
    "a Responses server that repeats ids": [
      "codex_responses",
      (...paths) => reply({ calls: paths.map((path) => ({ name: "terminal", input: print(path), id: "call_1" })) }),
    ],
    "Bedrock that repeats ids": [
      "bedrock_converse",
      (...paths) => reply({ calls: paths.map((path) => ({ name: "terminal", input: print(path), id: "t" })) }),
    ],
  }

  function print(path: string): object {
    return { command: `cat ${path}` }
  }

  function chatCalls(paths: readonly string[], idOf: (index: number) => object): Turn {
    const calls = paths.map((path, index) => ({
      index,
      ...idOf(index),
      function: { name: "terminal", arguments: JSON.stringify(print(path)) },
    }))
    const chunk = { choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: "tool_calls" }] }
    return raw(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, { "content-type": "text/event-stream" })
  }

  test.each(Object.entries(CALLS))("are unique in a session with %s", async (_name, [wire, calls]) => {
    const { path: basePath, model } = WIRES[wire]
    const script = [calls("a.txt", "b.txt"), calls("a.txt"), calls("b.txt", "a.txt"), says("Done."), says("Resumed.")]
    await using assembled = await assembleApp(script, {
      config: configFor(wire),
      workFiles: { "a.txt": "content of A\n", "b.txt": "content of B\n" },
      env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" },
      basePath,
      model,
    })
    const session = await assembled.open()
    const { events, end } = await runToEnd(session, "read")
    expect(end.result.finalResponse).toBe("Done.")

    const stored = await (await assembled.app.store()).conversation(session.id)
    const made = stored.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []))
    expect(made).toHaveLength(5)
    expect(new Set(made.map(({ id }) => id)).size).toBe(5)
    expect(events.flatMap((event) => (event.type === "tool-end" ? [event.call.id] : []))).toEqual(
      made.map(({ id }) => id),
    )
    for (const call of made) {
      const wanted = call.function.arguments.includes("a.txt") ? "content of A" : "content of B"
      const results = stored.filter((message) => message.role === "tool" && message.tool_call_id === call.id)
      expect(results.map((message) => contentText(message.content).includes(wanted))).toEqual([true])
    }
    if (wire !== "gemini_native") {
      const { messages } = assembled.model.view(3)
      const ids = messages.flatMap((message) => message.calls.map(({ id }) => id))
      expect([ids.length, new Set(ids).size]).toEqual([5, 5])
      expect(messages.flatMap((message) => message.results.map(({ id }) => id))).toEqual(ids)
    }

    await using restarted = await assembled.restart()
    const resumed = await restarted.open({ resume: session.id })
    expect((await runToEnd(resumed, "go on")).end.result.finalResponse).toBe("Resumed.")
    expect(restarted.model.view(4).messages.slice(0, -1)).toEqual([
      ...assembled.model.view(3).messages,
      expect.objectContaining({ text: "Done." }),
    ])
  })
})

describe("a tool loop that another vendor began", () => {
  const NO_KEY = refuses(401, "invalid key")
  const CLAUDE = ["anthropic_messages", "bedrock_converse"] as const
  const MODELS = { anthropic_messages: "claude-sonnet-4-5", bedrock_converse: "anthropic.claude-sonnet-4-5" } as const

  function thinkingOf(rawBody: string): unknown {
    const body = JSON.parse(rawBody) as {
      readonly thinking?: unknown
      readonly additionalModelRequestFields?: { readonly thinking?: unknown }
    }
    return body.thinking ?? body.additionalModelRequestFields?.thinking
  }

  test.each(CLAUDE)(
    "is continued by the fallback %s without thinking, which returns with the next turn",
    async (wire) => {
      const read = callsTool("read_file", { path: "a.txt" })
      const think = (text: string) => reply({ reasoning: "Hm.", text })
      await using claude = await startModelServer([
        callsTool("read_file", { path: "b.txt" }),
        says("Read."),
        think("Hello."),
        think("Bye."),
      ])
      const fallback = `{provider: custom, model: ${MODELS[wire]}, base_url: "${claude.url}", api_mode: ${wire}, api_key: other-key-0123456789}`
      await using assembled = await assembleApp([read, NO_KEY, NO_KEY, NO_KEY], {
        config: `  api_mode: chat_completions\n  api_key: test-key-0123456789\nagent:\n  reasoning_effort: medium\nfallback_providers:\n  - ${fallback}\n`,
        workFiles: { "a.txt": "A\n", "b.txt": "B\n" },
        env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" },
      })
      const session = await assembled.open()
      const first = await runToEnd(session, "Read the files.")
      expect([first.end.outcome, first.end.result.finalResponse]).toEqual(["completed", "Read."])
      expect((await runToEnd(session, "Hello?")).end.result.finalResponse).toBe("Hello.")
      expect((await runToEnd(session, "Bye.")).end.result.finalResponse).toBe("Bye.")
      expect(claude.requests.map(({ rawBody }) => thinkingOf(rawBody) !== undefined)).toEqual([
        false,
        false,
        true,
        true,
      ])
    },
  )

  test("a server that demands thinking for other reasons gets the request again without it", async () => {
    const demand = refuses(
      400,
      "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    )
    const read = callsTool("read_file", { path: "a.txt" })
    await using assembled = await assembleApp([read, demand, says("Read."), says("Hello.")], {
      config: `${configFor("anthropic_messages")}agent:\n  reasoning_effort: medium\n`,
      model: "claude-opus-4-6",
      basePath: "",
      workFiles: { "a.txt": "A\n" },
    })
    const session = await assembled.open()
    expect((await runToEnd(session, "Read.")).end.result.finalResponse).toBe("Read.")
    expect((await runToEnd(session, "Hello?")).end.result.finalResponse).toBe("Hello.")
    expect(assembled.model.requests.map(({ rawBody }) => thinkingOf(rawBody) !== undefined)).toEqual([
      true,
      true,
      false,
      true,
    ])
  })
})
