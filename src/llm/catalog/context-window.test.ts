import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, test } from "vitest"

import { environmentFrom } from "../../config/environment.ts"
import { homeAt, type Home } from "../../config/home.ts"
import { resolveContextWindow, smallWindowWarning, windowInMetadata } from "./context-window.ts"
import { isLocalAddress } from "../local/local-address.ts"
import { cachedWindow, readWindowCache, rememberWindow } from "./context-window-cache.ts"

const CLOUD = { provider: "openrouter", baseUrl: "https://openrouter.ai/api/v1", model: "some-model" }
const LOCAL = { provider: "custom", baseUrl: "http://127.0.0.1:11434/v1", model: "qwen3:14b" }

test.each([
  ["claude-opus-4.7", 1_000_000],
  ["claude-3-5-sonnet-20241022", 200_000],
  ["gpt-5.4-mini", 400_000],
  ["gpt-5.4", 1_050_000],
  ["grok-4-fast-reasoning", 2_000_000],
  ["glm-5", 202_752],
  ["glm-5.2", 1_048_576],
  ["gemma-2-9b", 8192],
  ["Anthropic/CLAUDE-sonnet-4.6", 1_000_000],
  ["totally-new-model", 256_000],
])("the family of %s has %d tokens", (model, tokens) => {
  expect(resolveContextWindow({ ...CLOUD, model }).tokens).toBe(tokens)
})

describe("priority of sources", () => {
  const everything = { configured: 50_000, configuredProvider: 60_000, cached: 70_000, listed: 80_000, catalog: 90_000 }

  test.each([
    [everything, 50_000, "settings"],
    [{ ...everything, configured: undefined }, 60_000, "configured-provider"],
    [{ cached: 70_000, listed: 80_000, catalog: 90_000 }, 70_000, "cache"],
    [{ listed: 80_000, catalog: 90_000 }, 80_000, "endpoint"],
    [{ catalog: 90_000 }, 90_000, "catalog"],
    [{}, 256_000, "default"],
    [{ configured: 0, cached: -1 }, 256_000, "default"],
  ])("%j results in %d from %s", (facts, tokens, source) => {
    expect(resolveContextWindow({ ...CLOUD, ...facts })).toEqual({ tokens, source })
  })

  test.each([
    [{ provider: "openai-codex", model: "gpt-5.5", cached: 400_000 }, 272_000],
    [{ provider: "openai-codex", model: "gpt-5.5", catalog: 500_000 }, 272_000],
    [{ provider: "openai-codex", model: "gpt-5.3-codex-spark" }, 128_000],
    [{ provider: "openai-codex", model: "gpt-5.5", cached: 300_000 }, 300_000],
    [{ model: "moonshotai/kimi-k2", cached: 32_768 }, 262_144],
    [{ model: "moonshotai/kimi-k2", listed: 32_768 }, 262_144],
    [{ model: "MiniMax-M3", cached: 204_800 }, 1_000_000],
    [{ model: "grok-4.3", cached: 256_000 }, 1_000_000],
    [{ provider: "lmstudio", model: "claude-x", cached: 4096, baseUrl: "http://127.0.0.1:1234/v1" }, 200_000],
  ])("known wrong values are ignored: %j results in %d", (facts, tokens) => {
    expect(resolveContextWindow({ ...CLOUD, ...facts }).tokens).toBe(tokens)
  })
})

describe("a local server", () => {
  test("that reports no window gets a small one and a warning, regardless of the model's family", () => {
    expect(resolveContextWindow({ ...LOCAL, catalog: 131_072 })).toEqual({
      tokens: 8192,
      source: "default",
      warning:
        "The server does not report the context window of the model, so 8192 tokens are assumed. Set it with `hermes config set model.context_length N`.",
    })
  })

  test("uses the window it reports", () => {
    expect(resolveContextWindow({ ...LOCAL, listed: 40_960 })).toEqual({ tokens: 40_960, source: "endpoint" })
  })

  test("with a model that only its vendor hosts is a gateway to the vendor", () => {
    expect(resolveContextWindow({ ...LOCAL, model: "claude-sonnet-4-6" })).toEqual({
      tokens: 1_000_000,
      source: "family",
    })
  })

  test("with a small window is used with a warning", () => {
    expect(smallWindowWarning(8192)).toContain("8192 tokens")
    expect(smallWindowWarning(64_000)).toBeUndefined()
  })
})

