import { describe, expect, test } from "vitest"

import { encodeComplete, encodeStream, frameBytes } from "../../test/support/model-server/encode-reply.ts"
import { reply, says } from "../../test/support/model-server/turn.ts"
import type { ReplyTurn } from "../../test/support/model-server/turn.ts"
import type { WireName as ServerWireName } from "../../test/support/model-server/wire.ts"
import { wireNamed } from "../../test/support/model-server/wires/table.ts"
import { ok } from "../base/result.ts"
import { singleCredential } from "./credential.ts"
import { exchange } from "./exchange.ts"
import type { Attempt } from "./exchange.ts"
import type { HttpResponse } from "./http/http-connection.ts"
import type { ModelEvent, ModelRequest } from "./model.ts"
import type { Route } from "./route.ts"
import { HTTP_WIRES } from "./wires.ts"

type HttpWire = keyof typeof HTTP_WIRES

const SERVER_WIRES: Record<HttpWire, ServerWireName> = {
  chat_completions: "chat-completions",
  anthropic_messages: "anthropic-messages",
  codex_responses: "responses",
  gemini_native: "gemini",
  bedrock_converse: "bedrock-converse",
}
const WIRES = Object.keys(SERVER_WIRES).filter((name): name is HttpWire => name in SERVER_WIRES)

const REQUEST: ModelRequest = { model: "m", system: "", messages: [{ role: "user", content: "hi" }], tools: [] }

/** The bytes of a streamed reply. */
function encoded(wire: HttpWire, turn: ReplyTurn): Buffer {
  return frameBytes(encodeStream(SERVER_WIRES[wire], turn))
}

interface Received {
  readonly attempt: Attempt
  readonly shown: string
  readonly reasoning: string
}

/** One exchange whose response is these chunks. `lost`: the connection breaks after them instead of ending. */
async function receive(
  wire: HttpWire,
  chunks: readonly Uint8Array[],
  { lost = false, type = "" }: { readonly lost?: boolean; readonly type?: string } = {},
): Promise<Received> {
  const streamType = wire === "bedrock_converse" ? "application/vnd.amazon.eventstream" : "text/event-stream"
  const stream = exchange({
    route: await routeOver(wire, {
      status: 200,
      headers: { "content-type": type || streamType },
      body: bodyOf(chunks, lost),
    }),
    request: REQUEST,
    credential: undefined,
    signal: new AbortController().signal,
    approxTokens: 1,
    now: 0,
  })
  const events: ModelEvent[] = []
  const textOf = (kind: ModelEvent["type"]): string =>
    events.flatMap((event) => (event.type === kind && "text" in event ? [event.text] : [])).join("")
  for (;;) {
    const step = await stream.next()
    if (step.done === true)
      return { attempt: step.value, shown: textOf("text-delta"), reasoning: textOf("reasoning-delta") }
    events.push(step.value)
  }
}

async function* bodyOf(chunks: readonly Uint8Array[], lost: boolean): AsyncGenerator<Uint8Array, void, void> {
  for (const chunk of chunks) {
    await Promise.resolve()
    yield chunk
  }
  if (lost) throw Object.assign(new Error("aborted"), { code: "ECONNRESET" })
}

async function routeOver(wire: HttpWire, response: HttpResponse): Promise<Route> {
  const endpoint = { provider: "test", baseUrl: "http://host.test", host: "host.test", contextLength: 100_000 }
  const respond = (): Promise<HttpResponse> => Promise.resolve(response)
  const route: Route = {
    runtime: {
      provider: "test",
      model: "m",
      wire,
      baseUrl: endpoint.baseUrl,
      contextLength: endpoint.contextLength,
      credentialSource: "none",
      billingMode: "local",
    },
    codec: await HTTP_WIRES[wire](endpoint, {
      extraBody: {},
      guardrail: {},
      openRouter: {},
      streaming: true,
      includeUsage: true,
      longContext: true,
    }),
    credentials: singleCredential("test", undefined),
    headers: {},
    timeouts: () => ({ connectMs: 0, idleMs: 0, staleMs: 0 }),
    connectionFor: () => ({ post: respond, get: respond, put: respond, delete: respond, close: () => undefined }),
    authorise: () => Promise.resolve(ok({})),
    withoutRefusedFeature: () => Promise.resolve(undefined),
    withWindow: () => Promise.resolve(route),
    requestContextWindow: () => Promise.resolve(undefined),
    rememberWindow: () => undefined,
    close: () => undefined,
  }
  return route
}

