import { expect, test } from "vitest"
import { validateDocument } from "./validate.ts"

test.each<[Record<string, unknown>, string[]]>([
  [{}, []],
  [{ agent: { max_turns: 1 } }, []],
  [{ custom_providers: { x: {} }, model: "m" }, ["error custom_providers"]],
  [
    { custom_providers: [{ name: "x" }, { base_url: "http://h" }], model: "m" },
    ["warning custom_providers.0", "warning custom_providers.1"],
  ],
  [{ custom_providers: [{ name: "x", base_url: "http://h" }] }, ["warning custom_providers"]],
  [{ fallback_model: "x" }, ["error fallback_model"]],
  [{ fallback_model: { provider: "p" } }, ["warning fallback_model"]],
  [{ fallback_model: [{ provider: "p", model: "m" }] }, []],
  [{ base_url: "http://h" }, ["warning base_url"]],
  [
    { api_key: "k", api_mode: "m", rate_limit_delay: 1 },
    ["warning api_key", "warning api_mode", "warning rate_limit_delay"],
  ],
  [{ agnet: {} }, ["warning agnet"]],
  [{ model: { base_url: "localhost:8080" } }, ["error model.base_url"]],
  [{ providers: { x: { api: "host/v1" } } }, ["error providers.x.api"]],
  [
    { providers: { x: { baseUrl: "https://h/v1", base_ulr: 1, headers: { a: "b" } }, y: null } },
    ["warning providers.x.baseUrl", "warning providers.x.base_ulr"],
  ],
  [{ providers: { x: { api: "https://host/v1", api_key: "${NOPE}" } } }, ["warning providers.x.api_key"]],
  [{ mcp_servers: { x: { command: "c", env: { FOO: "${NOPE}" } } } }, ["warning mcp_servers.x.env.FOO"]],
  [{ agent: { system_prompt: "${NOPE}" } }, []],
  [{ state: { url: "postgresql:///db?host=/run" } }, []],
  [{ _config_version: 99 }, ["warning _config_version"]],
])("%j", (document, expected) => {
  const problems = validateDocument(document, document)
  expect(problems.map((problem) => `${problem.severity} ${problem.path}`)).toEqual(expected)
  expect(problems.every((problem) => problem.fix !== "" && problem.message !== "")).toBe(true)
})

test("a misspelt key suggests a similar one", () => {
  expect(validateDocument({ agnet: {} }, {})[0]?.fix).toBe("did you mean `agent`?")
})
