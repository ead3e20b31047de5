import { readdirSync } from "node:fs"
import { hostname } from "node:os"

import { expect, test } from "vitest"

import { openDelegationRecords } from "../../../src/app/services/delegation-records.ts"
import type { Session } from "../../../src/app/session/session.ts"
import { callsTool, refuses, says, stallsAfter } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

const soon = (): AbortSignal => AbortSignal.timeout(20_000)

async function start(
  session: Session,
  prompt: string,
): Promise<{ readonly number: number; readonly sessionId: string }> {
  const started = await session.startTask?.(prompt)
  if (started?.ok !== true) throw new Error(started?.error ?? "no tasks")
  return started.value
}

async function nextResult({ app }: AssembledApp) {
  await app.backgroundTasks.waitForNews(soon())
  return app.backgroundTasks.takeResult()
}

test("a task works in a session of its own, and its result is for the user only", async () => {
  await using app = await assembleApp([says("Hello."), says("Four files."), says("And now?")])
  const session = await app.open({ deliversNotices: true })
  await runToEnd(session, "my secret plan")
  const task = await start(session, "count the files")
  expect([task.number, task.sessionId.startsWith("bg_")]).toEqual([1, true])
  expect(await nextResult(app)).toMatchObject({ how: "completed", text: "Four files.", task: { number: 1 } })
  const [, ofTask] = app.model.requests
  expect([ofTask?.rawBody.includes("count the files"), ofTask?.rawBody.includes("my secret plan")]).toEqual([
    true,
    false,
  ])
  await runToEnd(session, "go on")
  expect(app.model.requests[2]?.rawBody).not.toContain("Four files.")
  const row = await (await app.app.store()).session(app.app.backgroundTasks.list()[0]?.sessionId ?? session.id)
  expect(row?.source).toBe("cli")
  expect([app.app.backgroundTasks.list(), app.app.backgroundTasks.takeResult()]).toEqual([[], undefined])
  expect(readdirSync(app.app.home.path)).not.toContain("delegations")
})

test("questions are labelled with the task and answered through the session", async () => {
  await using app = await assembleApp([callsTool("terminal", { command: "rm -r build" }), says("Removed.")], {
    config: "terminal:\n  sandbox: off\n",
    workFiles: { "build/x": "x" },
  })
  const session = await app.open({ deliversNotices: true })
  await start(session, "clean up")
  await app.app.backgroundTasks.waitForNews(soon())
  const [question] = app.app.backgroundTasks.questions()
  if (question?.type !== "approval-request") throw new Error("no question")
  expect(question.description).toMatch(/^background task 1: /u)
  expect(app.app.backgroundTasks.list()).toMatchObject([{ hasQuestion: true }])
  expect(session.answer("task7:approval_1", { kind: "approval", choice: "deny" })).toBe(false)
  const events: string[] = []
  app.app.backgroundTasks.subscribe((event) => events.push(event.type))
  expect(session.answer(question.requestId, { kind: "approval", choice: "once" })).toBe(true)
  expect(await nextResult(app)).toMatchObject({ how: "completed", text: "Removed." })
  expect([events, readdirSync(app.home.workdir)]).toEqual([["status"], []])
})

test("several run, fail and are stopped independently; rules of the session hold for them", async () => {
  await using app = await assembleApp([says(["Working"], stallsAfter({ deltas: 1 }))], {
    config: "agent:\n  api_max_retries: 0\n",
  })
  const session = await app.open({ deliversNotices: true })
  const first = await start(session, "wait forever")
  await app.model.received(0)
  app.model.push(refuses(400, "no such thing"))
  const second = await start(session, "fail")
  expect([first.number, second.number]).toEqual([1, 2])
  expect(await nextResult(app)).toMatchObject({ how: "failed", task: { number: 2 } })
  expect([app.app.backgroundTasks.stop(9), app.app.backgroundTasks.stop(1)]).toEqual([false, true])
  expect(await nextResult(app)).toMatchObject({ how: "stopped", task: { number: 1 } })
  session.setPermissionProfile("plan")
  expect(await session.startTask?.("x")).toMatchObject({ ok: false, error: expect.stringContaining("plan mode") })
})

test("after a kill the next start reports what became of each task", async () => {
  await using app = await assembleApp([says("ok")])
  const records = openDelegationRecords(app.app.home)
  const record = {
    version: 1,
    background: true,
    parent_session_id: "20260101_000000_aaaaaa",
    started_at: 1,
    reported: false,
    delivered: false,
    process: { pid: 2 ** 22 + 1, start: "", host: hostname() },
  } as const
  records.write({
    ...record,
    id: "task_00000001",
    task: 1,
    goal: "tidy up",
    child_session_id: "bg_1",
    status: "running",
  })
  records.write({
    ...record,
    id: "task_00000002",
    task: 2,
    goal: "count",
    child_session_id: "bg_2",
    status: "completed",
  })
  const session = await app.open({ deliversNotices: true })
  const { events } = await runToEnd(session, "hi")
  const warnings = events.flatMap((event) => (event.type === "status" && event.kind === "warning" ? [event.text] : []))
  expect(warnings).toEqual([
    expect.stringMatching(/^The background task 1 \("tidy up"\) was interrupted when Hermes ended;.*session bg_1/u),
    expect.stringMatching(/^The background task 2 \("count"\) ended \(completed\) before Hermes did.*session bg_2/u),
  ])
  expect(readdirSync(app.app.home.path)).not.toContain("delegations")
})
