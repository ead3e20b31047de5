import { expect, test } from "vitest"

import { systemClock } from "../../../src/base/clock.ts"
import type { SessionId } from "../../../src/protocol/identifiers.ts"
import { newSessionId } from "../../../src/state/session-id.ts"
import { repeat, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"

const PYTHON_PROMPT = "You are Hermes. Use skill_view and browser_navigate."

/** A session as the Python edition stores it. */
async function pythonSession(assembled: AssembledApp): Promise<SessionId> {
  const id = newSessionId(systemClock, "terminal")
  const startedAt = systemClock.now() / 1000 - 60
  const session = { id, source: "cli", startedAt, systemPrompt: PYTHON_PROMPT, modelConfig: { max_iterations: 90 } }
  const store = await assembled.app.store()
  await store.startSession(
    session,
    [
      { role: "user", content: "hello" },
      { role: "assistant", content: "Hello." },
    ],
    "Hello",
  )
  return id
}

async function systemAfter(assembled: AssembledApp, id: SessionId, index: number): Promise<string> {
  const session = await assembled.open({ resume: id })
  await runToEnd(session, `question ${index}`)
  await session.close("test")
  return assembled.model.view(index).system
}

test("a session of the Python edition continues with a prompt of this edition, which then stays", async () => {
  await using assembled = await assembleApp([repeat(says("Yes."))])
  const id = await pythonSession(assembled)
  const first = await systemAfter(assembled, id, 0)
  expect(first).not.toContain("browser_navigate")
  expect(first.length).toBeGreaterThan(500)
  await using later = await assembled.restart()
  expect(await systemAfter(later, id, 1)).toBe(first)
  const row = await (await later.app.store()).session(id)
  expect(row?.modelConfig).toMatchObject({ max_iterations: 90, declared_tools: expect.arrayContaining(["terminal"]) })

  // The Python edition continues the session and stores its own prompt again.
  const store = await later.app.store()
  await store.setSystemPrompt(id, PYTHON_PROMPT, {})
  expect(await systemAfter(later, id, 2)).not.toContain("browser_navigate")
})

test("a session that was only opened keeps its prompt", async () => {
  await using assembled = await assembleApp([])
  const id = await pythonSession(assembled)
  await (await assembled.open({ resume: id })).close("test")
  expect((await (await assembled.app.store()).session(id))?.systemPrompt).toBe(PYTHON_PROMPT)
})

test("a continuation that the Python edition wrote gets a prompt of this edition", async () => {
  await using assembled = await assembleApp([repeat(says("Yes."))])
  const session = await assembled.open()
  await runToEnd(session, "one")
  const store = await assembled.app.store()
  const child = newSessionId(systemClock, "terminal")
  await store.rotate(
    session.id,
    { id: child, source: "cli", startedAt: systemClock.now() / 1000, systemPrompt: PYTHON_PROMPT, modelConfig: {} },
    [{ role: "user", content: "A summary." }],
  )
  await runToEnd(session, "two")
  expect([session.id, assembled.model.view(1).system.includes("browser_navigate")]).toEqual([child, false])
})

test("a session of an earlier release of this edition keeps its prompt", async () => {
  await using assembled = await assembleApp([repeat(says("Yes."))])
  const id = await pythonSession(assembled)
  const store = await assembled.app.store()
  await store.setSystemPrompt(id, "Written by an earlier release.", { declared_tools: ["terminal"] })
  expect(await systemAfter(assembled, id, 0)).toContain("Written by an earlier release.")
})
