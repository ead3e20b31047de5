import { existsSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { callsTool, refuses, repeat, reply, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { assembleOn, WIRES, wireProblems } from "./on-every-wire.ts"

const TWO_ROUNDS = "agent:\n  max_turns: 2\n"
const touch = (name: string) => callsTool("terminal", { command: `touch ${name}` })

describe.each(WIRES)("at max_turns 2 on %s", (wire) => {
  test("the last request is announced once, in the last result, and its text is the answer", async () => {
    await using assembled = await assembleOn(
      wire,
      [touch("one"), touch("two"), says("As far as I came."), says("Hi.")],
      {
        config: TWO_ROUNDS,
      },
    )
    const session = await assembled.open()
    const { end } = await runToEnd(session, "work")
    expect({ outcome: end.outcome, exit: end.result.exitReason, answer: end.result.finalResponse }).toEqual({
      outcome: "max-turns",
      exit: "max_iterations_reached(2/2)",
      answer: "As far as I came.",
    })
    const results = assembled.model.view(2).messages.flatMap((message) => message.results.map(({ text }) => text))
    expect(results.map((text) => text.includes("must be the final answer"))).toEqual([false, true])
    expect(assembled.model.view(2).tools).toEqual(assembled.model.view(1).tools)

    await runToEnd(session, "are you there?")
    expect([wireProblems(assembled.model, 3), assembled.model.unanswered]).toEqual([[], []])
  })

  test("a model that still calls tools is asked for a summary with tools disabled; its last call never runs", async () => {
    const script = [touch("one"), touch("two"), touch("three"), says("This is what I did."), says("Hi.")]
    await using assembled = await assembleOn(wire, script, { config: TWO_ROUNDS })
    const session = await assembled.open()
    const { end } = await runToEnd(session, "work")
    expect([end.outcome, end.result.finalResponse, end.result.apiCalls, end.result.toolCalls]).toEqual([
      "max-turns",
      "This is what I did.",
      4,
      2,
    ])
    expect(existsSync(join(assembled.home.workdir, "three"))).toBe(false)
    // Where the wire can forbid tool calls, the tools stay declared, so the request keeps its prefix.
    const forbidden = /"(?:tool_choice":"none|mode":"NONE)"/.test(assembled.model.requests[3]?.rawBody ?? "")
    const kept = forbidden || wire === "bedrock_converse"
    expect(assembled.model.view(3).tools).toEqual(kept ? assembled.model.view(2).tools : [])
    expect(assembled.model.view(3).messages.at(-1)?.text).toContain("tools are disabled")

    // The request for the summary is not stored.
    const stored = await (await assembled.app.store()).conversation(session.id)
    expect(stored.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"])
    await runToEnd(session, "are you there?")
    expect(assembled.model.requests[4]?.rawBody).not.toContain("tools are disabled")
    expect([wireProblems(assembled.model, 4), assembled.model.unanswered]).toEqual([[], []])
  })
})

test.each([
  { name: "says nothing, twice", script: [says(""), says("")], requests: 5 },
  { name: "is refused", script: [refuses(401, "no")], requests: 4 },
  { name: "calls a tool all the same", script: [touch("x")], requests: 4 },
])("a summary that $name is replaced by a message that names the limit", async ({ script, requests }) => {
  await using assembled = await assembleApp([touch("one"), touch("two"), touch("three"), ...script], {
    config: TWO_ROUNDS,
  })
  const session = await assembled.open()
  const { end } = await runToEnd(session, "work")
  expect([end.outcome, assembled.model.requests.length]).toEqual(["max-turns", requests])
  expect(end.result.finalResponse).toContain("limit of 2 iterations")
  expect((await (await assembled.app.store()).conversation(session.id)).at(-1)).toMatchObject({
    role: "assistant",
    content: end.result.finalResponse,
  })
})

test("the turn after a limit has a new budget", async () => {
  const script = [touch("one"), touch("two"), says("Stopped."), touch("three"), says("Now it is done.")]
  await using assembled = await assembleApp(script, { config: TWO_ROUNDS })
  const session = await assembled.open()
  await runToEnd(session, "work")
  const { end } = await runToEnd(session, "continue")
  expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "Now it is done."])
})

test("agent.budget_pressure legacy reports the used budget to the model", async () => {
  await using assembled = await assembleApp(
    [...Array.from({ length: 9 }, (_, round) => touch(`round-${round}`)), says("Done.")],
    { config: "agent:\n  max_turns: 10\n  budget_pressure: legacy\n" },
  )
  await runToEnd(await assembled.open(), "work")
  const results = assembled.model.view(9).messages.flatMap((message) => message.results.map(({ text }) => text))
  const lines = results.map((text) => /\[Budget[^\]]*\]/.exec(text)?.[0] ?? null)
  expect(lines).toEqual([
    ...Array.from({ length: 6 }, () => null),
    "[Budget: 7 of 10 iterations are used, 3 remain. Start to finish the work.]",
    "[Budget: 8 of 10 iterations are used, 2 remain. Start to finish the work.]",
    "[Budget, urgent: 9 of 10 iterations are used, 1 remain. Give your answer now.]",
  ])
})

test("a model that never stops calling tools ends at its limit, and every call has a result", async () => {
  let round = 0
  const endless = repeat(() => {
    round += 1
    return reply({ text: `Round ${round}.`, calls: [{ name: "terminal", input: { command: `echo ${round}` } }] })
  })
  await using assembled = await assembleApp([endless], { config: "agent:\n  max_turns: 5\n" })
  const { end } = await runToEnd(await assembled.open(), "go on for ever")
  // Five iterations, the last request, and two attempts at a summary, of which the first returns text.
  expect([end.outcome, end.result.finalResponse, assembled.model.requests.length]).toEqual(["max-turns", "Round 7.", 7])
  expect(wireProblems(assembled.model, 6)).toEqual([])
})
