import { expect, test } from "vitest"

import type { AgentEventBody } from "../../protocol/events.ts"
import { contentText } from "../../protocol/message.ts"
import type { CalledTool, CallToolPort } from "../../toolkit/ports/call-tool.ts"
import { createDispatchHarness, toolCall } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { DispatchHarness, TestTool } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { AuditEntry } from "./audit.ts"
import { runBatch } from "./batch.ts"
import type { BatchReport } from "./batch.ts"
import type { InnerCallRecord } from "./dispatch-session.ts"
import { createGuardrails } from "./guardrails.ts"

/** A tool whose calls do what the test says with the port. */
function scriptTool(body: (port: CallToolPort) => Promise<unknown>): TestTool {
  return {
    name: "script",
    role: "script",
    access: "agent",
    run: async ({ ports: { callTool } }) => {
      if (callTool === undefined) throw new Error("there is no port")
      return { content: { value: await body(callTool) }, summary: "done" }
    },
  }
}

const reader = (more: Partial<TestTool> = {}): TestTool => ({
  name: "reader",
  inScripts: true,
  provenance: "file",
  run: (_context, args) => Promise.resolve({ content: { ...args, text: "planted-secret-value" }, summary: "read" }),
  ...more,
})

async function runOne(harness: DispatchHarness, run = harness.run) {
  const events: AgentEventBody[] = []
  const batch = runBatch([toolCall("outer", "script")], harness.session, run)
  for (;;) {
    const step = await batch.next()
    if (step.done === true) return { report: step.value satisfies BatchReport, events }
    events.push(step.value)
  }
}

function resultText({ messages }: BatchReport): string {
  return contentText(messages[0]?.content ?? "")
}

test("a call from inside a call passes the door: events, audit and judgement see it, the history does not", async () => {
  const audited: AuditEntry[] = []
  const noted: InnerCallRecord[] = []
  const logged: string[] = []
  await using harness = await createDispatchHarness(
    [scriptTool(async (port) => await port.call("reader", { path: "a" })), reader()],
    {
      more: {
        audit: { record: (entry) => audited.push(entry) },
        noteInnerCall: (record) => noted.push(record),
        log: { info: (line: string) => logged.push(line) } as never,
      },
    },
  )
  const { report, events } = await runOne(harness)
  const shown = { id: "outer.1", name: "reader", args: { path: "a" }, parentId: "outer" }
  expect(events.filter(({ type }) => type === "tool-start" || type === "tool-end")).toMatchObject([
    { type: "tool-start", call: { id: "outer" } },
    { type: "tool-start", call: shown },
    { type: "tool-end", call: shown, outcome: "ok" },
    { type: "tool-end", call: { id: "outer" }, outcome: "ok" },
  ])
  expect(audited.map(({ callId, tool, status }) => ({ callId, tool, status }))).toEqual([
    { callId: "outer.1", tool: "reader", status: "ok" },
    { callId: "outer", tool: "script", status: "ok" },
  ])
  expect(noted).toMatchObject([{ tool: "reader", provenance: "file" }])
  expect(harness.recorded.map(({ tool_call_id: id }) => id)).toEqual(["outer"])
  expect(JSON.parse(logged[0] ?? "")).toEqual({
    type: "sandbox_tool_call",
    tool: "reader",
    duration: expect.any(Number),
    status: "ok",
    result_chars: expect.any(Number),
  })
  expect(report.scriptsOnly).toBe(true)
})

test("only tools with the mark can be called, and only by scripts", async () => {
  const seen: unknown[] = []
  await using harness = await createDispatchHarness([
    scriptTool(async (port) => {
      seen.push(port.tools.map(({ name }) => name))
      return await Promise.all([port.call("hidden", {}), port.call("script", {}), port.call("Reader", {})])
    }),
    reader(),
    { name: "hidden", run: () => Promise.reject(new Error("must not run")) },
    {
      name: "ordinary",
      run: ({ ports }) => {
        seen.push(ports.callTool)
        return Promise.resolve({ content: {}, summary: "" })
      },
    },
  ])
  const { report } = await runOne(harness)
  for await (const _event of runBatch([toolCall("2", "ordinary")], harness.session, harness.run)) continue
  expect(seen).toEqual([["reader"], undefined])
  const text = resultText(report)
  expect(text).toContain("Unknown tool: hidden")
  expect(text).toContain("Unknown tool: script")
})

test("policy and approval decide about each inner call", async () => {
  await using harness = await createDispatchHarness(
    [
      scriptTool(async (port) => (await port.call("writer", {})).text),
      { name: "writer", inScripts: true, access: "write", run: () => Promise.reject(new Error("must not run")) },
    ],
    { profile: "plan" },
  )
  const { report } = await runOne(harness)
  expect(resultText(report)).toContain("PLAN_MODE_ACTIVE")
})

