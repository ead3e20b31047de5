import { expect, test } from "vitest"

import { fail, ok } from "../../base/result.ts"
import type { ChosenModel } from "../choose-model.ts"
import { DEMO_RUNTIME } from "../demo/runtime.ts"
import type { ModelClient } from "../model.ts"
import { createClientCache } from "./client-cache.ts"

test("one client serves all uses of the same model, and another key gets another", async () => {
  const { cache, opened } = recordingCache()
  await cache.use(model("a"), nothing)
  await cache.use(model("a"), nothing)
  await cache.use(model("a", "other key"), nothing)
  await cache.use(model("b"), nothing)
  expect(opened).toEqual(["a", "a", "b"])
})

test("rejected parameters are remembered with the client", async () => {
  const { cache } = recordingCache()
  await cache.use(model("a"), async (_client, refused) => {
    refused.add("temperature")
  })
  expect(await cache.use(model("a"), async (_client, refused) => [...refused])).toEqual(ok(["temperature"]))
})

test("the sixty-fifth client evicts the least recently used one", async () => {
  const { cache, closed } = recordingCache()
  for (let index = 0; index < 64; index += 1) await cache.use(model(`m${index}`), nothing)
  await cache.use(model("m0"), nothing)
  expect(closed).toEqual([])
  await cache.use(model("m64"), nothing)
  expect(closed).toEqual(["m1"])
})

test("an evicted client in use is closed when its work is done", async () => {
  const { cache, closed } = recordingCache()
  const { promise, resolve } = Promise.withResolvers<void>()
  const working = cache.use(model("a"), () => promise)
  await cache.use(model("b"), nothing)
  cache.close()
  expect(closed).toEqual(["b"])
  resolve()
  await working
  expect(closed).toEqual(["b", "a"])
})

test("a failed open is not cached", async () => {
  let attempts = 0
  const cache = createClientCache(async ({ runtime }) => {
    attempts += 1
    return attempts === 1 ? fail("no proxy") : ok(clientOf(runtime.model, []))
  })
  expect(await cache.use(model("a"), nothing)).toEqual(fail("no proxy"))
  expect(await cache.use(model("a"), async ({ runtime }) => runtime.model)).toEqual(ok("a"))
})

const nothing = (): Promise<void> => Promise.resolve()

function recordingCache() {
  const opened: string[] = []
  const closed: string[] = []
  const cache = createClientCache(async ({ runtime }) => {
    opened.push(runtime.model)
    return ok(clientOf(runtime.model, closed))
  })
  return { cache, opened, closed }
}

function clientOf(name: string, closed: string[]): ModelClient {
  return {
    runtime: { ...DEMO_RUNTIME, model: name },
    beginTurn: () => {},
    stream: () => {
      throw new Error("not used in this test")
    },
    close: () => {
      closed.push(name)
    },
  }
}

function model(name: string, key = "key"): ChosenModel {
  return {
    runtime: { ...DEMO_RUNTIME, model: name },
    key,
    usesPool: false,
    headers: {},
    extraBody: {},
    usesDefaultEndpoint: true,
    windowIsGuess: false,
    timeouts: {},
    wireAssumed: false,
    demoByDefault: false,
  }
}
