import { join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { systemClock } from "../base/clock.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { openSqliteStore } from "../state/sqlite/open-store.ts"
import type { SessionStore } from "../state/store.ts"
import { branchCommand } from "./branch.ts"
import type { SlashContext, SlashOutcome } from "./slash-command.ts"

const parent = toSessionId("parent")

interface BranchFixture extends AsyncDisposable {
  readonly store: SessionStore
  readonly ids: readonly number[]
  readonly run: (argument: string) => Promise<SlashOutcome>
}

async function storedConversation(messages = 4): Promise<BranchFixture> {
  const home = await temporaryHome()
  const log = { debug: () => undefined, warning: () => undefined }
  const store = await openSqliteStore({ path: join(home.path, "state.db"), clock: systemClock, log })
  await store.createSession({ id: parent, source: "cli", startedAt: 1, systemPrompt: "the prompt" })
  const ids = await store.append(
    parent,
    Array.from(
      { length: messages },
      (_, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content: `message ${index}` }) as const,
    ),
  )
  const context = {
    app: { store: () => Promise.resolve(store), clock: systemClock },
    session: { id: parent },
    open: async (id: SessionId) => ({ id, facts: { messages: (await store.messages(id)).length } }),
  } as unknown as SlashContext
  return {
    store,
    ids,
    run: (argument) => branchCommand.run(argument, context),
    async [Symbol.asyncDispose]() {
      await store.close()
      await home[Symbol.asyncDispose]()
    },
  }
}

test("continues in a copy and keeps the original", async () => {
  await using fixture = await storedConversation()
  const outcome = await fixture.run("another try")
  expect(outcome).toMatchObject({
    kind: "switch",
    text: expect.stringContaining('You are now in "another try" (') as string,
  })
  const id = outcome.kind === "switch" ? outcome.session.id : parent
  expect(await fixture.store.session(id)).toMatchObject({
    parent,
    title: "another try",
    messageCount: 4,
    systemPrompt: "the prompt",
  })
  expect(await fixture.store.session(parent)).toMatchObject({ endReason: "branched", messageCount: 4 })
})

test("--from lists the messages and copies up to one of them", async () => {
  await using fixture = await storedConversation()
  const list = await fixture.run("--from")
  expect(list).toMatchObject({
    kind: "reply",
    text: expect.stringContaining(`${fixture.ids[1]}       message 1\n`) as string,
  })
  const outcome = await fixture.run(`--from ${fixture.ids[1]}`)
  const id = outcome.kind === "switch" ? outcome.session.id : parent
  expect((await fixture.store.messages(id)).map((row) => row.text)).toEqual(["message 0", "message 1"])
})

test.each([
  ["--from 999999", "There is no message 999999 in session parent. /branch --from lists the messages."],
  ["--from two", "Usage: /branch [NAME], or /branch --from MESSAGE [NAME]. /branch --from lists the messages."],
  ["--form 2", "Usage: /branch [NAME], or /branch --from MESSAGE [NAME]. /branch --from lists the messages."],
])("/branch %s explains the mistake and changes nothing", async (argument, text) => {
  await using fixture = await storedConversation()
  expect(await fixture.run(argument)).toEqual({ kind: "reply", text })
  expect(await fixture.store.session(parent)).toMatchObject({ endReason: null })
})

test("an empty conversation cannot be branched", async () => {
  await using fixture = await storedConversation(0)
  expect(await fixture.run("")).toMatchObject({
    kind: "reply",
    text: expect.stringContaining("Send a message first") as string,
  })
})
