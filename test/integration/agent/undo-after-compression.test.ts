import { expect, test } from "vitest"

import { undoCommand } from "../../../src/commands/undo.ts"
import { contentText } from "../../../src/protocol/message.ts"
import type { Session } from "../../../src/app/session/session.ts"
import { talk } from "../../fixtures/agent/histories.ts"
import { repeat, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { seedSession } from "./seeded-session.ts"

const { signal } = new AbortController()
const MARKER = "CONTEXT COMPACTION"

async function compressed(assembled: AssembledApp): Promise<Session> {
  const session = await assembled.open({ resume: await seedSession(assembled, talk(60, 800)) })
  const report = await session.compress({ signal, keepExchanges: 1 })
  expect(report).toMatchObject({ ok: true, value: { removedMessages: true } })
  return session
}

async function texts(assembled: AssembledApp, session: Session): Promise<readonly string[]> {
  const messages = await (await assembled.app.store()).conversation(session.id)
  return messages.map(({ content }) => contentText(content))
}

test("an exchange after the compression is undone, then the kept one, and never the summary", async () => {
  await using assembled = await assembleApp([repeat(says("## Active Task\nPaint the door."))])
  const session = await compressed(assembled)
  const before = await texts(assembled, session)
  await runToEnd(session, "one more")
  expect(await session.undo()).toEqual({ kind: "removed", text: "one more", images: [] })
  expect(await texts(assembled, session)).toEqual(before)
  const reports: string[] = []
  for (let step = 0; step < 10; step += 1) {
    const report = await session.undo()
    reports.push(report.kind)
    if (report.kind !== "removed") break
    expect(report.text).not.toContain(MARKER)
  }
  expect(reports.at(-1)).toBe("compressed")
  expect((await texts(assembled, session)).join("\n")).toContain(MARKER)
  expect((await runToEnd(session, "go on")).end.outcome).toBe("completed")
})

test("/undo says that the earlier messages were compressed", async () => {
  await using assembled = await assembleApp([repeat(says("## Active Task\nPaint the door."))])
  const session = await compressed(assembled)
  while ((await session.undo()).kind === "removed") continue
  const context = { app: assembled.app, session, open: () => Promise.resolve(session), running: false, signal }
  expect(await undoCommand.run("", context)).toMatchObject({ text: expect.stringContaining("was compressed") })
})
