import { readFileSync, writeFileSync } from "node:fs"
import { describe, expect, test } from "vitest"

import { createCliHome, type CliHome } from "../../../../test/support/cli-home.ts"

function configured(text: string): CliHome {
  const home = createCliHome()
  writeFileSync(home.home.file("config.yaml"), text)
  return home
}

const written = (home: CliHome): string => readFileSync(home.home.file("config.yaml"), "utf8")

const TWO = `# mine
fallback_providers:
  - provider: openrouter
    model: anthropic/claude-sonnet-4.6
    api_key: \${MY_KEY}
  - provider: custom
    model: qwen3:14b
    base_url: http://127.0.0.1:11434/v1
`

describe("listing", () => {
  test("an empty list explains how to add one", async () => {
    using home = createCliHome()
    expect(await home.run(["fallback"])).toEqual({
      code: 0,
      out: "There are no fallback providers. Add one with: hermes fallback add PROVIDER MODEL\n",
      err: "",
    })
  })

  test("shows the order, entries of the older key last, and no key", async () => {
    using home = configured(`${TWO}fallback_model:\n  provider: zai\n  model: glm-5.3\n`)
    expect(await home.run(["fallback", "list"], { variables: { MY_KEY: "sk-secret" } })).toEqual({
      code: 0,
      out: "1. openrouter anthropic/claude-sonnet-4.6\n2. custom qwen3:14b http://127.0.0.1:11434/v1\n3. zai glm-5.3\n",
      err: "",
    })
  })

  test("as JSON", async () => {
    using home = configured(TWO)
    expect(JSON.parse((await home.run(["fallback", "list", "--json"])).out)).toEqual([
      { provider: "openrouter", model: "anthropic/claude-sonnet-4.6", base_url: null },
      { provider: "custom", model: "qwen3:14b", base_url: "http://127.0.0.1:11434/v1" },
    ])
  })
})

describe("adding", () => {
  test("appends the entry under the provider's own names and keeps the rest of the file", async () => {
    using home = configured(TWO)
    const run = await home.run(["fallback", "add", "claude", "anthropic/claude-opus-4.7", "--key-env", "SPARE_KEY"])
    expect(run).toEqual({ code: 0, out: "3. anthropic  claude-opus-4-7\n", err: "" })
    expect(written(home)).toBe(`${TWO}  - provider: anthropic\n    model: claude-opus-4-7\n    key_env: SPARE_KEY\n`)
  })

  test("works without a file", async () => {
    using home = createCliHome()
    expect((await home.run(["fallback", "add", "zai", "glm-5.3"])).code).toBe(0)
    expect((await home.run(["fallback"])).out).toBe("1. zai glm-5.3\n")
  })

  test.each([
    [["openroter", "x"], 2, 'There is no provider "openroter"; did you mean openrouter?\n'],
    [["demo", "x"], 2, "The demo model cannot be a fallback for a real one.\n"],
    [["custom", "x", "--base-url", "nowhere"], 2, '"nowhere" is not an http(s) address.\n'],
    [
      ["openrouter", "anthropic/claude-sonnet-4.6"],
      1,
      "This fallback exists already: openrouter  anthropic/claude-sonnet-4.6.\n",
    ],
  ])("%j is refused", async (line, code, err) => {
    using home = configured(TWO)
    expect(await home.run(["fallback", "add", ...line])).toEqual({ code, out: "", err })
    expect(written(home)).toBe(TWO)
  })

  test("accepts a provider of the settings", async () => {
    using home = configured("providers:\n  box:\n    base_url: http://box:8000/v1\n")
    expect((await home.run(["fallback", "add", "box", "tiny"])).out).toBe("1. box  tiny\n")
  })
})

describe("removing", () => {
  test.each([
    [["1"], "openrouter  anthropic/claude-sonnet-4.6"],
    [["openrouter"], "openrouter  anthropic/claude-sonnet-4.6"],
    [["custom", "qwen3:14b"], "custom  qwen3:14b  http://127.0.0.1:11434/v1"],
  ])("%j", async (which, removed) => {
    using home = configured(TWO)
    expect(await home.run(["fallback", "remove", ...which])).toEqual({
      code: 0,
      out: `Removed ${removed}\n`,
      err: "",
    })
    expect((await home.run(["fallback"])).out.trim().split("\n")).toHaveLength(1)
  })

  test("keeps the other entries, including templates", async () => {
    using home = configured(TWO)
    await home.run(["fallback", "remove", "2"], { variables: { MY_KEY: "sk-secret" } })
    expect(written(home)).toContain("api_key: ${MY_KEY}")
    expect(written(home)).not.toContain("sk-secret")
  })

  test("an unknown entry is reported, and nothing changes", async () => {
    using home = configured(TWO)
    expect(await home.run(["fallback", "remove", "9"])).toEqual({
      code: 1,
      out: "",
      err: 'There is no fallback "9". `hermes fallback list` shows them.\n',
    })
    expect(written(home)).toBe(TWO)
  })
})

describe("clearing", () => {
  test("asks first; without a terminal it is refused", async () => {
    using home = configured(TWO)
    expect((await home.run(["fallback", "clear"])).code).toBe(1)
    expect((await home.run(["fallback", "clear"], { answers: ["no"] })).out).toBe("Nothing was changed.\n")
    expect(written(home)).toBe(TWO)
    expect(await home.run(["fallback", "clear", "--yes"])).toEqual({
      code: 0,
      out: "Removed 2 fallback providers.\n",
      err: "",
    })
    expect((await home.run(["fallback", "clear"])).out).toBe("There is nothing to clear.\n")
  })
})

test("--json prints what was added and removed", async () => {
  using home = configured("fallback_providers: []\n")
  const entry = { provider: "custom", model: "m", base_url: "http://127.0.0.1:1/v1" }
  const added = await home.run(["fallback", "add", "custom", "m", "--base-url", "http://127.0.0.1:1/v1", "--json"])
  expect(JSON.parse(added.out)).toEqual({ number: 1, ...entry })
  expect(JSON.parse((await home.run(["fallback", "clear", "-y", "--json"])).out)).toEqual({ removed: [entry] })
})
