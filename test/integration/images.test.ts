import { describe, expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { readImageHeader } from "../../src/llm/vision/image-header.ts"
import type { Part } from "../../src/protocol/message.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { refuses, repeat, says } from "../support/model-server/turn.ts"
import { dataUrl, pngHeaderOnly, testImage } from "../support/test-image.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp, RunRecord } from "./assembled-app.ts"

const INSTANT_CLOCK = { ...systemClock, sleep: () => Promise.resolve() }
const WIDE = testImage({ width: 1200, height: 40, type: "png" })
const TOO_WIDE = refuses(400, "image dimensions exceed max allowed size for many-image requests: 600 pixels")

function question(bytes: Uint8Array, type = "image/png"): readonly Part[] {
  return [
    { type: "text", text: "what is this?" },
    { type: "image_url", image_url: { url: dataUrl(bytes, type) } },
  ]
}

/** The type and size of all images in a request, in order. */
function sizesIn({ model }: AssembledApp, index: number): readonly string[] {
  const body = model.requests[index]?.rawBody ?? ""
  return [...body.matchAll(/(?:data:image\/[a-z]+;base64,|"data":")([A-Za-z0-9+/=]{40,})/g)].map(([, base64 = ""]) => {
    const facts = readImageHeader(Buffer.from(base64, "base64"))
    return facts === undefined ? "unreadable" : `${facts.type} ${facts.width}×${facts.height}`
  })
}

function notices({ events }: RunRecord): readonly string[] {
  return events.flatMap((event) => (event.type === "status" && event.kind === "notice" ? [event.text] : []))
}

describe("an image that is too large for the server", () => {
  test("is replaced by a smaller copy for the whole session, and the store keeps the original", async () => {
    await using assembled = await assembleApp([TOO_WIDE, repeat(says("A line."))], { clock: INSTANT_CLOCK })
    const session = await assembled.open()
    const first = await runToEnd(session, question(WIDE))
    expect(first.end).toMatchObject({ outcome: "completed", result: { finalResponse: "A line.", apiCalls: 1 } })
    expect(notices(first)).toEqual([
      "an image is too large for custom, so a smaller copy is sent (1200×40, now 600×20)",
    ])
    const second = await runToEnd(session, "and now?")
    expect(notices(second)).toEqual([])
    expect([0, 1, 2].map((index) => sizesIn(assembled, index))).toEqual([
      ["png 1200×40"],
      ["png 600×20"],
      ["png 600×20"],
    ])
    const sent = (index: number): unknown => messagesOf(assembled, index)[1]
    expect(sent(2)).toEqual(sent(1))
    const store = await assembled.app.store()
    const stored = JSON.stringify(await store.messages(session.id))
    expect(stored).toContain(WIDE.toString("base64"))
  })

  test("is omitted when the server also rejects the copy", async () => {
    await using assembled = await assembleApp([TOO_WIDE, TOO_WIDE, says("I cannot see it.")], { clock: INSTANT_CLOCK })
    const run = await runToEnd(await assembled.open(), question(WIDE))
    expect(run.end.result.finalResponse).toBe("I cannot see it.")
    expect([0, 1, 2].map((index) => sizesIn(assembled, index))).toEqual([["png 1200×40"], ["png 600×20"], []])
  })

  test("is omitted when it is a decompression bomb, and the turn continues", async () => {
    await using assembled = await assembleApp([TOO_WIDE, says("I cannot see it.")], { clock: INSTANT_CLOCK })
    const run = await runToEnd(await assembled.open(), question(pngHeaderOnly(30_000, 30_000)))
    expect(run.end.result.finalResponse).toBe("I cannot see it.")
    expect(notices(run)).toEqual([expect.stringMatching(/900 million pixels.*omitted/) as string])
    expect(assembled.model.requests[1]?.rawBody).toContain("[image omitted: it is too large for the model]")
  })
})

test("an image above a known limit of the vendor is shrunk before it is sent", async () => {
  await using assembled = await assembleApp([says("A line.")], { model: "anthropic/claude-opus-4.6" })
  const run = await runToEnd(await assembled.open(), question(testImage({ width: 8400, height: 20, type: "png" })))
  expect(run.end.result.finalResponse).toBe("A line.")
  expect(sizesIn(assembled, 0)).toEqual(["png 8000×19"])
})

describe("an image for a model that turns out to have no vision", () => {
  const NO_VISION = refuses(400, "This model does not support image input")
  const SMALL = testImage({ width: 20, height: 10, type: "png" })
  const visionAt = (url: string): string =>
    `auxiliary:\n  vision:\n    provider: custom\n    base_url: ${url}/v1\n    model: seeing-model\n    api_key: vision-key-0123456789\n`

  test("is described by the vision model, once for the whole session and its resume", async () => {
    await using vision = await startModelServer([says("A red line on white.")])
    await using assembled = await assembleApp([NO_VISION, repeat(says("A line."))], {
      config: visionAt(vision.url),
    })
    const session = await assembled.open()
    const first = await runToEnd(session, question(SMALL))
    expect([first.end.outcome, first.end.result.finalResponse]).toEqual(["completed", "A line."])
    expect(notices(first)).toEqual(["The model test-model has no vision, so another model describes the images"])
    const second = await runToEnd(session, "and now?")
    expect(notices(second)).toEqual([])
    await using restarted = await assembled.restart()
    const resumed = await runToEnd(await restarted.open({ resume: session.id }), "still?")
    expect([resumed.end.result.finalResponse, notices(resumed)]).toEqual(["A line.", []])

    expect([0, 1, 2, 3].map((index) => sizesIn(assembled, index))).toEqual([["png 20×10"], [], [], []])
    const sent = (index: number): unknown => messagesOf(assembled, index)[1]
    expect(JSON.stringify(sent(1))).toContain("[image, described by another model: A red line on white.]")
    expect([sent(2), sent(3)]).toEqual([sent(1), sent(1)])
    expect(vision.requests).toHaveLength(1)
    expect(vision.requests[0]?.rawBody).toContain(SMALL.toString("base64"))
    const stored = JSON.stringify(await (await restarted.app.store()).messages(session.id))
    expect(stored).toContain(SMALL.toString("base64"))
  })

  test("is left out with a note when no model can describe it, and the model is not asked to", async () => {
    await using assembled = await assembleApp([NO_VISION, repeat(says("I cannot see it."))])
    const session = await assembled.open()
    const run = await runToEnd(session, question(SMALL))
    expect(run.end.result.finalResponse).toBe("I cannot see it.")
    expect(notices(run)).toEqual([
      expect.stringMatching(
        /^The model test-model has no vision, and the images could not be described: .*auxiliary\.vision/,
      ) as string,
    ])
    expect(notices(await runToEnd(session, "and now?"))).toEqual([])
    expect([0, 1, 2].map((index) => sizesIn(assembled, index))).toEqual([["png 20×10"], [], []])
    expect(assembled.model.requests).toHaveLength(3)
  })

  test("is left out when the vision model has no vision either, instead of a description of nothing", async () => {
    await using vision = await startModelServer([NO_VISION, repeat(says("I see no image."))])
    await using assembled = await assembleApp([NO_VISION, says("I cannot see it.")], {
      config: visionAt(vision.url),
    })
    const run = await runToEnd(await assembled.open(), question(SMALL))
    expect(run.end.result.finalResponse).toBe("I cannot see it.")
    expect(notices(run)).toEqual([expect.stringContaining("the images could not be described") as string])
    expect(assembled.model.requests[1]?.rawBody).toContain("[image omitted: it could not be described]")
    expect(vision.requests).toHaveLength(1)
  })
})

function messagesOf({ model }: AssembledApp, index: number): readonly unknown[] {
  const body = JSON.parse(model.requests[index]?.rawBody ?? "{}") as { readonly messages?: readonly unknown[] }
  return body.messages ?? []
}
