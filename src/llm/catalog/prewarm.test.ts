import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"

import { expect, test, vi } from "vitest"

import { startProcess } from "../../../test/support/process-driver.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import { loadConfig } from "../../config/load.ts"
import { chooseModel, type ChosenModel } from "../choose-model.ts"
import { readCachedList, storeList } from "./list-cache.ts"
import { createPrewarm } from "./prewarm.ts"

/** An aggregator that counts who asks for its list, and answers when it likes. */
async function startAggregator(answers: boolean) {
  const asked: string[] = []
  const first = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    first.resolve()
    if (answers) response.end(JSON.stringify({ data: [{ id: "vendor/model", context_length: 50_000 }] }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
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
  const chosen = chooseModel({ provider, model: "vendor/model" }, { config, environment, stored: [] })
  if (!chosen.ok) throw new Error(chosen.error.message)
  const clock = { now: () => 10_000_000, sleep: () => Promise.resolve() }
  const prewarm = createPrewarm({ home, environment, clock, version: "1", delayMs: 0 })
  return { home, chosen: chosen.value satisfies ChosenModel, prewarm }
}

test("50 sessions of one app ask once, and the list is kept", async () => {
  await using place = await temporaryHome()
  await using aggregator = await startAggregator(true)
  const { home, chosen, prewarm } = await warmable(place.path, aggregator.baseUrl)
  for (let session = 0; session < 50; session += 1) prewarm.start(chosen)
  await vi.waitFor(() => {
    expect(readCachedList(home, aggregator.baseUrl)).toEqual({
      models: [{ id: "vendor/model", contextLength: 50_000 }],
      fetchedAt: 10_000_000,
    })
  })
  prewarm.start(chosen)
  expect(aggregator.asked).toEqual(["GET /v1/models"])
  prewarm.close()
})

test("two apps in one process each ask for themselves, and nobody asks for what is fresh", async () => {
  await using place = await temporaryHome()
  await using aggregator = await startAggregator(true)
  const fresh = await warmable(place.path, aggregator.baseUrl)
  storeList(fresh.home, aggregator.baseUrl, { models: [], fetchedAt: 9_999_999 })
  fresh.prewarm.start(fresh.chosen)
  await using otherPlace = await temporaryHome()
  const other = await warmable(otherPlace.path, aggregator.baseUrl)
  other.prewarm.start(other.chosen)
  await vi.waitFor(() => {
    expect(readCachedList(other.home, aggregator.baseUrl)?.models).toHaveLength(1)
  })
  expect(aggregator.asked).toHaveLength(1)
  fresh.prewarm.close()
  other.prewarm.close()
})

test("another provider has no such list, and a closed app asks nobody", async () => {
  await using place = await temporaryHome()
  await using aggregator = await startAggregator(true)
  const custom = await warmable(place.path, aggregator.baseUrl, "custom")
  custom.prewarm.start(custom.chosen)
  const closed = await warmable(place.path, aggregator.baseUrl)
  closed.prewarm.close()
  closed.prewarm.start(closed.chosen)
  const open = await warmable(place.path, aggregator.baseUrl)
  open.prewarm.start(open.chosen)
  await aggregator.firstRequest
  expect(aggregator.asked).toEqual(["GET /v1/models"])
  open.prewarm.close()
})

test("it does not keep the process alive while nobody answers", async () => {
  await using place = await temporaryHome()
  await using aggregator = await startAggregator(false)
  const module = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)))
  const { chosen } = await warmable(place.path, aggregator.baseUrl)
  const code = `
    import { createPrewarm } from ${module("prewarm.ts")}
    import { environmentFrom } from ${module("../../config/environment.ts")}
    import { homeAt } from ${module("../../config/home.ts")}
    const environment = environmentFrom({})
    const home = homeAt(${JSON.stringify(place.path)}, environment)
    const clock = { now: () => 1, sleep: () => Promise.resolve() }
    createPrewarm({ home, environment, clock, version: "1", delayMs: 0 }).start(${JSON.stringify(chosen)})
    process.stdin.resume()
  `
  await using child = startProcess({
    command: [process.execPath, "--disable-warning=ExperimentalWarning", "--input-type=module", "-e", code],
    env: place.env,
  })
  await aggregator.firstRequest
  child.closeStdin()
  expect(await child.exit).toMatchObject({ code: 0, stderr: "" })
})