/** What the attempt keeps: its text and how it ended, or that the request may be sent again. */
function kept({ attempt }: Received): unknown {
  return attempt.kind === "reply"
    ? [attempt.reply.content, attempt.reply.ending]
    : { shown: attempt.shown, retryable: attempt.failure.retryable }
}

const TEXT = ["Grüße, ", "wörld 🌍", " und mehr."]

describe.each(WIRES)("%s: a stream that ends at any byte", (wire) => {
  const bytes = encoded(wire, says(TEXT))

  test.each([
    ["politely", false],
    ["by a lost connection", true],
  ])("%s: the shown text is kept, and without any the request can be repeated", async (_name, lost) => {
    const endings = new Set<string>()
    for (let end = 0; end < bytes.length; end += 1) {
      const received = await receive(wire, [bytes.subarray(0, end)], { lost })
      const { attempt, shown } = received
      expect(TEXT.join("").startsWith(shown)).toBe(true)
      if (shown === "") {
        expect([end, kept(received)]).toEqual([end, { shown: false, retryable: true }])
        continue
      }
      const ending = attempt.kind === "reply" ? attempt.reply.ending : "failed"
      endings.add(ending)
      expect([end, kept(received)]).toEqual([end, [shown, ending === "complete" ? "complete" : "cut-text"]])
      if (ending === "complete") expect([end, shown]).toEqual([end, TEXT.join("")])
    }
    expect(endings).toContain("cut-text")
  })

  test("a damaged frame in the middle ends the reply before it", async () => {
    const server = wireNamed(SERVER_WIRES[wire])
    let deltas = 0
    const frames = encodeStream(server.name, says(TEXT)).map((frame) => {
      if (frame.delta) deltas += 1
      return frame.delta && deltas === 2 ? server.corrupt(frame) : frame
    })
    const chunks = frames.map((frame) => frameBytes([frame]))
    for (const split of [chunks, [Buffer.concat(chunks)]]) {
      const received = await receive(wire, split)
      expect([received.shown, kept(received)]).toEqual(["Grüße, ", ["Grüße, ", "cut-text"]])
    }
  })

  test("a call that is cut off at any byte never runs and is requested again", async () => {
    const call = encoded(wire, reply({ calls: [{ name: "terminal", input: { command: "größer 🌍" } }] }))
    for (let end = 0; end < call.length; end += 1) {
      const { attempt } = await receive(wire, [call.subarray(0, end)])
      const [first] = attempt.kind === "reply" ? attempt.reply.toolCalls : []
      if (first !== undefined) expect(JSON.parse(first.function.arguments)).toEqual({ command: "größer 🌍" })
      else expect([end, attempt.kind === "failed" || attempt.dropped]).toEqual([end, true])
    }
  })
})

describe("reasoning between tags in the text", () => {
  const TAGGED = "<think>secret plan</think>\n\nHello, use <think> tags"
  const THOUGHT_ONLY = "<think>secret plan that never ends"

  test.each(WIRES)("%s: is never shown as text, streamed or not", async (wire) => {
    const type = "application/json"
    for (const received of [
      await receive(wire, [encoded(wire, says(TAGGED))]),
      await receive(wire, [encodeComplete(SERVER_WIRES[wire], says(TAGGED))], { type }),
    ]) {
      expect({ ...received, attempt: kept(received) }).toEqual({
        shown: "Hello, use <think> tags",
        reasoning: "secret plan",
        attempt: ["Hello, use <think> tags", "complete"],
      })
    }
  })

  test.each(WIRES)("%s: shows what was held back when the stream is cut", async (wire) => {
    const bytes = encoded(wire, says(["Use <think> tags, ", "and ".repeat(50)]))
    const received = await receive(wire, [bytes.subarray(0, bytes.indexOf("and and"))])
    expect([received.shown, kept(received)]).toEqual(["Use <think> tags, ", ["Use <think> tags, ", "cut-text"]])
  })

  test.each(WIRES)("%s: a cut stream of reasoning alone has no text to keep", async (wire) => {
    const bytes = encoded(wire, says([THOUGHT_ONLY, "and ".repeat(50)]))
    const received = await receive(wire, [bytes.subarray(0, bytes.indexOf("and and"))])
    expect([received.shown, kept(received)]).toEqual(["", { shown: false, retryable: true }])
  })
})
