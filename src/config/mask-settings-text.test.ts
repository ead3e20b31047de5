import { expect, test } from "vitest"

import { maskSettingsText } from "./mask-settings-text.ts"

test("secrets of config.yaml are masked wherever they are, and nothing else changes", async () => {
  const text = `# api_key: canary-comment
model:
  default: some/model-2025 # the usual one
  api_key: canary-key
  max_tokens: 4096
providers: {foo: {api_key: "canary-plain", base_url: "http://me:canary-url@127.0.0.1:1/v1"}}
mcp_servers:
  files: {command: /bin/false, args: [--root, /srv, --api-key, canary-argument, --token=canary-inline], env: {MODE: canary-mode}}
  team:
    url: https://mcp.example.com/mcp
    headers: {Authorization: "Bearer canary-bearer", X-Team: canary-header, X-Ref: "\${TEAM}"}
terminal: {sandbox: required, docker_env: {SOME: canary-docker}}
custom_note: "a note, password=canary-note"
my_service_pass: canary-service
pin: &pin canary-anchor
password: *pin
number: {password: 123456}
key_text:
  private_key: |
    canary-one
    canary-two
  after: kept
unknown: aB3dE6gH9jK2mN5pQ8sT
`
  const masked = await maskSettingsText(text)
  expect(masked).not.toMatch(/canary|123456|aB3dE6/u)
  expect(masked?.split("\n")).toHaveLength(text.split("\n").length)
  for (const kept of [
    "default: some/model-2025 # the usual one",
    "max_tokens: 4096",
    "command: /bin/false, args: [--root, /srv, --api-key, ***",
    "url: https://mcp.example.com/mcp",
    "X-Team: ***",
    'X-Ref: "${TEAM}"',
    "sandbox: required",
    "a note, password=***",
    "after: kept",
  ])
    expect(masked).toContain(kept)
})

test("text that is not valid YAML cannot be masked", async () => {
  expect(await maskSettingsText("api_key: [canary\nx: :")).toBeUndefined()
  expect(await maskSettingsText("")).toBe("")
})
