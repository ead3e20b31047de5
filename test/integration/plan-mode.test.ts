import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { PLAN_APPROVED } from "../../src/agent/plan/plan-text.ts"
import type { Session } from "../../src/app/session/session.ts"
import { findBubblewrap } from "../support/bubblewrap.ts"
import { callsTool, repeat, reply, says } from "../support/model-server/turn.ts"
import type { TurnFunction } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp, RunRecord } from "./assembled-app.ts"

const PLAN = "# Goal\nRename a.\n\n# Steps\n1. Edit `a.txt`.\n"
const WORK = { "a.txt": "before\n" }
const EDIT = callsTool("write_file", { path: "a.txt", content: "changed" })

test("a plan is written, shown and approved, and only then is anything changed", async () => {
  const attempts = [
    { name: "write_file", input: { path: "a.txt", content: "changed" } },
    { name: "terminal", input: { command: "touch b.txt" } },
    { name: "memory", input: { action: "add", target: "memory", content: "x" } },
    { name: "read_file", input: { path: "a.txt" } },
  ]
  await using assembled = await assembleApp(
    [reply({ calls: attempts }), writesPlan, says("Here is the plan."), EDIT, says("Done.")],
    { workFiles: WORK },
  )
  const session = await assembled.open({ permissionProfile: "plan" })
  const planned = await runToEnd(session, "rename a")
  const blocked = assembled.model.toolResults(1).map(({ text }) => text.includes("PLAN_MODE_ACTIVE"))
  expect(blocked).toEqual([true, true, true, false])
  expect(read(assembled, "a.txt")).toBe("before\n")
  expect([planned.end.outcome, planned.end.result.exitReason]).toEqual(["plan-ready", "plan_ready"])
  expect(planReady(planned)).toMatchObject({ path: planPath(assembled, session), text: PLAN })

  expect(await session.plan.approve("approve")).toEqual({ ok: true, value: PLAN_APPROVED })
  expect(session.facts.permissionProfile).toBe("plan")
  const done = await runToEnd(session, PLAN_APPROVED)
  expect([done.end.outcome, session.facts.permissionProfile]).toEqual(["completed", "accept-edits"])
  expect(read(assembled, "a.txt")).toBe("changed")
  const approval = done.end.result.messages.find(({ content }) => content === PLAN_APPROVED)
  expect(approval).toMatchObject({ compression_priority: "high" })
  expect(lastRequest(assembled)).toContain("1. Edit `a.txt`.")
})

test("without a plan file the answer becomes the plan", async () => {
  await using assembled = await assembleApp([says("First this, then that.")])
  const session = await assembled.open({ permissionProfile: "plan" })
  await runToEnd(session, "plan it")
  expect(readFileSync(planPath(assembled, session), "utf8")).toBe("First this, then that.\n")
})

test("a question back is no plan: nothing is ready, and plan mode stays on", async () => {
  await using assembled = await assembleApp([says("Hello! What should I plan?"), says("1. This\n2. That\n\nShall I?")])
  const session = await assembled.open({ permissionProfile: "plan" })
  const record = await runToEnd(session, "hello")
  expect([record.end.outcome, planReady(record), await session.plan.show()]).toEqual([
    "completed",
    undefined,
    undefined,
  ])
  expect([session.facts.permissionProfile, existsSync(planPath(assembled, session))]).toEqual(["plan", false])
  expect((await runToEnd(session, "the move")).end.outcome).toBe("plan-ready")
})

test("approved with questions, every change still asks", async () => {
  await using assembled = await assembleApp([says("A plan."), EDIT, says("Done.")], { workFiles: WORK })
  const session = await assembled.open({ permissionProfile: "plan" })
  await runToEnd(session, "plan it")
  await session.plan.approve("ask")
  const record = await runToEnd(session, PLAN_APPROVED, (event) => {
    if (event.type === "approval-request") session.answer(event.requestId, { kind: "approval", choice: "deny" })
  })
  expect(session.facts.permissionProfile).toBe("default")
  expect(record.events.filter(({ type }) => type === "approval-request")).toHaveLength(1)
  expect(read(assembled, "a.txt")).toBe("before\n")
})

test("a plan that changed since it was shown is not approved", async () => {
  await using assembled = await assembleApp([says("A plan.")])
  const session = await assembled.open({ permissionProfile: "plan" })
  await runToEnd(session, "plan it")
  writeFileSync(planPath(assembled, session), "Another plan.\n")
  expect(await session.plan.approve("approve")).toEqual({ ok: false, error: "changed" })
  expect((await session.plan.show())?.text).toBe("Another plan.\n")
  expect((await session.plan.approve("approve")).ok).toBe(true)
})

test("an approval is void when another message comes first", async () => {
  await using assembled = await assembleApp([says("A plan."), EDIT, says("Still planning.")], { workFiles: WORK })
  const session = await assembled.open({ permissionProfile: "plan" })
  await runToEnd(session, "plan it")
  await session.plan.approve("approve")
  await runToEnd(session, "wait, what about b?")
  expect([session.facts.permissionProfile, read(assembled, "a.txt")]).toEqual(["plan", "before\n"])
})

