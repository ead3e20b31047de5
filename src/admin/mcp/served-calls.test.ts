import { readFileSync } from "node:fs"

import { expect, test } from "vitest"
import { z } from "zod"

import { createTestHomeContext } from "../../../test/support/home-context.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { conversationTools } from "../../mcp/server/conversation-tools.ts"
import type { ServedTool } from "../../mcp/server/conversation-tools.ts"
import { createEventQueue } from "../../mcp/server/event-queue.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { loadHome } from "../loaded-home.ts"
import { openServedCalls } from "./served-calls.ts"

const never = new AbortController().signal

function emptyHomeTools(clock: Clock): readonly ServedTool[] {
  const openStore = (): Promise<undefined> => Promise.resolve(undefined)
  return conversationTools(openStore, createEventQueue(openStore, { clock, redact: (text) => text }))
}

interface Outcome {
  readonly result: unknown
  readonly audit: readonly Record<string, unknown>[]
}

/** What another program receives for a call, and what the audit says about it. */
async function serve(
  config: string,
  { name, args = {} }: { readonly name: string; readonly args?: Readonly<Record<string, unknown>> },
  more: readonly ServedTool[] = [],
): Promise<Outcome> {
  using context = createTestHomeContext({ "config.yaml": config }, { MY_API_KEY: "planted-secret-value" })
  const loaded = await loadHome(context)
  const tools = [...emptyHomeTools(context.clock), ...more]
  const calls = await openServedCalls(loaded, { tools, cwd: context.directory })
  if (!calls.ok) throw new Error(calls.error.message)
  const { text } = await calls.value.run({ tool: name, args, signal: never })
  const result = parseJson(text)
  await calls.value.close()
  const lines = readFileSync(context.home.file("logs", "audit.jsonl"), "utf8").trim().split("\n")
  return { result, audit: lines.map((line) => parseJson(line)).filter(isRecord) }
}

test("a call of another program is judged and audited", async () => {
  const { result, audit } = await serve("", { name: "conversations_list" })
  expect(result).toEqual({ count: 0, conversations: [] })
  expect(audit).toEqual([
    expect.objectContaining({
      platform: "mcp",
      tool: "conversations_list",
      access: "read",
      decision: "allow",
      decided_by: "profile",
      status: "ok",
    }),
  ])
})

test.each([
  ["a rule about the tool", "approvals: { rules: [{ pattern: messages_read, decision: deny }] }", "deny"],
  [
    "a rule about one conversation",
    'approvals: { rules: [{ pattern: "messages_read:20260101_*", decision: deny }] }',
    "deny",
  ],
  [
    "a rule that wants a question, where no user can answer",
    "approvals: { rules: [{ pattern: messages_read, decision: ask }] }",
    "ask",
  ],
  ["a rule for this platform", 'approvals: { platforms: { mcp: { rules: { "messages_*": deny } } } }', "deny"],
])("%s refuses the call", async (_case, config, decision) => {
  const call = { name: "messages_read", args: { session_key: "20260101_000000_abcdef" } }
  const { result, audit } = await serve(config, call)
  expect(result).toMatchObject({ error: expect.any(String), status: "blocked" })
  expect(audit).toEqual([expect.objectContaining({ tool: "messages_read", decision })])
})

test("waiting for an event ends with its time limit, and with the other program's cancellation", async () => {
  const waited = await serve("", { name: "events_wait", args: { timeout_ms: 0 } })
  expect(waited.result).toEqual({ event: null, reason: "timeout" })
  using context = createTestHomeContext()
  const tools = emptyHomeTools(context.clock)
  const calls = await openServedCalls(await loadHome(context), { tools, cwd: context.directory })
  if (!calls.ok) throw new Error(calls.error.message)
  const cancel = new AbortController()
  const waiting = calls.value.run({ tool: "events_wait", args: { timeout_ms: 300_000 }, signal: cancel.signal })
  cancel.abort()
  expect(parseJson((await waiting).text)).toMatchObject({ error: expect.any(String) })
  await calls.value.close()
})

test("arguments that do not fit and tools that do not exist are answered with an error", async () => {
  using context = createTestHomeContext()
  const tools = emptyHomeTools(context.clock)
  const calls = await openServedCalls(await loadHome(context), { tools, cwd: context.directory })
  if (!calls.ok) throw new Error(calls.error.message)
  const { run, close } = calls.value
  const answer = async (tool: string): Promise<unknown> =>
    parseJson((await run({ tool, args: {}, signal: never })).text)
  expect(await answer("messages_read")).toMatchObject({ error: expect.stringContaining("session_key") })
  expect(await answer("terminal")).toMatchObject({ error: expect.stringContaining("Unknown tool") })
  await close()
})

test("a secret of the home does not leave it, and a tool that throws is one clear result", async () => {
  const input = z.object({ how: z.string() })
  const tool = defineTool({
    name: "leak",
    toolset: "mcp-serve",
    description: "",
    input,
    access: "read",
    subject: () => [],
    preview: () => "",
    run: ({ how }) => {
      if (how === "throw") throw new Error("broken")
      return Promise.resolve({ content: { text: "planted-secret-value" }, summary: "" })
    },
  })
  const { result } = await serve("security: { redact_secrets: false }", { name: "leak", args: { how: "say" } }, [
    { tool, input },
  ])
  expect(JSON.stringify(result)).not.toContain("planted")
  const thrown = await serve("", { name: "leak", args: { how: "throw" } }, [{ tool, input }])
  expect(thrown.result).toMatchObject({ error: expect.stringContaining("broken") })
  expect(thrown.audit).toEqual([expect.objectContaining({ tool: "leak", status: "error" })])
})
