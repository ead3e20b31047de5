import { expect, test } from "vitest"
import { manualClock } from "../../../test/support/manual-clock.ts"
import { createDispatchHarness, toolCall } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { TestTool } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import { contentText } from "../../protocol/message.ts"
import { runBatch } from "./batch.ts"
import { createGuardrails } from "./guardrails.ts"
import type { Guardrails } from "./guardrails.ts"

const unattended = (): Guardrails =>
  createGuardrails({
    attended: () => false,
    warningsEnabled: true,
    hardStopEnabled: false,
    warnAfter: { exactFailure: 2, sameToolFailure: 3, idempotentNoProgress: 2 },
    hardStopAfter: { exactFailure: 5, sameToolFailure: 8, idempotentNoProgress: 5 },
  })

const text = (content: Parameters<typeof contentText>[0] | undefined): string => contentText(content ?? null)

test("a call that keeps failing gets a warning, then is not run, and its result explains why", async () => {
  let ran = 0
  const tool: TestTool = {
    name: "t",
    provenance: "web",
    run: () => {
      ran += 1
      return Promise.resolve({ content: { error: "the server rejected it, as it did before" }, summary: "no" })
    },
  }
  const guardrails = unattended()
  await using harness = await createDispatchHarness([tool], { more: { guardrails } })
  const events: AgentEventBody[] = []
  for (const id of ["1", "2", "3"]) {
    events.push(...(await Array.fromAsync(runBatch([toolCall(id, "t", { a: 1 })], harness.session, harness.run))))
  }
  const [first, second, third] = harness.recorded.map(({ content }) => text(content))
  expect([ran, first?.includes("Tool loop"), third && JSON.parse(third)]).toEqual([
    2,
    false,
    { error: guardrails.halted()?.message, guardrail: guardrails.halted() },
  ])
  // Hermes wrote the warning, so it stands outside the untrusted text.
  expect(second).toMatch(
    /<\/untrusted_tool_result>\n\n\[Tool loop warning: repeated_exact_failure_warning; count=2; .*\]$/su,
  )
  expect(events.at(-1)).toMatchObject({
    type: "tool-end",
    outcome: "blocked",
    decision: { by: "rule", rule: "repeated_exact_failure_block", choice: "deny" },
  })
})

test("the label of the tool and the word for its failure reach the surfaces", async () => {
  const label = { emoji: "🧠", verb: "memory" }
  const run: TestTool["run"] = () =>
    Promise.resolve({ content: { error: "no room" }, summary: "no room", failureWord: "full" })
  await using harness = await createDispatchHarness([{ name: "t", label, run }])
  const events = await Array.fromAsync(runBatch([toolCall("1", "t")], harness.session, harness.run))
  expect(events).toMatchObject([
    { type: "tool-start", label },
    { type: "tool-end", outcome: "error", failureWord: "full" },
  ])
})

test.each<readonly [string, TestTool, string]>([
  [
    "that is never allowed",
    {
      name: "terminal",
      access: "exec",
      subjects: () => [{ kind: "command", command: "rm -rf x" }],
      run: () => Promise.reject(new Error("must not run")),
    },
    "{}",
  ],
  ["that throws", { name: "t", run: () => Promise.reject(new Error("boom")) }, "{}"],
  ["with arguments beyond repair", { name: "t", run: () => Promise.reject(new Error("must not run")) }, '{"a":tru'],
])("a call %s is stopped the third time too", async (_name, tool, args) => {
  const guardrails = unattended()
  await using harness = await createDispatchHarness([tool], { more: { guardrails } })
  const call = { id: "c", type: "function", function: { name: tool.name, arguments: args } } as const
  for (let round = 0; round < 3; round += 1) await Array.fromAsync(runBatch([call], harness.session, harness.run))
  expect([guardrails.halted()?.code, text(harness.recorded[2]?.content)]).toEqual([
    "repeated_exact_failure_block",
    expect.stringContaining('"guardrail":'),
  ])
})

test("the duration of a call does not contain the wait for the user", async () => {
  const clock = manualClock()
  const delays: TestTool = {
    name: "terminal",
    access: "exec",
    subjects: () => [{ kind: "command", command: "rm -r build" }],
    run: async ({ ports }) => {
      await clock.advance(200)
      await ports.ask?.ask({ kind: "question", question: "Which?", choices: [], allowFreetext: true })
      return { content: {}, summary: "done" }
    },
  }
  await using harness = await createDispatchHarness([delays], { attended: true, more: { clock } })
  for await (const event of runBatch([toolCall("1", "terminal")], harness.session, harness.run)) {
    if (event.type === "approval-request" || event.type === "clarify-request") {
      await clock.advance(30_000)
      harness.interactions.answer(
        event.requestId,
        event.type === "approval-request" ? { kind: "approval", choice: "once" } : { kind: "clarify", text: "this" },
      )
    }
    if (event.type === "tool-end") expect(event).toMatchObject({ outcome: "ok", durationMs: 200 })
  }
  expect(harness.recorded).toHaveLength(1)
})

test("interrupted and skipped calls do not count as failures", async () => {
  const stop = new AbortController()
  const guardrails = unattended()
  const tool: TestTool = {
    name: "t",
    run: () => {
      stop.abort()
      return Promise.resolve({ content: { error: "stopped" }, summary: "stopped" })
    },
  }
  await using harness = await createDispatchHarness([tool], { more: { guardrails, signal: stop.signal } })
  for (let round = 0; round < 4; round += 1) {
    await Array.fromAsync(runBatch([toolCall("a", "t"), toolCall("b", "nowhere")], harness.session, harness.run))
  }
  expect(guardrails.halted()).toBeUndefined()
})
