import { expect, test } from "vitest"
import { createDispatchHarness, toolCall } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { TestTool } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { QuestionOutcome, Question } from "../../toolkit/ports/ask.ts"
import { runBatch } from "./batch.ts"
import type { BatchRun, DispatchSession } from "./dispatch-session.ts"

const QUESTION: Question = { kind: "question", question: "Which one?", choices: ["a", "b"], allowFreetext: true }

/** A tool that asks the user and records the answer. */
function askingTool(question: Question): { readonly tool: TestTool; readonly answers: QuestionOutcome[] } {
  const answers: QuestionOutcome[] = []
  const tool: TestTool = {
    name: "asks",
    run: async ({ ports }) => {
      const answer = await ports.ask!.ask(question)
      answers.push(answer)
      return { content: { done: true }, summary: "asked" }
    },
  }
  return { tool, answers }
}

async function runQuestion(
  question: Question,
  how: {
    readonly attended: boolean
    readonly more?: Partial<DispatchSession & BatchRun>
    readonly answer?: (requestId: string, answer: (text: string) => boolean) => void
  },
) {
  const { tool, answers } = askingTool(question)
  await using harness = await createDispatchHarness([tool], {
    attended: how.attended,
    ...(how.more && { more: how.more }),
  })
  const seen: AgentEventBody[] = []
  for await (const event of runBatch([toolCall("c", "asks")], harness.session, harness.run)) {
    if (event.type === "clarify-request" || event.type === "status") seen.push(event)
    if (event.type !== "clarify-request") continue
    how.answer?.(event.requestId, (text) => harness.interactions.answer(event.requestId, { kind: "clarify", text }))
  }
  return { answers, seen, recorded: harness.recorded }
}

const clock = { now: () => 5000, sleep: () => new Promise<never>(() => undefined) }

test("a question is emitted with its choices and expiry, and answered once", async () => {
  const tried: boolean[] = []
  const { answers, seen } = await runQuestion(QUESTION, {
    attended: true,
    more: { clock, questionTimeoutMs: 30_000 },
    answer: (_id, answer) => tried.push(answer("b"), answer("a")),
  })
  expect([answers, seen, tried]).toEqual([
    [{ kind: "answer", text: "b" }],
    [
      { type: "clarify-request", requestId: "clarify_1", ...QUESTION, expiresAt: 35 },
      {
        type: "status",
        kind: "answered",
        text: "",
        requestId: "clarify_1",
        question: "clarify",
        choice: "b",
        by: "user",
      },
    ],
    [true, false],
  ])
})

test.each(["secret", "sudo"] as const)(
  "the answer to a %s question reaches the tool and nothing else",
  async (kind) => {
    const { answers, seen, recorded } = await runQuestion(
      { kind, question: "Password?", choices: [], allowFreetext: true },
      { attended: true, answer: (_id, answer) => answer("hunter2") },
    )
    expect([answers, seen.at(-1), JSON.stringify([seen, recorded]).includes("hunter2")]).toEqual([
      [{ kind: "answer", text: "hunter2" }],
      {
        type: "status",
        kind: "answered",
        text: "",
        requestId: "clarify_1",
        question: "clarify",
        choice: "",
        by: "user",
      },
      false,
    ])
  },
)

test("secrets in a question or its answer are masked in events, but not for the tool", async () => {
  const { answers, seen } = await runQuestion(
    { ...QUESTION, question: "planted-secret-value?", choices: ["planted-secret-value"] },
    { attended: true, answer: (_id, answer) => answer("planted-secret-value") },
  )
  expect([answers, JSON.stringify(seen).includes("planted-secret-value")]).toEqual([
    [{ kind: "answer", text: "planted-secret-value" }],
    false,
  ])
})

test("without a user no question is emitted", async () => {
  expect(await runQuestion(QUESTION, { attended: false })).toMatchObject({
    answers: [{ kind: "unattended" }],
    seen: [],
  })
})

test("a question without an answer times out; one without a limit does not", async () => {
  const late = { now: () => 0, sleep: () => Promise.resolve() }
  const { answers, seen } = await runQuestion(QUESTION, { attended: true, more: { questionTimeoutMs: 1 } })
  expect([answers, seen.at(-1)]).toMatchObject([[{ kind: "timeout" }], { choice: "timeout", by: "noninteractive" }])
  const endless = await runQuestion(QUESTION, {
    attended: true,
    more: { clock: late, questionTimeoutMs: 0 },
    answer: (_id, answer) => answer("here"),
  })
  expect([endless.answers, endless.seen[0]]).toMatchObject([[{ kind: "answer", text: "here" }], { expiresAt: null }])
})

test("an interrupt ends the question", async () => {
  const stop = new AbortController()
  const { answers, seen } = await runQuestion(QUESTION, {
    attended: true,
    more: { signal: stop.signal },
    answer: () => {
      stop.abort()
    },
  })
  expect([answers, seen.at(-1)]).toMatchObject([[{ kind: "interrupted" }], { choice: "interrupted", by: "user" }])
})

test("an `ask` port of the session takes precedence", async () => {
  const { tool, answers } = askingTool(QUESTION)
  await using harness = await createDispatchHarness([tool], { attended: true })
  const own = { ask: () => Promise.resolve({ kind: "answer", text: "own" } as const) }
  const context: DispatchSession["context"] = (...call) => ({
    ...harness.session.context(...call),
    ports: { ask: own },
  })
  await Array.fromAsync(runBatch([toolCall("c", "asks")], { ...harness.session, context }, harness.run))
  expect(answers).toEqual([{ kind: "answer", text: "own" }])
})
