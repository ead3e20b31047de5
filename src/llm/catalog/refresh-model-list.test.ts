import { expect, test } from "vitest"

import { startModelServer } from "../../../test/support/model-server/server.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { chooseModel } from "../choose-model.ts"
import { readCachedList } from "./model-list-cache.ts"
import { refreshModelList } from "./refresh-model-list.ts"

async function refreshed(files: Readonly<Record<string, string>>, baseUrl: string, provider = "custom") {
  await using testHome = await temporaryHome({ files })
  const environment = environmentFrom({})
  const home = homeAt(testHome.path, environment)
  const config = await loadConfig({ home, environment, invocation: { "model.base_url": baseUrl } })
  const chosen = chooseModel({ provider, model: "m" }, { config, environment, storedProviders: [] })
  if (!chosen.ok) throw new Error(chosen.error.message)
  const clock = { now: () => 42, sleep: () => Promise.resolve() }
  const { signal } = new AbortController()
  const result = await refreshModelList(chosen.value, { home, environment, clock, version: "1", signal })
  return { result, kept: readCachedList(home, baseUrl) }
}

test("the list is fetched and stored", async () => {
  await using model = await startModelServer([])
  const { result, kept } = await refreshed({}, `${model.url}/v1`)
  const models = [{ id: "scripted-model" }]
  expect(result).toEqual({ ok: true, value: models })
  expect(kept).toEqual({ models, fetchedAt: 42 })
})

test("a list that cannot be stored is reported", async () => {
  await using model = await startModelServer([])
  const { result } = await refreshed({ cache: "a file where the folder should be" }, `${model.url}/v1`)
  expect(result).toEqual({ ok: false, error: expect.stringContaining("could not be stored") as string })
})

test("an endpoint with discover_models: false gets no request", async () => {
  await using model = await startModelServer([])
  const settings = `providers: { den: { api: "${model.url}/v1", discover_models: false } }\n`
  const { result, kept } = await refreshed({ "config.yaml": settings }, "", "den")
  expect([result, kept, model.requests.length]).toEqual([
    { ok: false, error: "is not queried for its models, because discover_models is false in config.yaml" },
    undefined,
    0,
  ])
})

test("the demo has no list", async () => {
  const { result } = await refreshed({}, "http://127.0.0.1:1/v1", "demo")
  expect(result).toEqual({ ok: false, error: "has no model list" })
})
