import { describe, expect, test } from "vitest"

import type { TypedMessage } from "../chat-ui.ts"
import type { SlashOutcome } from "../../commands/slash-command.ts"
import { createBusyInput } from "./busy-input.ts"
import type { BusyMode } from "./busy-input.ts"

const QUEUED = "Queued until this reply is complete."

function turn(mode: BusyMode, options: { readonly steerable?: boolean; readonly outcome?: SlashOutcome } = {}) {
  const calls: string[] = []
  const outbox: string[] = []
  const time = { now: 0 }
  const busy = createBusyInput({
    notTyped: () => undefined,
    mode: () => mode,
    attached: [],
    outbox,
    session: {
      interrupt: () => calls.push("interrupt"),
      steer: (text) => {
        calls.push(`steer ${text}`)
        return options.steerable ?? true
      },
    },
    command: (line) => Promise.resolve(options.outcome ?? { kind: "reply", text: `ran ${line}` }),
    note: (text) => calls.push(text),
    edit: (draft) => calls.push(`edit ${draft}`),
    redraw: () => calls.push("redraw"),
    force: () => calls.push("force"),
    now: () => time.now,
  })
  return { busy, calls, outbox, time }
}

describe("a line typed during a reply", () => {
  test.each<{ mode: BusyMode; steerable?: boolean; calls: string[]; outbox: string[] }>([
    { mode: "interrupt", calls: ["interrupt", "interrupt"], outbox: ["one\ntwo"] },
    { mode: "queue", calls: [QUEUED], outbox: ["one", "two"] },
    {
      mode: "steer",
      calls: ["steer one", "Added to the running turn: one", "steer two", "Added to the running turn: two"],
      outbox: [],
    },
    { mode: "steer", steerable: false, calls: ["steer one", QUEUED, "steer two"], outbox: ["one", "two"] },
  ])("$mode, steerable $steerable", async ({ mode, steerable = true, calls, outbox }) => {
    const run = turn(mode, { steerable })
    run.busy.line(typed(" one "))
    run.busy.line(typed("   "))
    run.busy.line(typed("two"))
    expect(await run.busy.finish()).toEqual({ kind: "continue" })
    expect([run.calls, run.outbox]).toEqual([calls, outbox])
  })

  test("a message that interrupted the reply is sent before queued ones", async () => {
    const { busy, outbox } = turn("interrupt")
    outbox.push("queued earlier")
    busy.line(typed("now"))
    await busy.finish()
    expect(outbox).toEqual(["now", "queued earlier"])
  })

  test("after the end of the run, a line is the next message", async () => {
    const { busy, calls, outbox } = turn("interrupt")
    busy.runEnded()
    busy.line(typed("next"))
    busy.interrupt()
    await busy.finish()
    expect([calls, outbox]).toEqual([[], ["next"]])
  })
})

describe("a command typed during a reply", () => {
  test.each<{ outcome: SlashOutcome; calls: string[]; outbox: string[]; after: string }>([
    { outcome: { kind: "reply", text: "hello" }, calls: ["hello"], outbox: [], after: "continue" },
    { outcome: { kind: "send", text: "later" }, calls: [QUEUED], outbox: ["later"], after: "continue" },
    { outcome: { kind: "quit" }, calls: ["interrupt"], outbox: [], after: "quit" },
  ])("$outcome.kind", async ({ outcome, calls, outbox, after }) => {
    const run = turn("interrupt", { outcome })
    run.busy.line(typed("/x"))
    expect((await run.busy.finish()).kind).toBe(after)
    expect([run.calls, run.outbox]).toEqual([calls, outbox])
  })

  test("a path is a message", async () => {
    const { busy, outbox } = turn("queue")
    busy.line(typed("/usr/lib is full"))
    await busy.finish()
    expect(outbox).toEqual(["/usr/lib is full"])
  })
})

test.each([
  { second: 1999, calls: ["interrupt", "force", "interrupt"] },
  { second: 2000, calls: ["interrupt", "interrupt"] },
])("Ctrl+C again after $second ms", ({ second, calls }) => {
  const run = turn("queue")
  run.busy.interrupt()
  run.time.now = second
  run.busy.interrupt()
  expect(run.calls).toEqual(calls)
})

test("Ctrl+C also drops what is queued, and names it", () => {
  const { busy, outbox, calls } = turn("queue")
  busy.line(typed("next\nthing"))
  busy.interrupt()
  expect([outbox, calls]).toEqual([[], [QUEUED, "interrupt", "Not sent: next thing"]])
})

function typed(text: string): TypedMessage {
  return { text, images: [] }
}
