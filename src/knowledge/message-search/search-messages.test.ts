import { describe, expect, test } from "vitest"

import { session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { Message } from "../../protocol/message.ts"
import { createLexicon } from "../semantic-search/lexicon.ts"
import { markWords } from "./mark-words.ts"
import { parseWordQuery } from "./query-words.ts"
import { searchMessages } from "./search-messages.ts"
import type { MessageSearch } from "./search-messages.ts"

const lexicon = createLexicon()

async function tell(state: TemporaryStore, id: string, texts: readonly (string | Message)[]): Promise<void> {
  await state.store.createSession(session(id))
  const messages = texts.map((text, at): Message => {
    state.clock.seconds += 1
    if (typeof text !== "string") return text
    return at % 2 === 0 ? { role: "user", content: text } : { role: "assistant", content: text }
  })
  await state.store.append(sessionId(id), messages)
}

async function found(state: TemporaryStore, query: string, options: Partial<MessageSearch> = {}) {
  const ranked = await searchMessages(query, state.store.words, {
    scope: { roles: ["user", "assistant"] },
    lexicon,
    limit: 5,
    isExcluded: () => false,
    isSearchCall: (tool) => tool === "session_search",
    shown: (text) => text,
    ...options,
  })
  return ranked.map(({ row, matchedBy }) => [row.id, matchedBy] as const)
}

const filler = ["fine", "good", "sure", "right", "well", "nice", "great", "true", "super", "cool"]

describe("ranking", () => {
  test("the answer to a question comes right after it, or first when the query is that question", async () => {
    await using state = await temporaryStore()
    await tell(state, "a", [
      ...filler,
      "What did the vet say about the hamster?",
      "It needs drops twice a day.",
      ...filler,
    ])
    await tell(state, "b", [...filler, "no connection to anything", ...filler])
    expect((await found(state, "hamster vet"))[0]).toEqual([12, "context"])
    expect((await found(state, "hamster of my sister")).slice(0, 2)).toEqual([
      [11, "words"],
      [12, "context"],
    ])
  })

  test("rare words count more than common ones, and forms, synonyms and typos are found", async () => {
    await using state = await temporaryStore()
    await tell(state, "a", [
      "Tom bought a kayak",
      ...filler,
      "Tom ate",
      ...filler,
      "Tom slept",
      ...filler,
      "the physician",
    ])
    expect((await found(state, "what did Tom buy"))[0]).toEqual([1, "words"])
    expect((await found(state, "kayka"))[0]).toEqual([1, "words"])
    expect((await found(state, "doctor"))[0]).toEqual([34, "meaning"])
  })

  test("an identifier counts as a whole: its parts are everywhere", async () => {
    await using state = await temporaryStore()
    const services = Array.from(
      { length: 30 },
      (_, index) => `Service billing-${index % 10}-${index} runs on port ${index}.`,
    )
    await tell(state, "a", [
      ...services,
      "Service billing 2 was renamed.",
      "The worker billing-2 runs elsewhere.",
      ...filler,
    ])
    expect((await found(state, "which port does the billing-2 worker use?"))[0]).toEqual([32, "words"])
    expect((await found(state, "Service billing-7-27"))[0]).toEqual([28, "words"])
  })

  test("tool calls are matched only where they are searched", async () => {
    await using state = await temporaryStore()
    const call: Message = {
      role: "assistant",
      content: "done",
      tool_calls: [{ id: "c", type: "function", function: { name: "write_file", arguments: '{"path":"heron.txt"}' } }],
    }
    await tell(state, "a", ["write it", call])
    expect(await found(state, "heron")).toEqual([])
    expect((await found(state, "heron", { toolCalls: () => Promise.resolve("") }))[0]).toEqual([2, "words"])
  })

  test("undone messages and notes of Hermes are not found", async () => {
    await using state = await temporaryStore()
    await tell(state, "a", [
      "the heron",
      "ok",
      { role: "user", content: "heron note", synthetic: "elision" },
      "last heron",
    ])
    await state.store.undoTo(sessionId("a"), 4).catch(() => undefined)
    expect((await found(state, "heron")).map(([id]) => id)).not.toContain(3)
  })
})

test("words of a query: names are kept even when they look like stop words", () => {
  const { words, asksForTime } = parseWordQuery("When did Will go to the 2nd parade in May?")
  expect(words.map(({ stem }) => stem)).toEqual(["will", "2nd", "parad", "mai"])
  expect(asksForTime).toBe(true)
})

test("a snippet marks the words and shows the part with the most of them", () => {
  expect(markWords("the herons flew", "heron flying")).toBe("the >>>herons<<< >>>flew<<<")
  const long = `${"word ".repeat(200)}the heron landed ${"word ".repeat(200)}`
  expect(markWords(long, "heron landing")).toMatch(/^\.\.\..*>>>heron<<< >>>landed<<<.*\.\.\.$/u)
})
