import { expect, test } from "vitest"

import { systemClock } from "../../base/clock.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { createCliHome, type CliHome } from "../../../test/support/cli-home.ts"

const SILENT = { debug: () => undefined, warning: () => undefined }
const NOW = Date.now() / 1000

function call(id: string, name: string, args: object): Message {
  return {
    role: "assistant",
    content: "",
    tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
  }
}

async function seed(home: CliHome): Promise<void> {
  const store = await openSqliteStore({ path: home.home.file("state.db"), clock: systemClock, log: SILENT })
  const usage = { input: 1000, output: 200, cacheRead: 3000, cacheWrite: 0, reasoning: 50 }
  const add = async (
    id: string,
    startedAt: number,
    options: { source?: string; delegate?: true; messages: Message[] },
  ) => {
    await store.createSession({
      id: toSessionId(id),
      source: options.source ?? "cli",
      startedAt,
      model: "vendor/great-model",
      ...(options.delegate === undefined ? {} : { modelConfig: { _delegate_from: "x" } }),
    })
    await store.append(
      toSessionId(id),
      options.messages.map((message, index) => ({ ...message, timestamp: startedAt + index * 60 })),
      { usage, apiCalls: 2, estimatedCostUsd: 0.25, costStatus: "estimated" },
    )
  }
  await add("20260101_100000_aaaaaa", NOW - 3600, {
    messages: [
      { role: "user", content: "hi" },
      call("c1", "skill_view", { name: "tea" }),
      { role: "tool", content: "x", tool_call_id: "c1", tool_name: "skill_view" },
      call("c2", "terminal", { command: "ls" }),
      { role: "tool", content: "x", tool_call_id: "c2", tool_name: "terminal" },
    ],
  })
  await add("20260101_110000_bbbbbb", NOW - 86_400 - 3600, {
    source: "telegram",
    messages: [{ role: "user", content: "\u001B[31mhey" }],
  })
  await add("20260101_120000_cccccc", NOW - 1800, { delegate: true, messages: [{ role: "user", content: "sub" }] })
  await add("20250101_120000_dddddd", NOW - 90 * 86_400, { messages: [{ role: "user", content: "old" }] })
  await store.setTitle(toSessionId("20260101_100000_aaaaaa"), "Tea time")
  await store.close()
}

test("hermes insights counts each use once, lists sub-agents apart and draws charts", async () => {
  using home = createCliHome()
  expect(await home.run(["insights"])).toMatchObject({ code: 0, out: "There are no sessions in the last 30 days.\n" })
  await seed(home)
  const { out, code } = await home.run(["insights", "--json"])
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    days: 30,
    source: null,
    sessions: 2,
    delegate_sessions: 1,
    messages: { total: 7, user: 3, assistant: 2, tool: 2 },
    tool_calls: 2,
    api_calls: 6,
    tokens: { input: 3000, output: 600, cache_read: 9000, total: 12_600 },
    estimated_cost_usd: 0.75,
    models: [{ name: "great-model", sessions: 3, tokens: 12_600 }],
    platforms: [
      { name: "telegram", sessions: 1 },
      { name: "cli", sessions: 1 },
    ],
    tools: [
      { name: "skill_view", calls: 1, percent: 50 },
      { name: "terminal", calls: 1, percent: 50 },
    ],
    skills: [{ name: "tea", loads: 1, edits: 0 }],
    activity: { active_days: 2, longest_streak: 2 },
  })
  const text = (await home.run(["insights"])).out
  expect(text).toMatch(/^The last 30 days\n {2}sessions {4}2, and 1 of sub-agents\n/u)
  expect(text).toMatch(/great-model {2}█{15} {2}12\.6K tokens, 3 sessions, \$0\.75/u)
  expect(text).toContain("Tea time")
  for (const line of text.split("\n")) expect(textColumns(line)).toBeLessThanOrEqual(100)
  expect(JSON.parse((await home.run(["insights", "--json", "--source", "telegram"])).out)).toMatchObject({
    sessions: 1,
  })
  expect(JSON.parse((await home.run(["insights", "--json", "--days", "365"])).out)).toMatchObject({ sessions: 3 })
})
