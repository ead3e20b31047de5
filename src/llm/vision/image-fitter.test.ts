import { expect, test } from "vitest"

import { dataUrl, testImage } from "../../../test/support/test-image.ts"
import { fail, ok } from "../../base/result.ts"
import type { Message, Part } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"
import { createImageFitter } from "./image-fitter.ts"
import { documentedLimits, limitsAfterRejection } from "./image-limits.ts"
import type { ImageLimits } from "./image-limits.ts"
import type { shrinkImage } from "./shrink-image.ts"

const { signal } = new AbortController()
const SMALL = image(testImage({ width: 20, height: 20, type: "png" }))
const WIDE = image(testImage({ width: 900, height: 30, type: "png" }))
const QUESTION: Part = { type: "text", text: "what is this?" }
const COPY = image(Buffer.from("copy"), "image/jpeg")

function image(bytes: Uint8Array, type = "image/png"): Part {
  return { type: "image_url", image_url: { url: dataUrl(bytes, type), detail: "high" } }
}

function request(...messages: readonly Message[]): ModelRequest {
  return { model: "m", system: "", messages, tools: [] }
}

function user(...content: readonly Part[]): Message {
  return { role: "user", content }
}

function fitter(limits: ImageLimits, answers: readonly ("copy" | "failure")[] = ["copy", "copy", "copy"]) {
  const requested: ImageLimits[] = []
  const shrink: typeof shrinkImage = (_bytes, target) => {
    const answer = answers[requested.length]
    requested.push(target)
    const copy = {
      mediaType: "image/jpeg",
      bytes: new Uint8Array(Buffer.from("copy")),
      width: 500,
      height: 17,
    } as const
    return Promise.resolve(answer === "copy" ? ok(copy) : fail("it is broken"))
  }
  return { requested, ...createImageFitter({ limits, provider: "acme", shrink }) }
}

const LIMITS = { maxChars: 1_000_000, maxSide: 500 }

test("a request that fits is returned unchanged", async () => {
  const server = fitter(LIMITS)
  const given = request({ role: "user", content: "hi" }, user(QUESTION, SMALL), {
    role: "user",
    content: [{ type: "image_url", image_url: { url: "https://example.com/huge.png" } }],
  })
  const fitted = await server.fit(given, { signal })
  expect([fitted, server.requested]).toEqual([{ request: given }, []])
  expect(fitted.request).toBe(given)
})

test("a large image is replaced by a smaller copy, created once and equal in every request", async () => {
  const server = fitter(LIMITS)
  const [plain, wide]: [Message, Message] = [user(QUESTION, SMALL), user(QUESTION, WIDE)]
  const first = await server.fit(request(plain, wide), { signal })
  expect(first).toEqual({
    request: request(plain, user(QUESTION, COPY)),
    notice: "an image is too large for acme, so a smaller copy is sent (900×30, now 500×17)",
  })
  const again: Message = { role: "tool", tool_call_id: "c", tool_name: "browser", content: [WIDE] }
  const second = await server.fit(request(plain, wide, again), { signal })
  expect(second).toEqual({ request: request(plain, user(QUESTION, COPY), { ...again, content: [COPY] }) })
  expect(
    second.request.messages.slice(0, 2).map((message, index) => message === first.request.messages[index]),
  ).toEqual([true, true])
  expect(server.requested).toEqual([LIMITS])
})

test("an image that cannot be shrunk is omitted for the session, without affecting others", async () => {
  const server = fitter(LIMITS, ["failure", "copy"])
  const wide = user(QUESTION, WIDE, SMALL)
  const without = user(QUESTION, { type: "text", text: "[image omitted: it is too large for the model]" }, SMALL)
  expect(await server.fit(request(wide), { signal })).toEqual({
    request: request(without),
    notice: "an image is too large for acme and could not be shrunk: it is broken; it was omitted. Send a smaller one",
  })
  expect(await server.fit(request(user(QUESTION, WIDE, SMALL)), { signal })).toEqual({ request: request(without) })
  expect(server.requested).toHaveLength(1)
})

test("limits from the server apply from then on; repeating them changes nothing", async () => {
  const server = fitter({ maxChars: 9_000_000, maxSide: Number.POSITIVE_INFINITY })
  const given = request(user(WIDE))
  expect((await server.fit(given, { signal })).request).toBe(given)
  expect([
    server.tightenLimits({ maxSide: 800 }),
    server.tightenLimits({ maxSide: 800 }),
    server.tightenLimits({ maxSide: 2000 }),
  ]).toEqual([true, false, false])
  expect((await server.fit(given, { signal })).request).toEqual(request(user(COPY)))
  expect(server.requested).toEqual([{ maxChars: 4 * 1024 * 1024, maxSide: 800 }])
})

test("after an interrupt the copy is created the next time", async () => {
  const server = fitter(LIMITS, ["failure", "copy"])
  const given = request(user(WIDE))
  expect((await server.fit(given, { signal: AbortSignal.abort() })).request).toBe(given)
  expect((await server.fit(given, { signal })).request).toEqual(request(user(COPY)))
})

test.each([
  [{}, { maxChars: 4 * 1024 * 1024, maxSide: 8000 }],
  [{ maxSide: 2000 }, { maxChars: 4 * 1024 * 1024, maxSide: 2000 }],
  [{ maxSide: 10 }, { maxChars: 4 * 1024 * 1024, maxSide: 512 }],
  [
    { maxSide: 90_000, maxBytes: 5_242_880 },
    { maxChars: 4 * 1024 * 1024, maxSide: 8000 },
  ],
  [{ maxBytes: 1_000_000 }, { maxChars: 1_000_000, maxSide: 8000 }],
  [{ maxBytes: 1 }, { maxChars: 65_536, maxSide: 8000 }],
])("a rejection with %j", (named, expected) => {
  expect(limitsAfterRejection(named)).toEqual(expected)
})

test.each([
  ["anthropic_messages", "opus", 5_242_880, 8000],
  ["bedrock_converse", "anything", 5_242_880, 8000],
  ["chat_completions", "anthropic/claude-opus-4.6", 5_242_880, 8000],
  ["gemini_native", "gemini-3-pro", 27_962_026, Number.POSITIVE_INFINITY],
] as const)("%s with %s", (wire, model, maxChars, maxSide) => {
  expect(documentedLimits({ wire, model })).toEqual({ maxChars, maxSide })
})
