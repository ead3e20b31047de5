import { expect, test } from "vitest"

import { dataUrl, testImage } from "../../../test/support/test-image.ts"
import { fail, ok } from "../../base/result.ts"
import type { Message, Part } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"
import { createImageFitter } from "./fitted-request.ts"
import { knownLimits, limitsAfterRefusal } from "./image-limits.ts"
import type { ImageLimits } from "./image-limits.ts"
import type { shrinkImage } from "./shrink-image.ts"

const { signal } = new AbortController()
const SMALL = image(testImage({ width: 20, height: 20, type: "png" }))
const WIDE = image(testImage({ width: 900, height: 30, type: "png" }))
const WORDS: Part = { type: "text", text: "what is this?" }
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
  const asked: ImageLimits[] = []
  const shrink: typeof shrinkImage = (_bytes, wanted) => {
    const answer = answers[asked.length]
    asked.push(wanted)
    const copy = {
      mediaType: "image/jpeg",
      bytes: new Uint8Array(Buffer.from("copy")),
      width: 500,
      height: 17,
    } as const
    return Promise.resolve(answer === "copy" ? ok(copy) : fail("it is broken"))
  }
  return { asked, ...createImageFitter({ limits, provider: "acme", shrink }) }
}

const LIMITS = { maxChars: 1_000_000, maxSide: 500 }

test("what fits is sent as it is, down to the same object", async () => {
  const server = fitter(LIMITS)
  const given = request({ role: "user", content: "hi" }, user(WORDS, SMALL), {
    role: "user",
    content: [{ type: "image_url", image_url: { url: "https://example.com/huge.png" } }],
  })
  const fitted = await server.fit(given, { signal })
  expect([fitted, server.asked]).toEqual([{ request: given }, []])
  expect(fitted.request).toBe(given)
})

test("a smaller copy takes the place of what is too large, the same in every request, made once", async () => {
  const server = fitter(LIMITS)
  const [plain, wide]: [Message, Message] = [user(WORDS, SMALL), user(WORDS, WIDE)]
  const first = await server.fit(request(plain, wide), { signal })
  expect(first).toEqual({
    request: request(plain, user(WORDS, COPY)),
    notice: "an image is larger than acme takes, so a smaller copy of it is sent (900×30, now 500×17)",
  })
  const again: Message = { role: "tool", tool_call_id: "c", tool_name: "browser", content: [WIDE] }
  const second = await server.fit(request(plain, wide, again), { signal })
  expect(second).toEqual({ request: request(plain, user(WORDS, COPY), { ...again, content: [COPY] }) })
  expect(
    second.request.messages.slice(0, 2).map((message, index) => message === first.request.messages[index]),
  ).toEqual([true, true])
  expect(server.asked).toEqual([LIMITS])
})

test("an image that cannot be made smaller is left out alone, for the whole session", async () => {
  const server = fitter(LIMITS, ["failure", "copy"])
  const wide = user(WORDS, WIDE, SMALL)
  const without = user(WORDS, { type: "text", text: "[image left out: it is too large for the model]" }, SMALL)
  expect(await server.fit(request(wide), { signal })).toEqual({
    request: request(without),
    notice:
      "an image is larger than acme takes and could not be made smaller: it is broken; it is left out. Send a smaller one to have it seen",
  })
  expect(await server.fit(request(user(WORDS, WIDE, SMALL)), { signal })).toEqual({ request: request(without) })
  expect(server.asked).toHaveLength(1)
})

test("what a server says counts from then on; what it says again is no news", async () => {
  const server = fitter({ maxChars: 9_000_000, maxSide: Number.POSITIVE_INFINITY })
  const given = request(user(WIDE))
  expect((await server.fit(given, { signal })).request).toBe(given)
  expect([server.learn({ maxSide: 800 }), server.learn({ maxSide: 800 }), server.learn({ maxSide: 2000 })]).toEqual([
    true,
    false,
    false,
  ])
  expect((await server.fit(given, { signal })).request).toEqual(request(user(COPY)))
  expect(server.asked).toEqual([{ maxChars: 4 * 1024 * 1024, maxSide: 800 }])
})

test("a person who interrupted gets a copy the next time", async () => {
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
])("a refusal that names %j", (named, expected) => {
  expect(limitsAfterRefusal(named)).toEqual(expected)
})

test.each([
  ["anthropic_messages", "opus", 5_242_880, 8000],
  ["bedrock_converse", "anything", 5_242_880, 8000],
  ["chat_completions", "anthropic/claude-opus-4.6", 5_242_880, 8000],
  ["gemini_native", "gemini-3-pro", 27_962_026, Number.POSITIVE_INFINITY],
] as const)("%s with %s", (wire, model, maxChars, maxSide) => {
  expect(knownLimits({ wire, model })).toEqual({ maxChars, maxSide })
})
