import { expect, test } from "vitest"
import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { changedSettings } from "./changed-settings.ts"
import { homeStatus } from "./home-status.ts"
import { collectSetup } from "./setup-facts.ts"

const program = { version: "1.2.3", build: "test" }
const { signal } = new AbortController()
const SECRET = "sk-0123456789abcdefghijklmn"

test("a key is set, missing or removed, and is never reported in full", async () => {
  using context = createTestHomeContext(
    { "auth.json": JSON.stringify({ suppressed_sources: { anthropic: ["env:ANTHROPIC_API_KEY"] } }) },
    { OPENROUTER_API_KEY: SECRET, ANTHROPIC_API_KEY: SECRET },
  )
  const setup = collectSetup(await loadHome(context), program)
  const states = new Map(setup.keys.map(({ name, state }) => [name, state]))
  expect(["OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"].map((name) => states.get(name))).toEqual([
    "set",
    "removed",
    "missing",
  ])
  expect(setup).toMatchObject({ ...program, model: { provider: "openrouter", keySource: "OPENROUTER_API_KEY" } })
  expect(JSON.stringify(setup)).not.toContain(SECRET)
})

test("a damaged database does not prevent the report", async () => {
  using context = createTestHomeContext({ "state.db": "not a database".repeat(1000) })
  expect(await homeStatus(context, { program, probe: false, signal })).toMatchObject({
    sessions: { kind: "counted", total: 0 },
    setup: { model: { kind: "chosen", demo: true } },
    provider: undefined,
  })
})

test("changed settings contain no secret and no private text", async () => {
  using context = createTestHomeContext({
    "config.yaml": `model:\n  api_key: ${SECRET}\nagent:\n  max_turns: 7\n  system_prompt: my private words\nmcp_servers:\n  gh:\n    env:\n      GITHUB_TOKEN: ${SECRET}\n`,
  })
  const changed = changedSettings((await loadHome(context)).config)
  expect(changed).toContainEqual({ key: "agent.max_turns", json: "7" })
  expect(changed.map(({ key }) => key)).toEqual(expect.arrayContaining(["mcp_servers"]))
  expect(JSON.stringify(changed)).not.toMatch(/private words|0123456789abc/)
})
