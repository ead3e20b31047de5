import { expect, test } from "vitest"

import { session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import type { Message } from "../../protocol/message.ts"
import type { SessionStore } from "../../state/store.ts"
import { loadResumedSession } from "./resume.ts"

const ID = sessionId("s")
const CALL: Message = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name: "terminal", arguments: "{}" } }],
}
const RESULT: Message = { role: "tool", tool_call_id: "c1", tool_name: "terminal", content: "real" }

async function stored(store: SessionStore): Promise<readonly unknown[]> {
  return (await store.conversation(ID)).flatMap((message) => (message.role === "tool" ? [message.content] : []))
}

test("a result that another process stores while the session is read is the only one", async () => {
  await using testHome = await temporaryHome()
  const home = resolveHome(environmentFrom(testHome.env))
  await using t = await temporaryStore()
  await t.store.startSession(session("s"), [{ role: "user", content: "go" }, CALL], "go")
  let reads = 0
  const racing: SessionStore = {
    ...t.store,
    messages: async (id) => {
      const rows = await t.store.messages(id)
      reads += 1
      // The other process finishes its call and exits, so it is not found afterwards.
      if (reads === 1) await t.store.append(ID, [RESULT])
      return rows
    },
  }
  const resumed = await loadResumedSession(ID, racing, home)
  if (!resumed.ok) throw new Error(resumed.error)
  const { interrupted, messages, revision } = resumed.value
  expect([interrupted, [...messages.keys()].map(({ role }) => role), reads]).toEqual([
    [],
    ["user", "assistant", "tool"],
    2,
  ])
  expect([await stored(t.store), revision]).toEqual([["real"], await t.store.revision(ID)])
})

test("a call that no process runs any more gets the result unknown, once", async () => {
  await using testHome = await temporaryHome()
  const home = resolveHome(environmentFrom(testHome.env))
  await using t = await temporaryStore()
  await t.store.startSession(session("s"), [{ role: "user", content: "go" }, CALL], "go")
  const resumed = await Promise.all([1, 2, 3].map(async () => await loadResumedSession(ID, t.store, home)))
  expect(resumed.flatMap((each) => (each.ok ? each.value.interrupted : ["failed"]))).toEqual(["terminal"])
  expect(await stored(t.store)).toEqual([expect.stringContaining('"status":"unknown"')])
})
