import { describe, expect, test } from "vitest"

import { toolRound, user } from "../../../test/fixtures/agent/histories.ts"
import {
  describeRemoved,
  elisionNote,
  elisionOf,
  mergeElisions,
  elisionMessage,
  splitNote,
  userText,
  withElisionNote,
  withoutElisionNote,
} from "./elision-note.ts"
import { generalDigest } from "./result-digest.ts"

const OPTIONS = {
  rounds: 3,
  sessionId: "s1",
  hint: "",
  digest: generalDigest,
  redact: (text: string) => text.replaceAll("secret", "***"),
}

test("requests come first, newest at the top, then actions; without duplicates and at most twelve lines", () => {
  const messages = [
    user("first\nrequest with secret"),
    ...toolRound([{ id: "a", result: "r" }]),
    user(`long ${"x".repeat(300)}`),
    ...toolRound([
      { id: "b", args: { path: "same" }, result: "r" },
      { id: "c", args: { path: "same" }, result: "r" },
    ]),
    user("[Your task list]", { synthetic: "todo" }),
  ]
  expect(describeRemoved(messages, OPTIONS)).toEqual({
    rounds: 3,
    sessions: ["s1"],
    lines: [
      `- Asked: long ${"x".repeat(152)}...`,
      "- Asked: first request with ***",
      "- Done: [read_file] path=same (1 chars result)",
      "- Done: [read_file] path=a.txt (1 chars result)",
    ],
  })
  const many = Array.from({ length: 30 }, (_, index) => user(`request ${index}`))
  expect(describeRemoved(many, { ...OPTIONS, hint: "a\nb\nc\nd" }).lines).toEqual([
    "- Note: a",
    "- Note: b",
    "- Note: c",
    ...Array.from({ length: 9 }, (_, index) => `- Asked: request ${29 - index}`),
  ])
})

describe("a note", () => {
  const elision = { rounds: 2, sessions: ["s2", "s1"], lines: ["- Asked: x"] }

  test("names the number of rounds and how to find them, and can be parsed again", () => {
    const text = elisionNote(elision)
    for (const fact of ["2 earlier rounds", "already handled", 'session_search with session_id "s2", "s1"']) {
      expect(text).toContain(fact)
    }
    expect(splitNote(`${text}\n\nWords.`)).toEqual({ elision, rest: "Words." })
    expect(splitNote("Words.")).toBeUndefined()
    expect(elisionNote({ ...elision, rounds: 1 })).toContain("1 earlier round of")
  })

  test.each([
    ["text", user("Words.")],
    [
      "parts",
      user([
        { type: "text", text: "Words." },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
      ]),
    ],
  ])("is put before the text of a message and can be removed again (%s)", (_name, message) => {
    const noted = withElisionNote(message, elision)
    expect([userText(noted), elisionOf(noted)]).toEqual(["Words.", elision])
    expect(withoutElisionNote(noted)).toEqual(message)
    expect(elisionOf(withElisionNote(noted, { ...elision, rounds: 5 })).rounds).toBe(7)
  })

  test("leaves no message when the note is its only content", () => {
    expect(withoutElisionNote(elisionMessage(elision))).toBeUndefined()
    expect(withoutElisionNote(user("Words."))).toEqual(user("Words."))
  })
})

test("merged notes add up and name the newest sessions", () => {
  const note = (rounds: number, ...sessions: readonly string[]) => ({
    rounds,
    sessions,
    lines: [`- Done: ${rounds}`, "- Asked: same"],
  })
  expect(mergeElisions(note(1, "d", "c"), note(2, "c", "b", "a"))).toEqual({
    rounds: 3,
    sessions: ["d", "c", "b"],
    lines: ["- Asked: same", "- Done: 1", "- Done: 2"],
  })
})
