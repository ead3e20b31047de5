import { expect, test } from "vitest"

import { manualClock } from "../../../test/support/manual-clock.ts"
import { createBranchStatus } from "./branch-status.ts"

test("a frame never reads files, and a change appears with the next frame", async () => {
  const clock = manualClock()
  const pending: (() => void)[] = []
  let branch: string | undefined = "main"
  let reads = 0
  let changes = 0
  const status = createBranchStatus({
    clock,
    later: (work) => pending.push(work),
    read: () => {
      reads += 1
      return branch
    },
    changed: () => {
      changes += 1
    },
  })
  const idle = (): void => {
    for (const work of pending.splice(0)) work()
  }
  expect([status("/w"), reads]).toEqual([undefined, 0])
  status("/w")
  idle()
  expect([status("/w"), reads, changes]).toEqual(["main", 1, 1])
  branch = "other"
  status("/w")
  idle()
  expect([status("/w"), reads, changes]).toEqual(["main", 1, 1])
  await clock.advance(1000)
  expect(status("/w")).toBe("main")
  idle()
  expect([status("/w"), reads, changes]).toEqual(["other", 2, 2])
  // Another directory never shows the branch of this one.
  branch = undefined
  expect(status("/elsewhere")).toBeUndefined()
  idle()
  expect([status("/elsewhere"), reads, changes]).toEqual([undefined, 3, 3])
})