test("an undecided plan resumes in plan mode, an approved one does not", async () => {
  await using assembled = await assembleApp([says("A plan."), EDIT, says("Blocked."), says("Done.")], {
    workFiles: WORK,
  })
  const session = await assembled.open({ permissionProfile: "plan" })
  await runToEnd(session, "plan it")
  await session.close("user_exit")
  const resumed = await assembled.open({ resume: session.id, permissionProfile: "full-auto" })
  expect(resumed.facts.permissionProfile).toBe("plan")
  await runToEnd(resumed, "go on")
  expect(read(assembled, "a.txt")).toBe("before\n")
  await resumed.plan.approve("approve")
  await runToEnd(resumed, PLAN_APPROVED)
  await resumed.close("user_exit")
  expect((await assembled.open({ resume: session.id })).facts.permissionProfile).toBe("default")
})

test("aborting keeps the plan and returns to the profile before", async () => {
  await using assembled = await assembleApp([says("Hello."), says("A plan.")])
  const session = await assembled.open({ permissionProfile: "accept-edits" })
  await runToEnd(session, "hi")
  session.setPermissionProfile("plan")
  await runToEnd(session, "plan it")
  expect(await session.plan.abort()).toBe("accept-edits")
  expect([session.facts.permissionProfile, existsSync(planPath(assembled, session))]).toEqual(["accept-edits", true])
  expect(await session.plan.approve("approve")).toEqual({ ok: false, error: "none" })
})

test("the model is told when plan mode begins and when it ends without an approval", async () => {
  await using assembled = await assembleApp([says("A plan."), says("More."), says("Yes?")])
  const session = await assembled.open({ permissionProfile: "plan" })
  await runToEnd(session, "one")
  await runToEnd(session, "two")
  expect(lastRequest(assembled).split("Plan mode is on").length - 1).toBe(1)
  await session.plan.abort()
  await runToEnd(session, "three")
  expect(lastRequest(assembled)).toContain("Plan mode is off. The permission profile is now default.")
})

test("a plan is not written through a link that leads elsewhere", async () => {
  await using assembled = await assembleApp([writesPlan, says("A plan.")])
  const { home } = assembled
  symlinkSync(home.userHome, join(home.workdir, ".hermes"))
  const session = await assembled.open({ permissionProfile: "plan" })
  const { end } = await runToEnd(session, "plan it")
  expect(end.outcome).toBe("error")
  expect(assembled.model.toolResults(1)[0]?.text).toContain("PLAN_MODE_ACTIVE")
  expect(end.result.error?.message).toContain("a link leads elsewhere")
  expect(existsSync(join(home.userHome, "plans"))).toBe(false)
})

test("a compression keeps the approved plan word for word, and so does a resumed session", async () => {
  const chatter = "words ".repeat(2000)
  await using assembled = await assembleApp([writesPlan, says("Here is the plan."), repeat(says(chatter))])
  const session = await assembled.open({ permissionProfile: "plan" })
  await runToEnd(session, "rename a")
  await session.plan.approve("approve")
  await runToEnd(session, PLAN_APPROVED)
  for (let turn = 0; turn < 6; turn += 1) await runToEnd(session, `continue ${turn}`)
  const lengthBefore = lastRequest(assembled).length
  const compressed = await session.compress({ keepExchanges: 1, signal: new AbortController().signal })
  expect(compressed.ok).toBe(true)
  await runToEnd(session, "go on")
  expect(lastRequest(assembled).length).toBeLessThan(lengthBefore * 0.8)
  expect(lastRequest(assembled)).toContain(JSON.stringify(PLAN).slice(1, -1))
  await session.close("user_exit")
  await runToEnd(await assembled.open({ resume: session.id }), "again")
  expect(lastRequest(assembled)).toContain(JSON.stringify(PLAN).slice(1, -1))
})

test("reading commands work, and nothing keeps running", async () => {
  const calls = [
    { name: "terminal", input: { command: "cat a.txt" } },
    { name: "terminal", input: { command: "cat a.txt", background: true } },
    { name: "terminal", input: { command: "cat a.txt > b.txt" } },
  ]
  await using assembled = await assembleApp([reply({ calls }), says("A plan.")], { workFiles: WORK })
  await runToEnd(await assembled.open({ permissionProfile: "plan" }), "plan it")
  const [read, ...refused] = assembled.model.toolResults(1).map(({ text }) => text)
  if ("program" in (await findBubblewrap())) expect(read).toContain("before")
  expect(refused.map((text) => text.includes("PLAN_MODE_ACTIVE"))).toEqual([true, true])
})

const writesPlan: TurnFunction = ({ body }) => {
  const [path] = /\.hermes\/plans\/[\w-]+\.md/u.exec(JSON.stringify(body)) ?? ["missing"]
  return callsTool("write_file", { path, content: PLAN })
}

function planPath({ home }: AssembledApp, { id }: Session): string {
  return join(home.workdir, ".hermes/plans", `${id}.md`)
}

function planReady({ events }: RunRecord) {
  return events.find(({ type }) => type === "plan-ready")
}

function lastRequest({ model }: AssembledApp): string {
  return JSON.stringify(model.requests.at(-1)?.body)
}

function read({ home }: AssembledApp, name: string): string {
  return readFileSync(join(home.workdir, name), "utf8")
}
