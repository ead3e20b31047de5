import { expect, test } from "vitest"

import { createLogger } from "../../base/logger.ts"
import { fail, ok } from "../../base/result.ts"
import { createIdleWatch } from "./idle-watch.ts"

const signal = new AbortController().signal

function rig(options: { readonly lifetimeSeconds?: number; readonly wakes?: boolean } = {}) {
  const done: string[] = []
  const lines: string[] = []
  let now = 0
  let rest: () => Promise<void> = () => Promise.resolve()
  const watch = createIdleWatch({
    lifetimeSeconds: options.lifetimeSeconds ?? 300,
    clock: { now: () => now, sleep: () => Promise.resolve() },
    log: createLogger({ redact: (text) => text, sinks: [{ level: "DEBUG", write: (line) => lines.push(line) }] }),
    rest: async () => {
      done.push("rest")
      await rest()
    },
    wake: () => {
      done.push("wake")
      return Promise.resolve(options.wakes === false ? fail("no room") : ok(undefined))
    },
  })
  return {
    watch,
    done,
    lines,
    pass: (ms: number) => {
      now += ms
    },
    restsBy: (how: () => Promise<void>) => {
      rest = how
    },
  }
}

test("a place rests after its time, once, and wakes with the next use", async () => {
  const { watch, done, pass } = rig()
  pass(299_000)
  await watch.check()
  watch.touch()
  pass(299_999)
  await watch.check()
  expect([done, watch.isResting(), await watch.wake(signal)]).toEqual([[], false, undefined])
  pass(1)
  await watch.check()
  await watch.check()
  expect([done, watch.isResting()]).toEqual([["rest"], true])
  expect(await Promise.all([watch.wake(signal), watch.wake(signal)])).toEqual([ok(undefined), ok(undefined)])
  expect([done, watch.isResting()]).toEqual([["rest", "wake"], false])
})

test("whoever comes while it is given up waits until that is done", async () => {
  const { watch, done, pass, restsBy } = rig()
  const slow = Promise.withResolvers<void>()
  restsBy(() => slow.promise)
  pass(300_000)
  const resting = watch.check()
  const waking = watch.wake(signal)
  expect(done).toEqual(["rest"])
  slow.resolve()
  await Promise.all([resting, waking])
  expect(done).toEqual(["rest", "wake"])
})

test("a failure to give it up is logged, one to bring it back is told, and a stopped watch does nothing", async () => {
  const { watch, lines, pass, restsBy } = rig({ wakes: false })
  restsBy(() => Promise.reject(new Error("busy")))
  pass(300_000)
  await watch.check()
  expect(lines).toEqual([expect.stringContaining("could not be given up: busy")])
  expect([await watch.wake(signal), watch.isResting()]).toEqual([fail("no room"), true])
  const other = rig()
  other.watch.stop()
  other.pass(300_000)
  await other.watch.check()
  expect(other.done).toEqual([])
})
