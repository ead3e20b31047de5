import { expect, test } from "vitest"

import { startModelServer } from "../../../test/support/model-server/server.ts"
import { refuses, says } from "../../../test/support/model-server/turn.ts"
import { createLogger } from "../../base/logger.ts"
import { ok } from "../../base/result.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import type { ChosenModel } from "../choose-model.ts"
import type { ModelEvent, ModelRequest } from "../model.ts"
import { openModel } from "../open-model.ts"
import type { ImageDescriber } from "./image-describer.ts"

const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,Y2F0" } } as const
const REQUEST: ModelRequest = {
  model: "any",
  system: "",
  messages: [{ role: "user", content: [{ type: "text", text: "What is it?" }, IMAGE] }],
  tools: [],
}

function chosenAt(url: string, more: Partial<ChosenModel> = {}, model = "m"): ChosenModel {
  return {
    runtime: {
      provider: "deepseek",
      model,
      wire: "chat_completions",
      baseUrl: `${url}/v1`,
      contextLength: 100_000,
      credentialSource: "none",
      billingMode: "local",
    },
    key: undefined,
    usesPool: false,
    headers: {},
    extraBody: {},
    usesDefaultEndpoint: false,
    windowIsGuess: false,
    timeouts: {},
    wireAssumed: false,
    demoByDefault: false,
    ...more,
  }
}

/** Sends the request and returns the notices for the user. */
async function send(chosen: ChosenModel, fallback?: ChosenModel): Promise<readonly string[]> {
  const environment = environmentFrom({})
  const images: ImageDescriber = {
    describe: () => Promise.resolve(ok({ text: "a cat", isNew: true })),
    rememberRefusal: () => Promise.resolve(),
    wasRefused: () => Promise.resolve(false),
  }
  const opened = await openModel(chosen, {
    clock: { now: () => 0, sleep: () => Promise.resolve() },
    random: () => 0,
    maxAttempts: 1,
    version: "1",
    environment,
    home: homeAt("/missing/.hermes", environment),
    log: createLogger({ sinks: [], redact: (text) => text }),
    userHome: "/missing",
    pool: () => Promise.resolve(undefined),
    fallbacks: fallback === undefined ? [] : [{ name: "other", choose: () => ok(fallback) }],
    guardrail: {},
    awsRegion: "",
    openRouter: {},
    images,
  })
  if (!opened.ok) throw new Error(opened.error)
  const events: ModelEvent[] = []
  for await (const event of opened.value.stream(REQUEST, { signal: new AbortController().signal })) events.push(event)
  opened.value.close()
  return events.flatMap((event) => (event.type === "notice" ? [event.text] : []))
}

const SENT = "[image, described by another model: a cat]"

test.each<[string, Partial<ChosenModel>, string, boolean]>([
  ["the settings disable vision", { supportsVision: false }, "m", true],
  ["the settings enable vision", { supportsVision: true }, "deepseek-v4-pro", false],
  ["the catalogue lists no vision", {}, "deepseek-v4-pro", true],
  ["unknown", {}, "unknown-model", false],
])("%s", async (_name, more, model, isDescribed) => {
  await using server = await startModelServer([says("A cat.")])
  const notices = await send(chosenAt(server.url, more, model))
  expect([
    server.requests[0]?.rawBody.includes(SENT),
    server.requests[0]?.rawBody.includes("image_url"),
    notices,
  ]).toEqual([
    isDescribed,
    !isDescribed,
    isDescribed ? [`The model ${model} has no vision, so another model describes the images`] : [],
  ])
})

test("a fallback model without vision gets a description, the first model the image", async () => {
  await using first = await startModelServer([refuses(401, "no")])
  await using second = await startModelServer([says("A cat.")])
  await send(chosenAt(first.url, { supportsVision: true }), chosenAt(second.url, { supportsVision: false }))
  expect([first.requests[0]?.rawBody.includes(SENT), second.requests[0]?.rawBody.includes(SENT)]).toEqual([false, true])
})
