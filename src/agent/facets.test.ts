import { expect, test } from "vitest"

import { createLogger } from "../base/logger.ts"
import { DEMO_RUNTIME } from "../llm/demo/runtime.ts"
import type { HookDecision, HookedCall, SessionFacet, StartingCall } from "./facet.ts"
import { combineFacets } from "./facets.ts"

const signal = new AbortController().signal
const call: HookedCall = {
  tool: "t",
  entry: {
    name: "t",
    toolset: "test",
    description: "",
    parameters: {},
    source: { kind: "builtin" },
    load: () => Promise.reject(new Error("not loaded")),
  },
  callId: "call_1",
  args: { n: 1 },
  access: "read",
  subjects: [],
  signal,
}

function combined(...list: readonly SessionFacet[]) {
  const lines: string[] = []
  const log = createLogger({
    sinks: [{ level: "DEBUG", write: (line) => void lines.push(line.replace(/^.*hermes: /u, "")) }],
    redact: (text) => text,
  })
  return { facets: combineFacets(list, log), lines }
}

const deciding = (name: string, decide: (given: HookedCall) => HookDecision): SessionFacet => ({
  name,
  beforeTool: (given) => Promise.resolve(decide(given)),
})
const increment = deciding("increment", ({ args }) => ({ kind: "rewrite", args: { n: Number(args["n"]) + 1 } }))

test("rewrites of hooks add up, and a denial ends the stage", async () => {
  const { facets } = combined(increment, { name: "other" }, increment)
  expect(await facets.hooks.beforeTool(call)).toEqual({ kind: "rewrite", args: { n: 3 } })
  const denied = combined(
    increment,
    deciding("deny", () => ({ kind: "deny", reason: "no" })),
    {
      name: "never reached",
      beforeTool: () => Promise.reject(new Error("reached")),
    },
  )
  expect(await denied.facets.hooks.beforeTool(call)).toEqual({ kind: "deny", reason: "no" })
  expect(await combined().facets.hooks.beforeTool(call)).toEqual({ kind: "allow" })
})

test("texts come in list order; a facet that fails is logged and left out", async () => {
  const text = (name: string, value: string | undefined): SessionFacet => ({
    name,
    beforeTurn: () => Promise.resolve(value),
    beforeCompression: () => Promise.resolve(value),
  })
  const broken: SessionFacet = {
    name: "broken",
    beforeTurn: () => Promise.reject(new Error("bug")),
    beforeCompression: () => Promise.reject(new Error("bug")),
  }
  const { facets, lines } = combined(text("a", "one"), text("b", ""), broken, text("c", undefined), text("d", "two"))
  const model = {
    runtime: DEMO_RUNTIME,
    stream: () => {
      throw new Error("unused")
    },
    beginTurn: () => undefined,
    close: () => undefined,
  }
  expect(await facets.beforeTurn({ text: "hi", history: [], model, signal })).toBe("one\n\ntwo")
  expect(await facets.beforeCompression({ messages: [], layer: 5, signal })).toBe("one\n\ntwo")
  expect(lines).toEqual(["broken failed in beforeTurn: bug", "broken failed in beforeCompression: bug"])
})

test("facets are closed in reverse order, each of them", async () => {
  const closed: string[] = []
  const closing = (name: string): SessionFacet => ({
    name,
    close: () => {
      closed.push(name)
      return name === "b" ? Promise.reject(new Error("bug")) : Promise.resolve()
    },
  })
  const { facets, lines } = combined(closing("a"), closing("b"), closing("c"))
  await facets.close("test_end")
  expect([closed, lines]).toEqual([["c", "b", "a"], ["b failed in close: bug"]])
})

const starting: StartingCall = {
  ...call,
  preview: "",
  opened: [],
  ask: () => Promise.resolve({ kind: "unattended" }),
  tell: () => undefined,
}

test("what started with a call ends with it", async () => {
  const events: string[] = []
  const watching = (name: string): SessionFacet => ({
    name,
    toolStarting: () => {
      events.push(`${name} starts`)
      return Promise.resolve(() => void events.push(`${name} ends`))
    },
  })
  const { facets } = combined(watching("a"), { name: "idle" }, watching("b"))
  const ended = await facets.hooks.toolStarting(starting)
  ended()
  expect(events).toEqual(["a starts", "b starts", "a ends", "b ends"])
})

test("a missing prompt layer is a warning for the user; a failure before a call is the caller's", async () => {
  const failing: SessionFacet = {
    name: "rules",
    promptLayers: () => Promise.reject(new Error("unreadable")),
    toolStarting: () => Promise.reject(new Error("disk full")),
  }
  const { facets } = combined(failing)
  expect(await facets.promptLayers({ tools: [], style: "full" })).toEqual([
    { tier: "volatile", name: "rules", text: "", warning: expect.stringContaining("unreadable") },
  ])
  await expect(facets.hooks.toolStarting(starting)).rejects.toThrow("disk full")
})
