import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { addFallback } from "./add-fallback.ts"
import { listFallbacks } from "./fallback-entries.ts"
import { clearFallbacks, removeFallback } from "./remove-fallback.ts"

const CONFIG = `fallback_providers:
  - { provider: zai, model: glm-5.3, api_key: "\${MY_KEY}" }
  - { provider: zai, model: glm-5.2 }
fallback_model: { provider: openrouter, model: old }
`

test("the fallback of the older key is the last one, and moves to the list with the next edit", async () => {
  using context = createTestHomeContext({ "config.yaml": CONFIG })
  expect((await listFallbacks(context)).map(({ model }) => model)).toEqual(["glm-5.3", "glm-5.2", "old"])
  expect(await addFallback(context, { provider: "claude", model: "claude-opus-4.7" })).toMatchObject({
    ok: true,
    value: { number: 4, entry: { provider: "anthropic", model: "claude-opus-4-7" } },
  })
  const written = readFileSync(context.home.file("config.yaml"), "utf8")
  expect(written).not.toContain("fallback_model")
  expect(written).toContain("${MY_KEY}")
})

test("a name that matches several fallbacks removes none", async () => {
  using context = createTestHomeContext({ "config.yaml": CONFIG })
  expect(await removeFallback(context, ["zai"])).toMatchObject({
    ok: false,
    error: { kind: "failed", message: expect.stringContaining("matches 2 fallbacks") as string },
  })
  expect(await removeFallback(context, ["zai", "glm-5.2"])).toMatchObject({ ok: true, value: { model: "glm-5.2" } })
  expect((await listFallbacks(context)).map(({ model }) => model)).toEqual(["glm-5.3", "old"])
  expect(await clearFallbacks(context)).toMatchObject({ ok: true })
  expect(await listFallbacks(context)).toEqual([])
})

test.each([
  [{ provider: "openroter", model: "x" }, "invalid"],
  [{ provider: "demo", model: "x" }, "invalid"],
  [{ provider: "custom", model: "x", baseUrl: "nowhere" }, "invalid"],
  [{ provider: "zai", model: "glm-5.2" }, "failed"],
])("%j is %s", async (fallback, kind) => {
  using context = createTestHomeContext({ "config.yaml": CONFIG })
  expect(await addFallback(context, fallback)).toMatchObject({ ok: false, error: { kind } })
})
