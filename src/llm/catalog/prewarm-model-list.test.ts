import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"

import { expect, test, vi } from "vitest"

import { startProcess } from "../../../test/support/process-driver.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { chooseModel, type ChosenModel } from "../choose-model.ts"
import { readCachedList, storeList } from "./model-list-cache.ts"
import { createModelListPrewarm } from "./prewarm-model-list.ts"

/** An aggregator that records requests and responds only when its parameter is true. */
async function startAggregator(answers: boolean) {
  const requests: string[] = []
  const first = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    first.resolve()
    if (answers) response.end(JSON.stringify({ data: [{ id: "vendor/model", context_length: 50_000 }] }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    firstRequest: first.promise,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function warmable(path: string, baseUrl: string, provider = "openrouter") {
  const environment = environmentFrom({
    OPENROUTER_BASE_URL: baseUrl,
    OPENROUTER_API_KEY: "sk-or-0123456789",
    OPENAI_BASE_URL: baseUrl,
  })
  const home = homeAt(path, environment)
  const config = await loadConfig({ home, environment })
  const chosen = chooseModel({ provider, model: "vendor/model" }, { config, environment, storedProviders: [] })
  if (!chosen.ok) throw new Error(chosen.error.message)
  const clock = { now: () => 10_000_000, sleep: () => Promise.resolve() }
  const prewarm = createModelListPrewarm({ home, environment, clock, version: "1", delayMs: 0 })
  return { home, chosen: chosen.value satisfies ChosenModel, prewarm }
}

test("50 sessions of one app send one request, and the list is stored", async () => {
  await using testHome = await temporaryHome()
  await using aggregator = await startAggregator(true)
  const { home, chosen, prewarm } = await warmable(testHome.path, aggregator.baseUrl)
  for (let session = 0; session < 50; session += 1) prewarm.start(chosen)
  await vi.waitFor(() => {
    expect(readCachedList(home, aggregator.baseUrl)).toEqual({
      models: [{ id: "vendor/model", contextLength: 50_000 }],
      fetchedAt: 10_000_000,
    })
  })
  prewarm.start(chosen)
  expect(aggregator.requests).toEqual(["GET /v1/models"])
  prewarm.close()
})

test("two apps in one process each fetch the list, but not while it is fresh", async () => {
  await using testHome = await temporaryHome()
  await using aggregator = await startAggregator(true)
  const fresh = await warmable(testHome.path, aggregator.baseUrl)
  storeList(fresh.home, aggregator.baseUrl, { models: [], fetchedAt: 9_999_999 })
  fresh.prewarm.start(fresh.chosen)
  await using otherHome = await temporaryHome()
  const other = await warmable(otherHome.path, aggregator.baseUrl)
  other.prewarm.start(other.chosen)
  await vi.waitFor(() => {
    expect(readCachedList(other.home, aggregator.baseUrl)?.models).toHaveLength(1)
  })
  expect(aggregator.requests).toHaveLength(1)
  fresh.prewarm.close()
  other.prewarm.close()
})

test("other providers and closed apps fetch nothing", async () => {
  await using testHome = await temporaryHome()
  await using aggregator = await startAggregator(true)
  const custom = await warmable(testHome.path, aggregator.baseUrl, "custom")
  custom.prewarm.start(custom.chosen)
  const closed = await warmable(testHome.path, aggregator.baseUrl)
  closed.prewarm.close()
  closed.prewarm.start(closed.chosen)
  const open = await warmable(testHome.path, aggregator.baseUrl)
  open.prewarm.start(open.chosen)
  await aggregator.firstRequest
  expect(aggregator.requests).toEqual(["GET /v1/models"])
  open.prewarm.close()
})

test("does not keep the process alive while the server does not respond", async () => {
  await using testHome = await temporaryHome()
  await using aggregator = await startAggregator(false)
  const module = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)))
  const { chosen } = await warmable(testHome.path, aggregator.baseUrl)
  const code = `
    import { createModelListPrewarm } from ${module("prewarm-model-list.ts")}
    import { environmentFrom } from ${module("../../config/environment.ts")}
    import { homeAt } from ${module("../../config/home.ts")}
    const environment = environmentFrom({})
    const home = homeAt(${JSON.stringify(testHome.path)}, environment)
    const clock = { now: () => 1, sleep: () => Promise.resolve() }
    createModelListPrewarm({ home, environment, clock, version: "1", delayMs: 0 }).start(${JSON.stringify(chosen)})
    process.stdin.resume()
  `
  await using child = startProcess({
    command: [process.execPath, "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", code],
    env: testHome.env,
  })
  await aggregator.firstRequest
  child.closeStdin()
  expect(await child.exit).toMatchObject({ code: 0, stderr: "" })
})
