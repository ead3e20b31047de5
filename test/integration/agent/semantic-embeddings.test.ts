import { DatabaseSync } from "node:sqlite"
import { existsSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test, vi } from "vitest"

import { systemClock } from "../../../src/base/clock.ts"
import type { Clock } from "../../../src/base/clock.ts"
import { startEmbeddingsServer } from "../../support/embeddings-server.ts"
import type { EmbeddingsServer } from "../../support/embeddings-server.ts"
import { callsTool, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

/** Texts about one subject get the same direction, whatever their words. */
const vectorOf = (text: string): readonly number[] => (/zorblatt|quixling/iu.test(text) ? [0.1, 2, 0] : [1, 0, 0])

/** Long waits, such as the one for an idle user, are over at once. */
const hurriedClock: Clock = {
  ...systemClock,
  sleep: (ms, options) => systemClock.sleep(ms >= 1000 ? 1 : ms, options),
}

const FORMATS = [
  {
    provider: "openai",
    env: (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "sk-test-embeddings-000000000000" }),
    path: "/v1/embeddings",
    key: ["authorization", "Bearer sk-test-embeddings-000000000000"],
    body: { model: "text-embedding-3-small", dimensions: 3 },
  },
  {
    provider: "gemini",
    env: (url: string) => ({
      GEMINI_BASE_URL: `${url}/v1beta`,
      GEMINI_API_KEY: "AIzaTestEmbeddings0000000000000000000000",
    }),
    path: "/v1beta/models/gemini-embedding-001:batchEmbedContents",
    key: ["x-goog-api-key", "AIzaTestEmbeddings0000000000000000000000"],
    body: {
      requests: [
        {
          model: "models/gemini-embedding-001",
          content: { parts: [{ text: "quixling" }] },
          taskType: "RETRIEVAL_QUERY",
          outputDimensionality: 3,
        },
      ],
    },
  },
  {
    provider: "ollama",
    env: (url: string) => ({ OLLAMA_HOST: url }),
    path: "/api/embed",
    key: ["authorization", undefined],
    body: { model: "nomic-embed-text", dimensions: 3 },
  },
] as const

const settings = (provider: string): string =>
  `memory:\n  semantic:\n    enabled: true\n    provider: ${provider}\n    dims: 3\n`

/** Resolves when the background has stored vectors. */
async function indexed({ home }: AssembledApp): Promise<void> {
  const path = join(home.path, "memory_index.db")
  await vi.waitFor(
    () => {
      if (!existsSync(path)) throw new Error("there is no index yet")
      const db = new DatabaseSync(path, { readOnly: true })
      try {
        expect(db.prepare("SELECT count(*) AS vectors FROM memory_vectors").get()?.["vectors"]).toBeGreaterThan(0)
      } finally {
        db.close()
      }
    },
    { timeout: 10_000, interval: 20 },
  )
}

async function searched(app: AssembledApp, request: number): Promise<string> {
  const session = await app.open()
  await runToEnd(session, "please look it up")
  return app.model.toolResults(request)[0]?.text ?? ""
}

const SCRIPT = [
  says("I will remember that."),
  callsTool("session_search", { query: "quixling" }),
  says("Found."),
  callsTool("session_search", { query: "quixling hums" }),
  says("Found again."),
]

describe.each(FORMATS)("embeddings of $provider", ({ provider, env, path, key, body }) => {
  test("find a message that shares no word with the query", async () => {
    await using server = await startEmbeddingsServer(vectorOf)
    await using app = await assembleApp(SCRIPT, {
      config: settings(provider),
      env: env(server.url),
      clock: hurriedClock,
    })
    await runToEnd(
      await app.open(),
      "The zorblatt hums at dusk, and my key is sk-proj-abcdefghijklmnopqrstuvwxyz123456.",
    )
    await indexed(app)
    const result = await searched(app, 2)
    expect(result).toContain("zorblatt hums at dusk")
    expect(result).toContain('"matched_by":"meaning"')
    const last = server.requests.findLast(({ texts }) => texts[0] === "quixling")
    expect(last).toMatchObject({ path, texts: ["quixling"], body })
    expect(last?.headers[key[0]]).toBe(key[1])
    expect(JSON.stringify(server.requests)).not.toContain("abcdefghijklmnopqrstuvwxyz123456")
  })
})

test("when the server fails, search answers from words", async () => {
  await using server = await startEmbeddingsServer(vectorOf)
  await using app = await assembleApp(SCRIPT, {
    config: settings("openai"),
    env: FORMATS[0].env(server.url),
    clock: hurriedClock,
  })
  await runToEnd(await app.open(), "The zorblatt hums at dusk.")
  await indexed(app)
  server.failWith(500)
  expect(await searched(app, 2)).not.toContain("zorblatt")
  const requests = server.requests.length
  expect(await searched(app, 4)).toContain("zorblatt")
  expect(server.requests.length).toBe(requests)
})

test("nothing is sent unless it is enabled", async () => {
  await using server: EmbeddingsServer = await startEmbeddingsServer(vectorOf)
  await using app = await assembleApp(SCRIPT, { env: FORMATS[0].env(server.url), clock: hurriedClock })
  await runToEnd(await app.open(), "The zorblatt hums at dusk.")
  expect(await searched(app, 2)).not.toContain("zorblatt")
  expect(await searched(app, 4)).toContain("zorblatt")
  expect(server.requests).toEqual([])
})
