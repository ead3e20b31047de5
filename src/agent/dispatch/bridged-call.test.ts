import { expect, test } from "vitest"

import { createDispatchHarness, toolCall } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { DispatchHarness, TestTool } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { ToolCall } from "../../protocol/message.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { toolCall as callBridge } from "../../tools/tool-search/tool-call.ts"
import { runBatch } from "./batch.ts"
import type { BatchReport } from "./batch.ts"
import { createGuardrails } from "./guardrails.ts"
import { prepareCall } from "./prepare.ts"

const NOTE: TestTool = {
  name: "take_note",
  access: "message",
  parallel: "safe",
  housekeeping: true,
  subjects: (args) => [{ kind: "name", name: String(args["about"]) }],
  run: (_context, args) => Promise.resolve({ content: { noted: args }, summary: "noted" }),
}

test.each<{ name: string; envelope: Readonly<Record<string, unknown>>; wanted: object }>([
  {
    name: "becomes the call inside it",
    envelope: { name: "take_note", arguments: { about: "tea" } },
    wanted: { kind: "ready", shown: { id: "c", name: "take_note", args: { about: "tea" } }, args: { about: "tea" } },
  },
  {
    name: "has the name inside it mended",
    envelope: { name: "TakeNote_tool", arguments: { about: "tea" } },
    wanted: { kind: "ready", shown: { id: "c", name: "take_note", args: { about: "tea" } } },
  },
  {
    name: "has arguments that are text mended",
    envelope: { name: "take_note", arguments: '{"about": "tea",' },
    wanted: { kind: "ready", args: { about: "tea" } },
  },
  {
    name: "takes arguments that are next to the name",
    envelope: { name: "take_note", about: "tea" },
    wanted: { kind: "ready", args: { about: "tea" } },
  },
  {
    name: "has secrets masked in events",
    envelope: { name: "take_note", arguments: { about: "planted-secret-value" } },
    wanted: { kind: "ready", shown: { name: "take_note", args: { about: "plante...alue" } } },
  },
  {
    name: "with arguments that cannot be mended is refused",
    envelope: { name: "take_note", arguments: "tea please" },
    wanted: {
      kind: "refused",
      why: "broken-arguments",
      error: "the arguments of take_note are not a JSON object; send them again as valid JSON",
    },
  },
  {
    name: "of a tool outside the session is refused",
    envelope: { name: "launch_rocket", arguments: {} },
    wanted: {
      kind: "refused",
      why: "unknown-tool",
      shown: { id: "c", name: "launch_rocket", args: {} },
      error: "Unknown tool: launch_rocket. Available tools: take_note, tool_call",
    },
  },
  {
    name: "without a name is refused",
    envelope: { arguments: { about: "tea" } },
    wanted: {
      kind: "refused",
      why: "invalid-arguments",
      shown: { name: "tool_call" },
      error: "tool_call was not run: `name` is required.",
    },
  },
])("a call through the bridge $name", async ({ envelope, wanted }) => {
  await using harness = await benchWithBridge()
  const call = toolCall("c", "tool_call", envelope)
  expect(await prepareCall(call, harness.session)).toMatchObject({ ...wanted, call })
})

test("a tool of another toolset with the same name runs as it is", async () => {
  const own: TestTool = { ...NOTE, name: "tool_call" }
  await using harness = await createDispatchHarness([own, NOTE])
  const prepared = await prepareCall(toolCall("c", "tool_call", { name: "take_note" }), harness.session)
  expect(prepared).toMatchObject({ kind: "ready", shown: { name: "tool_call" }, args: { name: "take_note" } })
})

test("policy, events and the stored result name the inner tool; only the call keeps the bridge's name", async () => {
  await using harness = await benchWithBridge({ profile: "accept-edits", attended: true })
  const call = toolCall("c", "tool_call", { name: "take_note", arguments: { about: "tea" } })
  const { events, report } = await play(harness, [call], (requestId) => {
    harness.interactions.answer(requestId, { kind: "approval", choice: "once" })
  })
  const shown = { id: "c", name: "take_note", args: { about: "tea" } }
  expect(events.filter(({ type }) => type !== "status")).toMatchObject([
    { type: "tool-start", call: shown, access: "message", subjects: [{ kind: "name", name: "tea" }] },
    { type: "approval-request", call: shown, rule: "take_note" },
    { type: "tool-end", call: shown, outcome: "ok", summary: "noted" },
  ])
  expect(harness.recorded).toMatchObject([{ role: "tool", tool_call_id: "c", tool_name: "take_note" }])
  expect(report).toMatchObject({ unknownTools: 0, housekeepingOnly: true })
})