test.each<[unknown, number | undefined]>([
  [{ context_length: 131_072 }, 131_072],
  [{ max_model_len: "32768" }, 32_768],
  [{ n_ctx: 4096, n_ctx_train: 131_072 }, 131_072],
  [{ context_length: 512, ctx_size: 2048 }, 2048],
  [{ context_length: 99_999_999 }, undefined],
  [{ context_length: 1024.5 }, undefined],
  [null, undefined],
])("an entry %j has %s", (entry, tokens) => {
  expect(windowInMetadata(entry)).toBe(tokens)
})

describe("local addresses", () => {
  test.each([
    "localhost",
    "127.0.0.1",
    "http://127.8.0.1:11434/v1",
    "192.168.1.5",
    "10.0.0.9:8000",
    "172.31.255.1",
    "169.254.1.1",
    "host.docker.internal",
    "box.containers.internal",
    "vm.lima.internal",
    "nas.local",
    "nas.local.",
    "100.77.1.2",
    "ollama",
    "http://[::1]:8080",
    "http://[fd12::1]/v1",
    "http://[fe80::1]/v1",
    "http://[::ffff:192.168.1.5]/v1",
  ])("%s is", (address) => {
    expect(isLocalAddress(address)).toBe(true)
  })

  test.each([
    "api.openai.com",
    "172.32.0.1",
    "8.8.8.8",
    "100.128.0.1",
    "192.169.0.1",
    "localhost.evil.com",
    "example.org.",
    "http://[2001:db8::1]/v1",
    "http://[::ffff:8.8.8.8]/v1",
    "not an address",
    "",
  ])("%s is not", (address) => {
    expect(isLocalAddress(address)).toBe(false)
  })
})

describe("the cache file", () => {
  test("adds entries and keeps existing ones", () => {
    using home = temporaryHome()
    const entry = { model: 'odd "name"', baseUrl: "http://127.0.0.1:8000/v1" }
    rememberWindow(home.home, { model: "b", baseUrl: "http://x/v1", tokens: 2048 })
    rememberWindow(home.home, { ...entry, tokens: 4096 })
    expect(cachedWindow(readWindowCache(home.home), entry)).toBe(4096)
    expect(cachedWindow(readWindowCache(home.home), { model: "b", baseUrl: "http://x/v1" })).toBe(2048)
    expect(readFileSync(home.home.file("context_length_cache.yaml"), "utf8")).toBe(
      'context_lengths:\n  "b@http://x/v1": 2048\n  "odd \\"name\\"@http://127.0.0.1:8000/v1": 4096\n',
    )
  })

  test("is read as the Python edition writes it", () => {
    using home = temporaryHome()
    const text = "context_lengths:\n  qwen3:14b@http://localhost:11434/v1: 40960\n  'it''s@http://y': 1024\n"
    writeFileSync(home.home.file("context_length_cache.yaml"), text)
    expect([...readWindowCache(home.home)]).toEqual([
      ["qwen3:14b@http://localhost:11434/v1", 40_960],
      ["it's@http://y", 1024],
    ])
  })

  test("may be absent or damaged", () => {
    using home = temporaryHome()
    expect([...readWindowCache(home.home)]).toEqual([])
    writeFileSync(home.home.file("context_length_cache.yaml"), "\u0000\u0001: [")
    expect([...readWindowCache(home.home)]).toEqual([])
  })
})

function temporaryHome(): Disposable & { readonly home: Home } {
  const path = mkdtempSync(join(tmpdir(), "hermes-window-"))
  return {
    home: homeAt(path, environmentFrom({ HOME: path })),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
