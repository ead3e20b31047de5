import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt, type Home } from "../../config/home.ts"
import type { Message } from "../../protocol/message.ts"
import type { AuxiliaryCall } from "../auxiliary/auxiliary.ts"
import type { ModelRequest, ModelRuntime } from "../model.ts"
import { describeImages, imagesInContext } from "./describe-images.ts"
import { createImageDescriber } from "./image-describer.ts"

const { signal } = new AbortController()
const CAT = { type: "image_url", image_url: { url: "data:image/png;base64,Y2F0" } } as const
const DOG = { type: "image_url", image_url: { url: "https://example.com/dog.png" } } as const

function request(...messages: readonly Message[]): ModelRequest {
  return { model: "text-only", system: "Be kind.", messages, tools: [] }
}

const MODEL: ModelRuntime = {
  provider: "custom",
  model: "text-only",
  wire: "chat_completions",
  baseUrl: "http://host.test/v1",
  contextLength: 100_000,
  credentialSource: "none",
  billingMode: "local",
}

/** A fake auxiliary model that records its calls. */
function auxiliaryModel(answer: (call: AuxiliaryCall, count: number) => Result<string>) {
  const calls: AuxiliaryCall[] = []
  return {
    calls,
    callAuxiliary: (call: AuxiliaryCall): Promise<Result<{ readonly text: string }, { readonly message: string }>> => {
      calls.push(call)
      const reply = answer(call, calls.length)
      return Promise.resolve(reply.ok ? ok({ text: reply.value }) : fail({ message: reply.error }))
    },
  }
}

async function withHome(work: (home: Home) => Promise<void>): Promise<void> {
  await using directory = await temporaryHome()
  await work(homeAt(directory.path, environmentFrom({})))
}

const description = (text: string): string => `[image, described by another model: ${text}]`

test("every image is replaced by a description; other messages stay the same objects", async () => {
  await withHome(async (home) => {
    const auxiliary = auxiliaryModel((_call, count) => ok(`image ${count}`))
    const plain: Message = { role: "user", content: "hello" }
    const given = request(
      plain,
      { role: "user", content: [{ type: "text", text: "Which animal?" }, CAT, DOG] },
      { role: "tool", tool_call_id: "c", tool_name: "browser", content: [{ type: "text", text: "page" }, DOG] },
    )
    const described = await describeImages(given, createImageDescriber({ ...auxiliary, home }), {
      signal,
      textOnlyModel: MODEL,
    })
    expect(described).toEqual({
      request: request(
        plain,
        { role: "user", content: ["Which animal?", description("image 1"), description("image 2")].join("\n") },
        { role: "tool", tool_call_id: "c", tool_name: "browser", content: `page\n${description("image 3")}` },
      ),
      notice: "The model text-only has no vision, so another model describes the images",
    })
    expect(described.request.messages[0]).toBe(plain)
    expect(auxiliary.calls[0]).toMatchObject({
      task: "vision",
      messages: [
        { role: "user", content: [{ type: "text", text: "It was sent with these words:\nWhich animal?" }, CAT] },
      ],
    })
  })
})

test("a description is reused, even by another process, without another model call", async () => {
  await withHome(async (home) => {
    const auxiliary = auxiliaryModel((_call, count) => ok(`image ${count}`))
    const first = request({ role: "user", content: [CAT] })
    const later = request(...first.messages, { role: "user", content: [DOG] })
    const sent = await describeImages(first, createImageDescriber({ ...auxiliary, home }), {
      signal,
      textOnlyModel: MODEL,
    })
    const resumed = await describeImages(later, createImageDescriber({ ...auxiliary, home }), {
      signal,
      textOnlyModel: MODEL,
    })
    expect(resumed.request.messages[0]).toEqual(sent.request.messages[0])
    expect([auxiliary.calls.length, resumed.request.messages[1]?.content]).toEqual([2, description("image 2")])
    const again = await describeImages(later, createImageDescriber({ ...auxiliary, home }), {
      signal,
      textOnlyModel: MODEL,
    })
    expect([again.notice, auxiliary.calls.length]).toEqual([undefined, 2])
  })
})

test("the same image with different text is described again", async () => {
  await withHome(async (home) => {
    const auxiliary = auxiliaryModel((_call, count) => ok(`image ${count}`))
    const content = (text: string) => [{ type: "text", text } as const, CAT]
    const given = request({ role: "user", content: content("a") }, { role: "user", content: content("b") })
    await describeImages(given, createImageDescriber({ ...auxiliary, home }), { signal, textOnlyModel: MODEL })
    expect(auxiliary.calls).toHaveLength(2)
  })
})

test.each<[string, Result<string>, string]>([
  ["no model has vision", fail("no model is available for vision"), "no model is available for vision"],
  ["the description is empty", ok("  "), "the description is empty"],
])("an image is omitted for the session when %s", async (_name, answer, why) => {
  await withHome(async (home) => {
    const auxiliary = auxiliaryModel((_call, count) => (count === 1 ? answer : ok("a cat")))
    const describer = createImageDescriber({ ...auxiliary, home })
    const given = request({ role: "user", content: [CAT] })
    const described = await describeImages(given, describer, { signal, textOnlyModel: MODEL })
    expect(described).toEqual({
      request: request({ role: "user", content: "[image omitted: it could not be described]" }),
      notice: `The model text-only has no vision, and the images could not be described: ${why}`,
    })
    expect((await describeImages(given, describer, { signal, textOnlyModel: MODEL })).request).toEqual(
      described.request,
    )
  })
})

test("after an interrupt the image is described the next time", async () => {
  await withHome(async (home) => {
    const auxiliary = auxiliaryModel((_call, count) => (count === 1 ? fail("interrupted") : ok("a cat")))
    const describer = createImageDescriber({ ...auxiliary, home })
    const given = request({ role: "user", content: [CAT] })
    await describeImages(given, describer, { signal: AbortSignal.abort(), textOnlyModel: MODEL })
    const described = await describeImages(given, describer, { signal, textOnlyModel: MODEL })
    expect(described.request.messages[0]?.content).toBe(description("a cat"))
  })
})

test("a refusal is remembered per image and model, also by another process", async () => {
  await withHome(async (home) => {
    const auxiliary = auxiliaryModel(() => ok("a cat"))
    const [cat] = imagesInContext(request({ role: "user", content: [CAT] }))
    const [dog] = imagesInContext(request({ role: "user", content: [DOG] }))
    if (cat === undefined || dog === undefined) throw new Error("the requests have images")
    await createImageDescriber({ ...auxiliary, home }).rememberRefusal([cat], MODEL)
    const later = createImageDescriber({ ...auxiliary, home })
    expect([
      await later.wasRefused([dog, cat], MODEL),
      await later.wasRefused([dog], MODEL),
      await later.wasRefused([cat], { ...MODEL, model: "other" }),
    ]).toEqual([true, false, false])
  })
})

test("a description is limited in length", async () => {
  await withHome(async (home) => {
    const auxiliary = auxiliaryModel(() => ok("x".repeat(10_000)))
    const given = request({ role: "user", content: [CAT] })
    const described = await describeImages(given, createImageDescriber({ ...auxiliary, home }), {
      signal,
      textOnlyModel: MODEL,
    })
    expect(described.request.messages[0]?.content).toBe(description("x".repeat(4000)))
  })
})
