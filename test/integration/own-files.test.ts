import { join } from "node:path"

import { expect, test } from "vitest"

import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

const CONFIG = `mcp_servers:
  team: {enabled: false, url: "https://mcp.example.com/mcp", headers: {X-Team: canary-header}, env: {MODE: canary-mode}}
custom_note: "a note, password=canary-note"
`

/** Each has keys, or tells what another file with keys contains. */
const PRIVATE = [
  "profiles/work/config.yaml",
  "profiles/work/config.yaml.bak.20260101",
  "profiles/work/.env.bak",
  "config.yaml.from-sandbox",
  ".config.yaml.12.ab.tmp",
  "auth.json.corrupt",
  "state-snapshots/20260101/config.yaml",
  "cache/rules/config.yaml.json",
  "cache/partial-replies/other.1.txt",
  "cache/hermes-results/0123456789abcdef/result-0123456789abcdef.txt",
  "cache/image_descriptions.json",
  "logs/agent.log.1",
  "logs/subagent-timeout-1.log",
  "profiles/work/logs/agent.log",
  "learning_candidates.json",
  "learnings.jsonl",
  "pastes/paste_1_120000.txt",
  "pending/memory/1.json",
  "sessions/request_dump_1_1.json",
  "trajectories/a.jsonl",
  "delegations/1.json",
  "processes.json",
  "memory_index.db-wal",
  ".hermes_history",
]

test("file tools show the settings without secrets, and no other file of Hermes that has some", async () => {
  const files = Object.fromEntries(PRIVATE.map((name) => [name, "api_key: canary-file\n"]))
  let home = ""
  const reads = ["config.yaml", ...PRIVATE].map((name) => () => callsTool("read_file", { path: join(home, name) }))
  await using assembled = await assembleApp(
    [
      ...reads,
      () => callsTool("search_files", { pattern: "canary|X-Team", path: home }),
      () => callsTool("search_files", { pattern: "canary|X-Team", path: join(home, "config.yaml") }),
      says("Done."),
    ],
    { config: CONFIG, files },
  )
  home = assembled.home.path
  const session = await assembled.open()
  await runToEnd(session, "go")
  await session.close("exit")
  const { model } = assembled
  const [settings = "", ...others] = model.requests.flatMap((_, index) =>
    model.toolResults(index).map(({ text }) => text),
  )
  expect(settings).toContain("X-Team: ***")
  expect(settings).toContain('url: \\"https://mcp.example.com/mcp\\"')
  expect(others).toHaveLength(PRIVATE.length + 2)
  expect(others.slice(0, PRIVATE.length).filter((text) => !text.includes("not read by file tools"))).toEqual([])
  expect([settings, ...others].join("\n")).not.toMatch(/canary-/u)
})
