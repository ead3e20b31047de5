import { expect, test } from "vitest"

import { createLogger } from "../../base/logger.ts"
import { fail, ok } from "../../base/result.ts"
import { createIdleTimeout } from "./idle-timeout.ts"

const signal = new AbortController().signal

function setUp(options: { readonly suspend?: () => Promise<void>; readonly canResume?: boolean } = {}) {
  const calls: string[] = []
  const lines: string[] = []
  let now = 0
  const idleTimeout = createIdleTimeout({
    lifetimeSeconds: 300,
    clock: { now: () => now, sleep: () => Promise.resolve() },
    log: createLogger({ redact: (text) => text, sinks: [{ level: "DEBUG", write: (line) => lines.push(line) }] }),
    suspend: async () => {
      calls.push("suspend")
      await options.suspend?.()
    },
    resume: () => {
      calls.push("resume")
      return Promise.resolve(options.canResume === false ? fail("no capacity") : ok(undefined))
    },
  })
  const advance = (ms: number): void => {
    now += ms
  }
  return { idleTimeout, calls, lines, advance }
}

test("an idle workspace is suspended once and resumed with the next use", async () => {
  const { idleTimeout, calls, advance } = setUp()
  advance(299_000)
  await idleTimeout.check()
  idleTimeout.touch()
  advance(299_999)
  await idleTimeout.check()
  expect([calls, idleTimeout.isSuspended(), await idleTimeout.resume(signal)]).toEqual([[], false, undefined])
  advance(1)
  await idleTimeout.check()
  await idleTimeout.check()
  expect([calls, idleTimeout.isSuspended()]).toEqual([["suspend"], true])
  expect(await Promise.all([idleTimeout.resume(signal), idleTimeout.resume(signal)])).toEqual([
    ok(undefined),
    ok(undefined),
  ])
  expect([calls, idleTimeout.isSuspended()]).toEqual([["suspend", "resume"], false])
})

test("a use during suspension waits until suspension is complete", async () => {
  const slow = Promise.withResolvers<void>()
  const { idleTimeout, calls, advance } = setUp({ suspend: () => slow.promise })
  advance(300_000)
  const suspending = idleTimeout.check()
  const resuming = idleTimeout.resume(signal)
  expect(calls).toEqual(["suspend"])
  slow.resolve()
  await Promise.all([suspending, resuming])
  expect(calls).toEqual(["suspend", "resume"])
})

test("a failed suspension is logged, and a failed resumption is returned", async () => {
  const { idleTimeout, lines, advance } = setUp({
    suspend: () => Promise.reject(new Error("busy")),
    canResume: false,
  })
  advance(300_000)
  await idleTimeout.check()
  expect(lines).toEqual([expect.stringContaining("cannot suspend an idle workspace: busy")])
  expect([await idleTimeout.resume(signal), idleTimeout.isSuspended()]).toEqual([fail("no capacity"), true])
})

test("after stop the workspace is not suspended", async () => {
  const { idleTimeout, calls, advance } = setUp()
  idleTimeout.stop()
  advance(300_000)
  await idleTimeout.check()
  expect(calls).toEqual([])
})

test("a workspace that is held is not suspended", async () => {
  const { idleTimeout, calls, advance } = setUp()
  const workspace = idleTimeout.track({} as never)
  const end = workspace.hold?.()
  advance(1_000_000)
  await idleTimeout.check()
  expect(calls).toEqual([])
  end?.()
  // The use ends in the next microtask, and the time counts from then.
  await Promise.resolve()
  await Promise.resolve()
  await Promise.resolve()
  advance(299_000)
  await idleTimeout.check()
  expect(calls).toEqual([])
  advance(2000)
  await idleTimeout.check()
  expect(calls).toEqual(["suspend"])
  idleTimeout.stop()
})