test("a denial by the user is reported under the inner tool's name, and nothing runs", async () => {
  let ran = false
  const tool: TestTool = { ...NOTE, run: () => Promise.resolve({ content: { ran: (ran = true) }, summary: "" }) }
  await using harness = await benchWithBridge({ tools: [tool], profile: "accept-edits", attended: true })
  const call = toolCall("c", "tool_call", { name: "take_note", arguments: {} })
  const { events } = await play(harness, [call], (requestId) => {
    harness.interactions.answer(requestId, { kind: "approval", choice: "deny" })
  })
  expect(events.at(-1)).toMatchObject({ type: "tool-end", call: { name: "take_note" }, outcome: "denied" })
  expect(ran).toBe(false)
})

test("calls through the bridge run in parallel when the inner tools allow it", async () => {
  const both = Promise.withResolvers<undefined>()
  let running = 0
  const waiting: TestTool = {
    ...NOTE,
    access: "read",
    run: async () => {
      running += 1
      if (running === 2) both.resolve(undefined)
      await both.promise
      return { content: { done: true }, summary: "done" }
    },
  }
  await using harness = await benchWithBridge({ tools: [waiting] })
  const calls = ["a", "b"].map((id) => toolCall(id, "tool_call", { name: "take_note", arguments: { about: id } }))
  const { report } = await play(harness, calls)
  expect(report.messages.map(({ tool_call_id }) => tool_call_id)).toEqual(["a", "b"])
})

test("guardrails count the inner tool: the same failing call is stopped with or without the bridge", async () => {
  const failing: TestTool = {
    ...NOTE,
    access: "read",
    run: () => Promise.resolve({ content: { error: "no paper" }, summary: "no paper" }),
  }
  const limits = { exactFailure: 2, sameToolFailure: 50, idempotentNoProgress: 50 }
  const guardrails = createGuardrails({
    warningsEnabled: false,
    hardStopEnabled: true,
    warnAfter: limits,
    hardStopAfter: limits,
    attended: () => true,
  })
  await using harness = await benchWithBridge({ tools: [failing], more: { guardrails } })
  await play(harness, [toolCall("a", "tool_call", { name: "take_note", arguments: { about: "tea" } })])
  await play(harness, [toolCall("b", "take_note", { about: "tea" })])
  const { events } = await play(harness, [toolCall("c", "tool_call", { name: "take_note", about: "tea" })])
  expect(events.at(-1)).toMatchObject({ type: "tool-end", call: { name: "take_note" }, outcome: "blocked" })
})

async function benchWithBridge(
  how: NonNullable<Parameters<typeof createDispatchHarness>[1]> & { readonly tools?: readonly TestTool[] } = {},
): Promise<DispatchHarness> {
  const harness = await createDispatchHarness(how.tools ?? [NOTE], how)
  const bridge: ToolEntry = {
    name: callBridge.name,
    toolset: callBridge.toolset,
    description: callBridge.description,
    parameters: callBridge.parameters,
    ...callBridge.marks,
    source: { kind: "builtin" },
    load: () => Promise.resolve(callBridge.runnable),
  }
  const tools = new Map([...harness.session.tools, [bridge.name, bridge] as const])
  return { ...harness, session: { ...harness.session, tools } }
}

async function play(
  harness: DispatchHarness,
  calls: readonly ToolCall[],
  onQuestion: (requestId: string) => void = () => undefined,
): Promise<{ readonly events: readonly AgentEventBody[]; readonly report: BatchReport }> {
  const events: AgentEventBody[] = []
  const batch = runBatch(calls, harness.session, harness.run)
  for (;;) {
    const next = await batch.next()
    if (next.done === true) return { events, report: next.value }
    events.push(next.value)
    if (next.value.type === "approval-request") onQuestion(next.value.requestId)
  }
}
