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

interface Place extends AsyncDisposable {
  readonly store: SessionStore
  readonly ids: readonly number[]
  readonly run: (argument: string) => Promise<SlashOutcome>
}

async function conversation(messages = 4): Promise<Place> {
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

test("goes on in a copy, the first conversation stays", async () => {
  await using place = await conversation()
  const outcome = await place.run("other way")
  expect(outcome).toMatchObject({
    kind: "switch",
    text: expect.stringContaining('This is now "other way" (') as string,
  })
  const id = outcome.kind === "switch" ? outcome.session.id : parent
  expect(await place.store.session(id)).toMatchObject({
    parent,
    title: "other way",
    messageCount: 4,
    systemPrompt: "the prompt",
  })
  expect(await place.store.session(parent)).toMatchObject({ endReason: "branched", messageCount: 4 })
})

test("from an earlier message, which the list shows", async () => {
  await using place = await conversation()
  const list = await place.run("--from")
  expect(list).toMatchObject({
    kind: "say",
    text: expect.stringContaining(`${place.ids[1]}       message 1\n`) as string,
  })
  const outcome = await place.run(`--from ${place.ids[1]}`)
  const id = outcome.kind === "switch" ? outcome.session.id : parent
  expect((await place.store.messages(id)).map((row) => row.text)).toEqual(["message 0", "message 1"])
})

test.each([
  ["--from 999999", "There is no message 999999 in session parent. /branch --from lists the messages."],
  ["--from two", "Use /branch [NAME], or /branch --from MESSAGE [NAME]; /branch --from lists the messages."],
  ["--form 2", "Use /branch [NAME], or /branch --from MESSAGE [NAME]; /branch --from lists the messages."],
])("/branch %s is answered and changes nothing", async (argument, text) => {
  await using place = await conversation()
  expect(await place.run(argument)).toEqual({ kind: "say", text })
  expect(await place.store.session(parent)).toMatchObject({ endReason: null })
})

test("there must be something to branch from", async () => {
  await using place = await conversation(0)
  expect(await place.run("")).toMatchObject({
    kind: "say",
    text: expect.stringContaining("Say something first") as string,
  })
})
