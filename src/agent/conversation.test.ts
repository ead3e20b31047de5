import { expect, test } from "vitest"

import { fail, ok } from "../base/result.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { Conversation } from "./conversation.ts"
import type { Journal } from "./journal.ts"

const user = (content: string): Message => ({ role: "user", content })
const [one, two, three] = [user("one"), user("two"), user("three")]

/** A conversation whose journal records each step together with what the conversation shows at that time. */
function recorded(override: Partial<Journal> = {}) {
  const steps: string[] = []
  const shown = (): string => conversation.history.map(({ content }) => contentText(content)).join(" ")
  const note = (step: string) => () => {
    steps.push(`${step}: ${shown()}`)
    return Promise.resolve()
  }
  const conversation: Conversation = new Conversation({
    id: toSessionId("first"),
    system: "prompt",
    history: [one],
    journal: {
      append: note("append"),
      keepPartial: () => undefined,
      reshape: note("reshape"),
      rewind: note("rewind"),
      rotate: () => Promise.resolve(ok({ id: toSessionId("child"), system: "new prompt" })),
      lockCompression: () => Promise.resolve(undefined),
      ...override,
    },
  })
  return { conversation, steps, shown }
}

test("every change is stored before it is shown", async () => {
  const { conversation, steps, shown } = recorded()
  await conversation.append([two, three])
  await conversation.reshape(new Map([[user("2"), two]]))
  await conversation.rewind(2)
  expect([steps, shown()]).toEqual([["append: one", "reshape: one two three", "rewind: one 2 three"], "one 2"])
})

test("what cannot be stored is not shown", async () => {
  const { conversation, shown } = recorded({
    append: () => Promise.reject(new Error("disk full")),
    rewind: () => Promise.reject(new Error("disk full")),
    rotate: () => Promise.resolve(fail("changed elsewhere")),
  })
  await expect(conversation.append([two])).rejects.toThrow("disk full")
  await expect(conversation.rewind(0)).rejects.toThrow("disk full")
  expect(await conversation.rotate([two])).toEqual(fail("changed elsewhere"))
  expect([shown(), conversation.id, conversation.system]).toEqual(["one", "first", "prompt"])
})

test("a rotation changes the session, its prompt and its messages", async () => {
  const { conversation, shown } = recorded()
  expect(await conversation.rotate([two])).toEqual(ok("child"))
  expect([shown(), conversation.id, conversation.system]).toEqual(["two", "child", "new prompt"])
})
