import { describe, expect, test } from "vitest"

import { assertNever } from "../../src/base/assert-never.ts"
import { contentText } from "../../src/protocol/message.ts"
import type { Message, Part } from "../../src/protocol/message.ts"
import { reply, says } from "../support/model-server/turn.ts"
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
