import { expect, test } from "vitest"

import type { AgentEventBody } from "../protocol/events.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import { createActivity } from "./activity.ts"

function watched() {
  let now = 1_000_000
  const activity = createActivity({ now: () => now, sleep: () => Promise.resolve() }, 90)
  return {
    activity,
    pass: (ms: number) => {
      now += ms
    },
    see: (body: AgentEventBody) => {
      activity.observe({ ...body, sessionId: toSessionId("s"), runId: "r", seq: 0, ts: 0 })
    },
  }
}

const started = (name: string): AgentEventBody => ({
  type: "tool-start",
  call: { id: name, name, args: {} },
  preview: "",
  access: "read",
  subjects: [],
})
const ended = (name: string): AgentEventBody => ({
  type: "tool-end",
  call: { id: name, name, args: {} },
  outcome: "ok",
  durationMs: 1,
  summary: "",
  truncated: false,
  decision: { by: "profile", rule: "default", choice: "allow" },
})

test("a session that was only opened", () => {
  const { activity, pass } = watched()
  pass(5000)
  expect(activity.summary()).toEqual({
    last_activity_ts: 1000,
    last_activity_desc: "opened",
    seconds_since_activity: 5,
    current_tool: null,
    api_call_count: 0,
    max_iterations: 90,
    budget_used: 0,
    budget_max: 90,
  })
})

test("requests and iterations are counted per run, and every event counts as activity", () => {
  const { activity, see, pass } = watched()
  see({ type: "status", kind: "iteration", text: "", iteration: 1 })
  see({ type: "status", kind: "iteration", text: "", iteration: 1 })
  pass(3000)
  see({ type: "text-delta", text: "hi" })
  expect(activity.summary()).toMatchObject({
    last_activity_ts: 1003,
    last_activity_desc: "receiving a reply",
    seconds_since_activity: 0,
    api_call_count: 2,
    budget_used: 1,
  })
})

test("of tools that run in parallel, the current one is the last started that still runs", () => {
  const { activity, see } = watched()
  const current: (string | null)[] = []
  for (const event of [started("a"), started("b"), started("b"), ended("b"), ended("b"), ended("a"), ended("x")]) {
    see(event)
    current.push(activity.summary().current_tool)
  }
  expect(current).toEqual(["a", "b", "b", "b", "a", null, null])
})
