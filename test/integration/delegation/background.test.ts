import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { Session } from "../../../src/app/session/session.ts"
import { stopCommand } from "../../../src/commands/stop.ts"
import { callsTool, says, waitsFor } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import type { DelegatingModel } from "./delegating-model.ts"
import { delegatingModel, delegationResult } from "./delegating-model.ts"

const inBackground = (goal: string) => callsTool("delegate_task", { goal, background: true }, { id: goal })

async function notice(session: Awaited<ReturnType<AssembledApp["open"]>>): Promise<string> {
  await session.background.waitForOne(AbortSignal.timeout(10_000))
  return session.background.take() ?? ""
}

function records(home: string): readonly Readonly<Record<string, unknown>>[] {
  const directory = join(home, "delegations")
  if (!existsSync(directory)) return []
  return readdirSync(directory).map(
    (name) => JSON.parse(readFileSync(join(directory, name), "utf8")) as Record<string, unknown>,
  )
}

test("a delegation in the background returns at once, is recorded, and its result arrives as a notice", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>()
  const model = delegatingModel({
    "": [inBackground("Count"), says("It is being counted."), says("I see: 42.")],
    Count: [says("There are 42.", waitsFor(released))],
  })
  await using assembled = await assembleApp(model.script)
  const session = await assembled.open({ deliversNotices: true })
  const { end } = await runToEnd(session, "count")
  expect(end.result.finalResponse).toBe("It is being counted.")
  const dispatched = delegationResult(model.requestsOf("")[1])
  expect(dispatched).toMatchObject({
    status: "dispatched",
    delegation_id: expect.stringMatching(/^deleg_[0-9a-f]{8}$/u),
  })
  expect(records(assembled.home.path)).toMatchObject([
    { status: "running", goal: "Count", background: true, parent_session_id: session.id },
  ])
  release(undefined)
  const text = await notice(session)
  expect(text).toMatch(/not a message of the user/u)
  expect(text).toContain('"summary":"There are 42."')
  await runToEnd(session, text)
  expect(records(assembled.home.path)).toMatchObject([{ status: "completed", delivered: true }])
})

test("it survives an interrupt of the turn, and /stop ends it; more than the limit are refused", async () => {
  const never = waitsFor(new Promise(() => undefined))
  const model: DelegatingModel = delegatingModel({
    "": [
      inBackground("One"),
      inBackground("Two"),
      () => {
        session.interrupt()
        return says("late", never)
      },
    ],
    One: [says("late", never)],
  })
  await using assembled = await assembleApp(model.script, { config: "delegation:\n  max_async_children: 1\n" })
  const session: Session = await assembled.open({ deliversNotices: true })
  const { events } = await runToEnd(session, "go")
  expect(events.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : []))).toEqual(["ok", "error"])
  expect(delegationResult(model.requestsOf("")[2]).error).toContain("max_async_children")
  expect(assembled.app.subAgents.tree()).toMatchObject([{ goal: "One", status: "running" }])
  const outcome = await stopCommand.run("", {
    app: assembled.app,
    session,
    open: () => Promise.reject(new Error("not used")),
    running: false,
    signal: new AbortController().signal,
  })
  expect(outcome).toMatchObject({ text: "Stopping 1 sub-agent in the background." })
  expect(await notice(session)).toContain("was interrupted")
})

test("it ends with its session, and the next start reports that", async () => {
  const model = delegatingModel({
    "": [inBackground("One"), says("Started."), says("Ok.")],
    One: [says("late", waitsFor(new Promise(() => undefined)))],
  })
  await using assembled = await assembleApp(model.script)
  const session = await assembled.open({ deliversNotices: true })
  await runToEnd(session, "go")
  await session.close("test")
  expect(assembled.app.subAgents.tree()).toMatchObject([{ status: "interrupted" }])
  expect(records(assembled.home.path)).toMatchObject([{ status: "interrupted", delivered: false }])
})

test("after a crash the next start reports each sub-agent once, and the resumed conversation receives what became of it", async () => {
  const model = delegatingModel({ "": [says("Hello."), says("Hi."), says("Again.")] })
  await using assembled = await assembleApp(model.script)
  const first = await assembled.open()
  await runToEnd(first, "hello")
  await first.close("test")
  const directory = join(assembled.home.path, "delegations")
  mkdirSync(directory)
  const left = {
    version: 1,
    parent_session_id: first.id,
    started_at: 1,
    reported: false,
    delivered: false,
    process: { pid: 999_999_999, start: "1", host: (await import("node:os")).hostname() },
  }
  const put = (record: Readonly<Record<string, unknown>> & { readonly id: string }): void => {
    writeFileSync(join(directory, `${record.id}.json`), JSON.stringify({ ...left, ...record }))
  }
  put({ id: "sa-0-11111111", background: false, goal: "Was running", status: "running", child_session_id: "c1" })
  put({
    id: "deleg_22222222",
    background: true,
    goal: "Had ended",
    status: "completed",
    result: '{"results":[{"summary":"found it"}]}',
  })
  put({ id: "bg_33333333", background: true, task: 1, goal: "Own task", status: "running" })
  writeFileSync(join(directory, "damaged.json"), "{")

  // A session without a run shows nothing, so the next one has to.
  await (await assembled.open()).close("test")
  const other = await assembled.open()
  const { events } = await runToEnd(other, "hi")
  const warnings = events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : []))
  expect(warnings).toHaveLength(4)
  expect(warnings.join("\n")).toMatch(/background task 1 \("Own task"\) was interrupted/u)
  expect(warnings.join("\n")).toContain("damaged.json")
  expect(warnings.join("\n")).toMatch(/sa-0-11111111 \("Was running"\).*was interrupted/u)
  expect(warnings.join("\n")).toMatch(/deleg_22222222 \("Had ended"\).*ended \(completed\)/u)

  const resumed = await assembled.open({ resume: first.id })
  const again = await runToEnd(resumed, "again")
  expect(again.events.filter((event) => event.type === "status" && event.kind === "warning")).toEqual([])
  const notices = [resumed.background.take(), resumed.background.take(), resumed.background.take()]
  expect(notices.join("\n")).toContain("sa-0-11111111 was interrupted and may have had effects")
  expect(notices.join("\n")).toContain("found it")
  expect(notices[2]).toBeUndefined()
  expect(records(assembled.home.path)).toMatchObject([{ id: "deleg_22222222", delivered: true }])

  // An interactive surface shows it when it opens, and then it counts as reported.
  put({ id: "sa-0-44444444", background: false, goal: "Lost", status: "running" })
  expect((await assembled.open()).takeOpeningWarnings()).toEqual([expect.stringContaining('sa-0-44444444 ("Lost")')])
  expect((await assembled.open()).takeOpeningWarnings()).toEqual([])
})
