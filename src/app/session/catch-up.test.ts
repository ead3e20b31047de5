import { expect, test } from "vitest"

import { Conversation } from "../../agent/conversation.ts"
import { combineFacets } from "../../agent/facets.ts"
import { createLogger } from "../../base/logger.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import { adoptStored } from "./catch-up.ts"
import { createUnsavedJournal } from "./session-journal.ts"
import type { StoredState } from "./session-journal.ts"

const id = toSessionId("session")
const said = (content: string): Message => ({ role: "user", content })

async function catchUp(stored: Partial<StoredState>) {
  const conversation = new Conversation({
    id,
    system: "s",
    history: [said("a")],
    journal: createUnsavedJournal({ id, system: "s" }),
  })
  const notified: string[] = []
  const facet = {
    name: "watch",
    rotated: ({ to }: { to: string }) => void notified.push(`rotated to ${to}`),
    historyChanged: (history: readonly Message[]) => void notified.push(`${history.length} messages`),
  }
  const facets = combineFacets([facet], createLogger({ sinks: [], redact: (text) => text }))
  const state: StoredState = { id, system: "s", messages: [said("a")], added: 0, ...stored }
  const events = await Array.fromAsync(adoptStored(state, { conversation, facets }))
  return { conversation, notified, events }
}

test("messages of another process are adopted and reported", async () => {
  const { conversation, notified, events } = await catchUp({ messages: [said("a"), said("b")], added: 1 })
  expect(conversation.history.map(({ content }) => content)).toEqual(["a", "b"])
  expect([notified, events]).toEqual([
    ["2 messages"],
    [{ type: "status", kind: "warning", text: expect.stringContaining("another process added 1 message") }],
  ])
})

test("a compression by another process moves the conversation to the child session", async () => {
  const child = toSessionId("child")
  const { conversation, notified, events } = await catchUp({ id: child, system: "new", messages: [said("summary")] })
  expect([conversation.id, conversation.system, notified]).toEqual([child, "new", ["1 messages", "rotated to child"]])
  expect(events.map(({ type }) => type)).toEqual(["session-rotated", "status"])
})
