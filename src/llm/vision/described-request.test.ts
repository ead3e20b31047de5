import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt, type Home } from "../../config/home.ts"
import type { Message } from "../../protocol/message.ts"
import type { AuxiliaryCall } from "../auxiliary/auxiliary.ts"
import type { ModelRequest } from "../model.ts"
import { describedRequest } from "./described-request.ts"
import { createImageDescriber } from "./image-describer.ts"

const { signal } = new AbortController()
const CAT = { type: "image_url", image_url: { url: "data:image/png;base64,Y2F0" } } as const
const DOG = { type: "image_url", image_url: { url: "https://example.com/dog.png" } } as const

function request(...messages: readonly Message[]): ModelRequest {
  return { model: "blind", system: "Be kind.", messages, tools: [] }
}

/** Counts what it is asked, and answers with the words beside the image. */
function sideModel(answer: (call: AuxiliaryCall, count: number) => Result<string>) {
  const calls: AuxiliaryCall[] = []
  return {
    calls,
    ask: (call: AuxiliaryCall): Promise<Result<{ readonly text: string }, { readonly message: string }>> => {
      calls.push(call)
      const said = answer(call, calls.length)
      return Promise.resolve(said.ok ? ok({ text: said.value }) : fail({ message: said.error }))
    },
  }
}

async function withHome(work: (home: Home) => Promise<void>): Promise<void> {
  await using place = await temporaryHome()
  await work(homeAt(place.path, environmentFrom({})))
}

const WORDS = (text: string): string => `[image, described by another model: ${text}]`

test("every image becomes words, wherever it is; the rest stays the same object", async () => {
  await withHome(async (home) => {
    const side = sideModel((_call, count) => ok(`picture ${count}`))
    const plain: Message = { role: "user", content: "hello" }
    const given = request(
      plain,
      { role: "user", content: [{ type: "text", text: "Which animal?" }, CAT, DOG] },
      { role: "tool", tool_call_id: "c", tool_name: "browser", content: [{ type: "text", text: "page" }, DOG] },
    )
    const described = await describedRequest(given, createImageDescriber({ ...side, home }), { signal })
    expect(described).toEqual({
      request: request(
        plain,
        { role: "user", content: ["Which animal?", WORDS("picture 1"), WORDS("picture 2")].join("\n") },
        { role: "tool", tool_call_id: "c", tool_name: "browser", content: `page\n${WORDS("picture 3")}` },
      ),
      notice: "blind sees no images, so they are described to it in words",
    })
    expect(described.request.messages[0]).toBe(plain)
    expect(side.calls[0]).toMatchObject({
      task: "vision",
      messages: [
        { role: "user", content: [{ type: "text", text: "It was sent with these words:\nWhich animal?" }, CAT] },
      ],
    })
  })
})

test("what was sent once is sent the same way again, also by another process, and nobody is asked twice", async () => {
  await withHome(async (home) => {
    const side = sideModel((_call, count) => ok(`picture ${count}`))
    const first = request({ role: "user", content: [CAT] })
    const later = request(...first.messages, { role: "user", content: [DOG] })
    const sent = await describedRequest(first, createImageDescriber({ ...side, home }), { signal })
    const resumed = await describedRequest(later, createImageDescriber({ ...side, home }), { signal })
    expect(resumed.request.messages[0]).toEqual(sent.request.messages[0])
    expect([side.calls.length, resumed.request.messages[1]?.content]).toEqual([2, WORDS("picture 2")])
    const again = await describedRequest(later, createImageDescriber({ ...side, home }), { signal })
    expect([again.notice, side.calls.length]).toEqual([undefined, 2])
  })
})

test("the same image beside other words is another question", async () => {
  await withHome(async (home) => {
    const side = sideModel((_call, count) => ok(`picture ${count}`))
    const content = (text: string) => [{ type: "text", text } as const, CAT]
    const given = request({ role: "user", content: content("a") }, { role: "user", content: content("b") })
    await describedRequest(given, createImageDescriber({ ...side, home }), { signal })
    expect(side.calls).toHaveLength(2)
  })
})

test.each<[string, Result<string>, string]>([
  ["nobody can see", fail("no model is available for vision"), "no model is available for vision"],
  ["nothing is said", ok("  "), "nothing was said about it"],
])("an image is left out when %s, for the whole session", async (_name, answer, why) => {
  await withHome(async (home) => {
    const side = sideModel((_call, count) => (count === 1 ? answer : ok("a cat")))
    const describer = createImageDescriber({ ...side, home })
    const given = request({ role: "user", content: [CAT] })
    const described = await describedRequest(given, describer, { signal })
    expect(described).toEqual({
      request: request({ role: "user", content: "[image left out: it could not be described]" }),
      notice: `blind sees no images, and they could not be described to it: ${why}`,
    })
    expect((await describedRequest(given, describer, { signal })).request).toEqual(described.request)
  })
})

test("a person who interrupted is asked again about the image the next time", async () => {
  await withHome(async (home) => {
    const side = sideModel((_call, count) => (count === 1 ? fail("interrupted") : ok("a cat")))
    const describer = createImageDescriber({ ...side, home })
    const given = request({ role: "user", content: [CAT] })
    await describedRequest(given, describer, { signal: AbortSignal.abort() })
    const described = await describedRequest(given, describer, { signal })
    expect(described.request.messages[0]?.content).toBe(WORDS("a cat"))
  })
})

test("a description has an end", async () => {
  await withHome(async (home) => {
    const side = sideModel(() => ok("x".repeat(10_000)))
    const given = request({ role: "user", content: [CAT] })
    const described = await describedRequest(given, createImageDescriber({ ...side, home }), { signal })
    expect(described.request.messages[0]?.content).toBe(WORDS("x".repeat(4000)))
  })
})
