import { expect, test } from "vitest"

import { fail, ok } from "../../base/result.ts"
import type { Auxiliary, AuxiliaryCall } from "../../llm/auxiliary/auxiliary.ts"
import { DEMO_RUNTIME } from "../../llm/demo/runtime.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import { generateTitle } from "./generate-title.ts"

const signal = new AbortController().signal
const EXCHANGE = { user: "The login page is broken", assistant: "I fixed it." }

test.each<[string, string | undefined]>([
  ['"Fix Login Bug"', "Fix Login Bug"],
  ["Title: Plan trip", "Plan trip"],
  ['**title: "Plan trip"**', "Plan trip"],
  ["“Ça marche”\n", "Ça marche"],
  ["Two\nlines", "Two lines"],
  ["x".repeat(80), "x".repeat(80)],
  ["x".repeat(100), `${"x".repeat(77)}...`],
  ["", undefined],
  ['""', undefined],
  ["Title:", undefined],
])("the answer %j becomes %j", async (answer, title) => {
  expect(await generateTitle(EXCHANGE, answering(answer), signal)).toBe(title)
})

test("the beginning of both sides is shown", async () => {
  const calls: AuxiliaryCall[] = []
  await generateTitle({ user: "u".repeat(600), assistant: "a".repeat(600) }, answering("Title", calls), signal)
  expect(calls).toEqual([
    {
      task: "title_generation",
      system: expect.stringContaining("three to seven words"),
      messages: [{ role: "user", content: `User: ${"u".repeat(500)}\n\nAssistant: ${"a".repeat(500)}` }],
      temperature: 0.3,
      maxTokens: 500,
      signal,
    },
  ])
})

test("without a model there is no title", async () => {
  const unavailable: Pick<Auxiliary, "call"> = {
    call: () => Promise.resolve(fail({ kind: "no-provider", message: "unavailable" })),
  }
  expect(await generateTitle(EXCHANGE, unavailable, signal)).toBeUndefined()
})

function answering(text: string, calls: AuxiliaryCall[] = []): Pick<Auxiliary, "call"> {
  return {
    call: (call) => {
      calls.push(call)
      return Promise.resolve(ok({ text, usage: NO_USAGE, runtime: DEMO_RUNTIME }))
    },
  }
}
