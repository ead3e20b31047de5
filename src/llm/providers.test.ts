import { describe, expect, test } from "vitest"

import { PROVIDER_KEY_VARIABLES } from "../config/secrets.ts"
import { loadCatalog } from "./catalog/catalog.ts"
import { findProvider, PROVIDERS } from "./providers.ts"

describe("the provider table", () => {
  test("every name and alias belongs to one provider", () => {
    const names = PROVIDERS.flatMap(({ id, aliases }) => [id, ...aliases])
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  test.each([
    ["or", "openrouter"],
    ["claude-code", "anthropic"],
    ["CODEX", "openai-codex"],
    ["google", "gemini"],
    ["x.ai", "xai"],
    ["zhipu", "zai"],
    ["moonshot", "kimi-coding"],
    ["dashscope", "alibaba"],
    ["hf", "huggingface"],
    ["github", "copilot"],
    ["aws", "bedrock"],
    ["azure", "azure-foundry"],
    ["lm-studio", "lmstudio"],
    ["mistralai", "mistral"],
    ["together-ai", "together"],
    ["github-models", "github-models"],
    ["vertex-ai", "vertex"],
    ["azure-openai", "azure-openai"],
    ["llama.cpp", "custom"],
    [" ollama ", "custom"],
  ])("%s is %s", (name, id) => {
    expect(findProvider(name)?.id).toBe(id)
  })

  test("unknown names are not found", () => {
    expect(findProvider("unknown")).toBeUndefined()
  })

  test("every key variable is a known secret", () => {
    const unknown = PROVIDERS.flatMap(({ keyVariables }) => keyVariables).filter(
      (name) => !PROVIDER_KEY_VARIABLES.includes(name),
    )
    expect(unknown).toEqual([])
  })

  test("every default model is in the catalogue, when it covers the provider", async () => {
    const catalog = await loadCatalog()
    const missing = PROVIDERS.filter(
      ({ id, defaultModel }) => catalog.list(id).length > 0 && catalog.find(id, defaultModel) === undefined,
    )
    expect(missing.map(({ id }) => id)).toEqual([])
  })
})
