import { describe, expect, test } from "vitest"

import { toolRound, user } from "../../../test/fixtures/agent/histories.ts"
import {
  describeRemoved,
  elisionNote,
  elisionOf,
  mergeElisions,
  elisionMessage,
  NO_ELISION,
  splitNote,
  userText,
  withElisionNote,
  withoutElisionNote,
} from "./elision-note.ts"
import type { Elision } from "./elision-note.ts"
import { digestCall, generalDigest } from "./result-digest.ts"

const LIMITS = { words: { saidTokens: 1000, listedTokens: 500 }, doneLines: 3 }
const OPTIONS = {
  rounds: 3,
  sessionId: "s1",
  hint: "",
  digest: generalDigest,
  redact: (text: string) => text.replaceAll("secret", "***"),
  limits: LIMITS,
}

test("the user's words are quoted, oldest first, and actions are listed, newest first; secrets are masked", () => {
  const messages = [
    user("first\nrequest with secret"),
    ...toolRound([{ id: "a", result: "r" }]),
    user("second"),
    ...toolRound([
      { id: "b", args: { path: "same" }, result: "r" },
      { id: "c", args: { path: "same" }, result: "r" },
    ]),
    user("[Your task list]", { synthetic: "todo" }),
  ]
  expect(describeRemoved(messages, { ...OPTIONS, hint: "a\nb secret\n\nc\nd" })).toEqual({
    rounds: 3,
    sessions: ["s1"],
    words: { said: ["first\nrequest with ***", "second"], listed: [] },
    notes: ["- Note: a", "- Note: b ***", "- Note: c"],
    done: ["- Done: [read_file] path=same (1 chars result)", "- Done: [read_file] path=a.txt (1 chars result)"],
  })
  const many = Array.from({ length: 30 }, (_, index) => toolRound([{ id: `c${index}`, result: "r" }])).flat()
  expect(describeRemoved(many, OPTIONS).done.map((line) => /c\d+/u.exec(line)?.[0])).toEqual(["c29", "c28", "c27"])
})

test("a call that was denied or has no result is not listed as done, also in the next compression", () => {
  const refused = JSON.stringify({ error: "Not run: the user denied it.", status: "blocked" })
  const shortened = "[write_file] path=b -> failed"
  const messages = [
    user("go"),
    ...toolRound([{ id: "a", tool: "write_file", args: { path: "a" }, result: refused }]),
    ...toolRound([{ id: "b", tool: "write_file", args: { path: "b" }, result: shortened }]),
  ]
  const digest: typeof generalDigest = (call) => digestCall(call, () => "[write_file] wrote it")
  const { done } = describeRemoved(messages, { ...OPTIONS, digest })
  expect(done).toEqual([
    "- Not done: [write_file] path=b -> failed",
    "- Not done: [write_file] path=a -> not run: it was not allowed",
  ])
  expect(splitNote(elisionNote({ ...NO_ELISION, rounds: 1, sessions: ["s"], done }))?.elision.done).toEqual(done)
})

describe("a note", () => {
  const elision: Elision = {
    rounds: 2,
    sessions: ["s2", "s1"],
    words: { said: ['Say "hi".\nTwice.'], listed: ["- Ruled out: no"] },
    notes: ["- Note: n"],
    done: ["- Done: d"],
  }

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
    const noted = withElisionNote(message, elision, { gap: "before", limits: LIMITS })
    expect([userText(noted), elisionOf(noted)]).toEqual(["Words.", elision])
    expect(withoutElisionNote(noted)).toEqual(message)
  })

  test.each([
    ["before", ["new", "old"]],
    ["after", ["old", "new"]],
  ] as const)("is merged with the note of a message when the gap is %s it", (gap, said) => {
    const note = (text: string): Elision => ({ ...NO_ELISION, rounds: 1, words: { said: [text], listed: [] } })
    const noted = withElisionNote(user("Words."), note("old"), { gap: "before", limits: LIMITS })
    const merged = elisionOf(withElisionNote(noted, note("new"), { gap, limits: LIMITS }))
    expect([merged.rounds, merged.words.said]).toEqual([2, said])
  })

  test("leaves no message when the note is its only content", () => {
    expect(withoutElisionNote(elisionMessage(elision))).toBeUndefined()
    expect(withoutElisionNote(user("Words."))).toEqual(user("Words."))
  })
})

test("merged notes add up and name the newest sessions", () => {
  const note = (rounds: number, ...sessions: readonly string[]): Elision => ({
    ...NO_ELISION,
    rounds,
    sessions,
    words: { said: [`${rounds}`], listed: [] },
    done: [`- Done: ${rounds}`, "- Done: same"],
  })
  expect(mergeElisions(note(2, "c", "b", "a"), note(1, "d", "c"), LIMITS)).toEqual({
    rounds: 3,
    sessions: ["d", "c", "b"],
    words: { said: ["2", "1"], listed: [] },
    notes: [],
    done: ["- Done: 1", "- Done: same", "- Done: 2"],
  })
})
