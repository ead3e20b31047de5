import { expect, test } from "vitest"

import type { Answer, ApprovalRequest, ClarifyRequest } from "../../protocol/events.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { createQuestions } from "./questions.ts"
import type { LiveEvent } from "../chat-ui.ts"

const envelope = { sessionId: toSessionId("s"), runId: "r", seq: 0, ts: 0 }

/** A fake user who answers when the test calls `types`. */
function fakeUser() {
  const answers: { id: string; answer: Answer }[] = []
  const asked: string[] = []
  const prompts: string[] = []
  const questionTexts: string[] = []
  const shown: string[] = []
  const notes: string[] = []
  let reply: ((line: string | undefined) => void) | undefined
  const questions = createQuestions({
    session: {
      answer: (id, answer) => {
        answers.push({ id, answer })
        return true
      },
    },
    ask: (question, { secret, signal }) => {
      asked.push(
        `${secret ? "secret " : ""}${
          question
            .trim()
            .replace(/^The model asks.*\n {2}\| /u, "")
            .split("\n")[0]
        }`,
      )
      questionTexts.push(question)
      prompts.push(question.split("\n").at(-1) ?? "")
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      reply = resolve
      signal.addEventListener("abort", () => {
        resolve(undefined)
      })
      return promise
    },
    columns: () => 80,
    show: (event) => shown.push(event.type === "text-delta" ? event.text : event.type),
    note: (text) => notes.push(text),
  })
  return {
    questions,
    answers,
    asked,
    prompts,
    questionTexts,
    shown,
    notes,
    /** Types a line and waits until it was handled. */
    types: async (line: string | undefined) => {
      await settle()
      reply?.(line)
      await settle()
    },
  }
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

function approval(requestId: string, command: string): LiveEvent & ApprovalRequest {
  return {
    ...envelope,
    type: "approval-request",
    requestId,
    kind: "command",
    call: { id: "c", name: "terminal", args: {} },
    command,
    description: "it deletes",
    rule: "rm",
    choices: ["once", "session", "deny"],
    expiresAt: null,
  }
}

function clarify(requestId: string, changes: Partial<ClarifyRequest> = {}): LiveEvent & ClarifyRequest {
  return {
    ...envelope,
    type: "clarify-request",
    requestId,
    kind: "question",
    question: `Which for ${requestId}?`,
    choices: ["Red", "Blue"],
    allowFreetext: true,
    expiresAt: null,
    ...changes,
  }
}

function text(words: string): LiveEvent {
  return { ...envelope, type: "text-delta", text: words }
}

function answered(requestId: string): LiveEvent {
  return {
    ...envelope,
    type: "status",
    kind: "answered",
    text: "",
    requestId,
    question: "clarify",
    choice: "timeout",
    by: "noninteractive",
  }
}

test("holds events back while a question is open", async () => {
  const { questions, shown, answers, types } = fakeUser()
  questions.handle(text("before"))
  questions.handle(approval("a1", "rm x"))
  questions.handle(text("after"))
  expect(shown).toEqual(["before", "approval-request"])
  await types("o")
  expect(shown).toEqual(["before", "approval-request", "after"])
  expect(answers).toEqual([{ id: "a1", answer: { kind: "approval", choice: "once" } }])
})

test("asks several questions one after another", async () => {
  const { questions, asked, answers, types } = fakeUser()
  questions.handle(clarify("q1"))
  questions.handle(clarify("q2"))
  await settle()
  expect(asked).toEqual(["Which for q1?"])
  await types("2")
  await types("green")
  expect(asked).toEqual(["Which for q1?", "Which for q2?"])
  expect(answers).toEqual([
    { id: "q1", answer: { kind: "clarify", text: "Blue" } },
    { id: "q2", answer: { kind: "clarify", text: "green" } },
  ])
})

test("Other asks for a free answer, and an unclear answer is asked for again", async () => {
  const { questions, asked, answers, types } = fakeUser()
  questions.handle(clarify("q"))
  await types("")
  await types("3")
  await types("1")
  expect(asked).toEqual(["Which for q?", "Type an answer, or press Ctrl+C to skip.", "Your answer:"])
  expect(answers).toEqual([{ id: "q", answer: { kind: "clarify", text: "1" } }])
})

test("an answer that is none of the choices explains them and asks again; Enter denies", async () => {
  const { questions, answers, prompts, asked, types } = fakeUser()
  questions.handle(approval("a1", "rm x"))
  await types("?")
  await types("why")
  await types("s")
  expect(answers).toEqual([{ id: "a1", answer: { kind: "approval", choice: "session" } }])
  expect(asked.slice(1)).toEqual(["o  run it this time", "o  run it this time"])
  expect(prompts.at(-1)).toBe("Allow [o]nce, for this [s]ession, or [d]eny? ")
  questions.handle(approval("a2", "rm y"))
  await types("")
  expect(answers.at(-1)).toEqual({ id: "a2", answer: { kind: "approval", choice: "deny" } })
})

test("after five answers that are none of the choices the call is denied", async () => {
  const { questions, answers, notes, types } = fakeUser()
  questions.handle(approval("a1", "rm x"))
  for (const word of ["1", "2", "3", "4", "5"]) await types(word)
  expect(answers).toEqual([{ id: "a1", answer: { kind: "approval", choice: "deny" } }])
  expect(notes).toEqual(["That is not one of the choices, so the call was denied."])
})

test.each([
  { name: "an approval is denied", event: approval("x", "rm x"), answer: { kind: "approval", choice: "deny" } },
  {
    name: "a question is cancelled",
    event: clarify("x"),
    answer: { kind: "clarify", text: expect.stringContaining("cancelled") },
  },
  { name: "a secret is empty", event: clarify("x", { kind: "secret" }), answer: { kind: "clarify", text: "" } },
])("Ctrl+C: $name", async ({ event, answer }) => {
  const { questions, answers, types } = fakeUser()
  questions.handle(event)
  await types(undefined)
  expect(answers).toEqual([{ id: "x", answer }])
})

test("reads a secret without echo and keeps its spaces", async () => {
  const { questions, asked, answers, types } = fakeUser()
  questions.handle(clarify("x", { kind: "sudo", question: "Password", choices: [] }))
  await types(" hunter 2 ")
  expect([asked, answers]).toEqual([
    ["secret Hermes asks: Password"],
    [{ id: "x", answer: { kind: "clarify", text: " hunter 2 " } }],
  ])
})

test("cancels a question after its time limit and shows the held events", async () => {
  const { questions, shown, answers, notes } = fakeUser()
  questions.handle(clarify("q"))
  await settle()
  questions.handle(answered("q"))
  questions.handle(text("on"))
  await settle()
  expect([shown, answers, notes]).toEqual([
    ["clarify-request", "status", "on"],
    [],
    ["There was no answer in time; Hermes continues without one."],
  ])
})

test.each([
  [null, /^[^(]*$/u],
  [45, /\(45 seconds to answer\) $/u],
  [120, /\(2 minutes to answer\) $/u],
])("a question with a time limit of %s seconds shows it", async (expiresAt, end) => {
  const { questions, prompts } = fakeUser()
  questions.handle(clarify("q", { expiresAt }))
  await settle()
  expect(prompts).toEqual([expect.stringMatching(end)])
})

test("the end of the run cancels all questions", async () => {
  const { questions, shown, asked, answers } = fakeUser()
  questions.handle(clarify("q1"))
  questions.handle(clarify("q2"))
  questions.handle(text("last"))
  await settle()
  await questions.finish()
  expect([asked, answers, shown]).toEqual([["Which for q1?"], [], ["clarify-request", "clarify-request", "last"]])
})

test("v shows the whole of a long command and asks again", async () => {
  const { questions, answers, questionTexts, types } = fakeUser()
  const lines = Array.from({ length: 200 }, (_, index) => `echo ${index}`)
  questions.handle(approval("a1", lines.join("\n")))
  await types("v")
  await types("v")
  await types("d")
  expect(answers).toEqual([{ id: "a1", answer: { kind: "approval", choice: "deny" } }])
  const [cut = "", whole = "", again = ""] = questionTexts
  expect(cut).toContain("  … 160 more rows, not shown here …\n")
  expect(cut).toMatch(/\n\[v\]iew all of it, or allow \[o\]nce, for this \[s\]ession, or \[d\]eny\? $/u)
  expect(whole).toContain(lines.map((line) => `  | ${line}\n`).join(""))
  expect([whole.includes("[v]iew"), again]).toEqual([false, expect.stringMatching(/^ {2}o {2}run it this time/u)])
})
