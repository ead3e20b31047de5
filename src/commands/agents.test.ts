import { expect, test } from "vitest"

import { createSubAgents } from "../app/services/sub-agents.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import { manualClock } from "../../test/support/manual-clock.ts"
import { agentsCommand } from "./agents.ts"
import type { SlashContext } from "./slash-command.ts"

function context() {
  const subAgents = createSubAgents()
  const backgroundTasks = {
    list: () => [],
    stop: (number: number) => number === 1,
    steer: (number: number) => number === 1,
  }
  const clock = manualClock(100_000)
  const steered: string[] = []
  const stopped: string[] = []
  const add = (id: string, parentId: string | null, depth: number) =>
    subAgents.add(
      {
        id,
        parentId,
        depth,
        goal: `goal of ${id}`,
        role: "leaf",
        model: "m",
        toolsets: [],
        sessionId: toSessionId("s"),
        startedAt: 40_000,
      },
      {
        interrupt: () => {
          stopped.push(id)
        },
        steer: (text) => {
          steered.push(text)
          return true
        },
      },
    )
  const run = async (argument: string): Promise<unknown> =>
    await agentsCommand.run(argument, { app: { subAgents, backgroundTasks, clock } } as unknown as SlashContext)
  return { subAgents, add, run, steered, stopped }
}

test("the tree shows what each sub-agent does", async () => {
  const { add, run } = context()
  expect(await run("")).toEqual({ kind: "reply", text: "There are no sub-agents." })
  add("sa-0-1", null, 1)
  add("sa-0-2", "sa-0-1", 2).end("failed")
  expect(await run("tree")).toEqual({
    kind: "reply",
    text: [
      "sa-0-1  goal of sa-0-1  (running for 1m; 0 tool calls; 0 tokens)",
      "  sa-0-2  goal of sa-0-2  (failed; 0 tool calls; 0 tokens)",
    ].join("\n"),
  })
})

test("background tasks are stopped and steered by number", async () => {
  const { run } = context()
  expect([await run("stop 1"), await run("stop 2"), await run("steer 1 faster")]).toMatchObject([
    { text: "Stopping task 1." },
    { text: "No background task 2 is running. /agents lists them." },
    { text: "Task 1 receives this with its next step." },
  ])
})

test("sub-agents are paused, steered and stopped by id", async () => {
  const { add, run, subAgents, steered, stopped } = context()
  add("sa-0-1", null, 1)
  await run("pause")
  expect(subAgents.isPaused).toBe(true)
  await run("resume")
  expect(subAgents.isPaused).toBe(false)
  await run("steer sa-0-1 use metric  units")
  await run("stop sa-0-1")
  expect([steered, stopped]).toEqual([["use metric  units"], ["sa-0-1"]])
  expect(await run("stop sa-9-9")).toMatchObject({ text: expect.stringContaining("No sub-agent sa-9-9 is running") })
  expect(await run("nonsense")).toMatchObject({ text: expect.stringContaining("Usage") })
})

test("the beginning of an id names a running sub-agent, and one branch can be paused", async () => {
  const { add, run, subAgents, stopped } = context()
  add("sa-0-1a", null, 1)
  add("sa-1-2b", null, 1)
  add("sa-0-3c", "sa-1-2b", 2)
  expect(await run("pause sa-1")).toMatchObject({ text: expect.stringMatching(/^sa-1-2b and those below it/u) })
  expect(["sa-0-1a", "sa-1-2b", "sa-0-3c", null].map((id) => subAgents.isPausedFor(id))).toEqual([
    false,
    true,
    true,
    false,
  ])
  expect(await run("resume sa-1-2b")).toMatchObject({ text: "sa-1-2b may start sub-agents again." })
  expect(subAgents.isPausedFor("sa-0-3c")).toBe(false)
  await run("pause sa-1")
  await run("resume")
  expect(subAgents.isPausedFor("sa-1-2b")).toBe(false)
  expect(await run("pause sa-7")).toMatchObject({ text: expect.stringContaining("No sub-agent sa-7 is running") })
  // Two begin like this.
  expect(await run("stop sa-0")).toMatchObject({ text: expect.stringContaining("No sub-agent sa-0 is running") })
  await run("stop sa-0-1")
  expect(stopped).toEqual(["sa-0-1a"])
})