test("calls that conflict wait for each other, others run together, at most eight at once", async () => {
  let running = 0
  let most = 0
  const order: string[] = []
  const work = async (_context: unknown, args: Readonly<Record<string, unknown>>) => {
    running += 1
    most = Math.max(most, running)
    order.push(`+${String(args["path"])}`)
    await new Promise((resolve) => setImmediate(resolve))
    order.push(`-${String(args["path"])}`)
    running -= 1
    return { content: {}, summary: "" }
  }
  const byPath: Partial<TestTool> = {
    parallel: "by-path",
    subjects: (args) => [{ kind: "path", path: String(args["path"]) }],
    run: work,
  }
  await using harness = await createDispatchHarness([
    scriptTool(async (port) => {
      await Promise.all(Array.from({ length: 20 }, (_, index) => port.call("reader", { path: `f${index}` })))
      order.length = 0
      await Promise.all([port.call("writer", { path: "d" }), port.call("reader", { path: "d/x" })])
      return most
    }),
    reader(byPath),
    { ...reader(byPath), name: "writer", access: "write" },
  ])
  await runOne(harness)
  expect(most).toBe(8)
  expect(order).toEqual(["+d", "-d", "+d/x", "-d/x"])
})

test("an interrupt of the outer call ends the inner one", async () => {
  const controller = new AbortController()
  let result: CalledTool | undefined
  await using harness = await createDispatchHarness([
    scriptTool(async (port) => {
      result = await port.call("reader", {})
      return 0
    }),
    reader({
      run: async ({ signal }) => {
        controller.abort()
        await new Promise((resolve) => {
          if (signal.aborted) resolve(undefined)
          signal.addEventListener("abort", resolve)
        })
        return { content: { stopped: true }, summary: "" }
      },
    }),
  ])
  const { events } = await runOne(harness, { ...harness.run, signal: controller.signal })
  expect(result?.outcome).toBe("interrupted")
  expect(events.filter(({ type }) => type === "tool-end")).toHaveLength(2)
})

test("a call that the script leaves behind is aborted with it", async () => {
  let wasAborted = false
  const started = Promise.withResolvers<number>()
  await using harness = await createDispatchHarness([
    scriptTool((port) => {
      const left = port.call("reader", {})
      left.catch(() => undefined)
      return started.promise
    }),
    reader({
      run: async ({ signal }) => {
        const aborted = new Promise((resolve) => {
          signal.addEventListener("abort", resolve)
        })
        started.resolve(0)
        await aborted
        wasAborted = true
        return { content: {}, summary: "" }
      },
    }),
  ])
  const { events } = await runOne(harness)
  expect(wasAborted).toBe(true)
  expect(events.at(-1)).toMatchObject({ type: "tool-end", call: { id: "outer" } })
})

test("a loop in a script does not end the turn", async () => {
  const settings = {
    warningsEnabled: true,
    hardStopEnabled: true,
    warnAfter: { exactFailure: 1, sameToolFailure: 1, idempotentNoProgress: 1 },
    hardStopAfter: { exactFailure: 2, sameToolFailure: 9, idempotentNoProgress: 2 },
  }
  const guardrails = createGuardrails({ ...settings, attended: () => true })
  await using harness = await createDispatchHarness(
    [
      scriptTool(async (port) => {
        const outcomes: string[] = []
        for (let count = 0; count < 4; count += 1) outcomes.push((await port.call("reader", {})).outcome)
        return outcomes
      }),
      reader({ run: () => Promise.resolve({ content: { error: "no" }, summary: "" }) }),
    ],
    { more: { guardrails } },
  )
  const { report } = await runOne(harness)
  expect(resultText(report)).toContain('["error","error","blocked","blocked"]')
  expect(guardrails.halted()).toBeUndefined()
})

test("arguments that scripts cannot use are left out and named", async () => {
  await using harness = await createDispatchHarness([
    scriptTool(async (port) => await port.call("reader", { path: "a", background: true })),
    reader({ scripts: { omits: ["background", "pty"] } }),
  ])
  const { report } = await runOne(harness)
  const value: unknown = JSON.parse(resultText(report))
  expect(value).toMatchObject({ value: { ignored: ["background"] } })
  expect(JSON.stringify(value)).not.toContain('\\"background\\"')
})

test("notes about inner calls stand below the result of the outer call, each once", async () => {
  const script = scriptTool(async (port) => {
    for (const path of ["a", "b", "a"]) await port.call("reader", { path })
    return "done"
  })
  await using harness = await createDispatchHarness([script, reader()], {
    more: { notes: [({ tool, args }) => (tool === "reader" ? `note about ${String(args["path"])}` : undefined)] },
  })
  const { report } = await runOne(harness)
  expect(resultText(report).split("\n\n").slice(1)).toEqual(["note about a", "note about b"])
})

test("a script can see when a question waits for the user", async () => {
  const seen: boolean[] = []
  const asking = reader({
    run: async ({ ports: { ask } }) => {
      await ask?.ask({ kind: "question", question: "Which?", choices: [], allowFreetext: true })
      return { content: {}, summary: "asked" }
    },
  })
  const script = scriptTool(async (port) => {
    const unwatch = port.onUserWait((isWaiting) => seen.push(isWaiting))
    await port.call("reader", { path: "a" })
    unwatch()
  })
  await using harness = await createDispatchHarness([script, asking], { attended: true })
  const { interactions } = harness.run
  const batch = runBatch([toolCall("outer", "script")], harness.session, harness.run)
  for (;;) {
    const step = await batch.next()
    if (step.done === true) break
    if (step.value.type === "clarify-request") {
      expect(seen).toEqual([true])
      interactions.answer(step.value.requestId, { kind: "clarify", text: "this" })
    }
  }
  expect(seen).toEqual([true, false])
})
