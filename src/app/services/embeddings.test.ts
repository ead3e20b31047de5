import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import type { TemporaryHomeOptions } from "../../../test/support/temporary-home.ts"
import { systemClock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { loadConfig } from "../../config/load-config.ts"
import { chooseEmbeddingsFor } from "./embeddings.ts"

async function chosen(options: TemporaryHomeOptions): Promise<unknown> {
  await using testHome = await temporaryHome(options)
  const environment = environmentFrom(testHome.env)
  const home = resolveHome(environment)
  const config = await loadConfig({ home, environment })
  const log = createLogger({ sinks: [], redact: (text) => text })
  const embeddings = chooseEmbeddingsFor({ config, environment, home, clock: systemClock, log })
  if (!embeddings.ok) return embeddings.error
  const { baseUrl, format, model, dims } = embeddings.value
  return [format.name, baseUrl, model, dims]
}

const OPENAI = { OPENAI_API_KEY: "sk-test-000000000000000000000000" }
const GEMINI = { GEMINI_API_KEY: "AIzaTest000000000000000000000000000000000" }

test.each<readonly [string, TemporaryHomeOptions, unknown]>([
  [
    "auto prefers OpenAI",
    { env: { ...OPENAI, ...GEMINI } },
    ["openai", "https://api.openai.com/v1", "text-embedding-3-small", 0],
  ],
  [
    "auto uses Gemini",
    { env: GEMINI },
    ["gemini", "https://generativelanguage.googleapis.com/v1beta", "gemini-embedding-001", 0],
  ],
  [
    "auto uses the Ollama of the main model",
    { config: "model:\n  base_url: http://127.0.0.1:11434/v1\n" },
    ["ollama", "http://127.0.0.1:11434", "nomic-embed-text", 0],
  ],
  [
    "auto asks for the model of another local server",
    { config: "model:\n  base_url: http://127.0.0.1:1234/v1\n" },
    "memory.semantic.model is empty, and custom has no default; set it",
  ],
  [
    "a server of the user's own with its model and dimensions",
    {
      config:
        "providers:\n  acme:\n    base_url: https://models.example.com/v1\n    api_key: acme-key-000000\nmemory:\n  semantic:\n    provider: acme\n    model: acme-embed\n    dims: 256\n",
    },
    ["openai", "https://models.example.com/v1", "acme-embed", 256],
  ],
  [
    "Ollama by name, at the address of its own variable",
    { config: "memory:\n  semantic:\n    provider: ollama\n", env: { OLLAMA_HOST: "10.0.0.7:9999" } },
    ["ollama", "http://10.0.0.7:9999", "nomic-embed-text", 0],
  ],
  [
    "a provider without embeddings",
    {
      config: "memory:\n  semantic:\n    provider: anthropic\n    model: x\n",
      env: { ANTHROPIC_API_KEY: "sk-ant-0000000000000000" },
    },
    "anthropic has no embeddings; set memory.semantic.provider to another provider",
  ],
])("%s", async (_case, options, expected) => {
  expect(await chosen(options)).toEqual(expected)
})

test("without any provider the sentence says what to set", async () => {
  expect(await chosen({})).toContain("set OPENAI_API_KEY or GEMINI_API_KEY")
})
