import { existsSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { callsTool, refuses, repeat, reply, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { assembleOn, WIRES, wireProblems } from "./on-every-wire.ts"

const TWO_ROUNDS = "agent:\n  max_turns: 2\n"
const touch = (name: string) => callsTool("terminal", { command: `touch ${name}` })

describe.each(WIRES)("at max_turns 2 on %s", (wire) => {
  test("the grace call is announced once, in the last result, and its text is the answer", async () => {
    await using house = await assembleOn(wire, [touch("one"), touch("two"), says("As far as I came."), says("Hi.")], {
      config: TWO_ROUNDS,
    })
    const session = await house.open()
    const { end } = await runToEnd(session, "work")
    expect({ outcome: end.outcome, exit: end.result.exitReason, said: end.result.finalResponse }).toEqual({
      outcome: "max-turns",
      exit: "max_iterations_reached(2/2)",
      said: "As far as I came.",
    })
    const results = house.model.view(2).messages.flatMap((message) => message.results.map(({ text }) => text))
    expect(results.map((text) => text.includes("must be the final answer"))).toEqual([false, true])
    expect(house.model.view(2).tools).toEqual(house.model.view(1).tools)

    await runToEnd(session, "are you there?")
    expect([wireProblems(house.model, 3), house.model.unanswered]).toEqual([[], []])
  })

  test("a model that calls on is asked for a summary without tools; its last call never runs", async () => {
    const script = [touch("one"), touch("two"), touch("three"), says("This is what I did."), says("Hi.")]
    await using house = await assembleOn(wire, script, { config: TWO_ROUNDS })
    const session = await house.open()
    const { end } = await runToEnd(session, "work")
    expect([end.outcome, end.result.finalResponse, end.result.apiCalls, end.result.toolCalls]).toEqual([
      "max-turns",
      "This is what I did.",
      4,
      2,
    ])
    expect(existsSync(join(house.home.workdir, "three"))).toBe(false)
    // Where the wire can say that none may be called, the tools stay declared, so that the request keeps its prefix.
    const forbidden = /"(?:tool_choice":"none|mode":"NONE)"/.test(house.model.requests[3]?.rawBody ?? "")
    const kept = forbidden || wire === "bedrock_converse"
    expect(house.model.view(3).tools).toEqual(kept ? house.model.view(2).tools : [])
    expect(house.model.view(3).messages.at(-1)?.text).toContain("no tool can be used any more")

    // What was only said to get the summary is not part of the conversation.
    const stored = await (await house.app.store()).conversation(session.id)
    expect(stored.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"])
    await runToEnd(session, "are you there?")
    expect(house.model.requests[4]?.rawBody).not.toContain("no tool can be used any more")
    expect([wireProblems(house.model, 4), house.model.unanswered]).toEqual([[], []])
  })
})

test.each([
  { name: "says nothing, twice", script: [says(""), says("")], requests: 5 },
  { name: "is refused", script: [refuses(401, "no")], requests: 4 },
  { name: "calls a tool all the same, twice", script: [touch("x"), touch("x")], requests: 5 },
])("a summary that $name is replaced by a sentence that names the limit", async ({ script, requests }) => {
  await using house = await assembleApp([touch("one"), touch("two"), touch("three"), ...script], {
    config: TWO_ROUNDS,
  })
  const session = await house.open()
  const { end } = await runToEnd(session, "work")
  expect([end.outcome, house.model.requests.length]).toEqual(["max-turns", requests])
  expect(end.result.finalResponse).toContain("limit of 2 rounds")
  expect((await (await house.app.store()).conversation(session.id)).at(-1)).toMatchObject({
    role: "assistant",
    content: end.result.finalResponse,
  })
})

test("the turn after a limit has a budget of its own", async () => {
  const script = [touch("one"), touch("two"), says("Stopped."), touch("three"), says("Now it is done.")]
  await using house = await assembleApp(script, { config: TWO_ROUNDS })
  const session = await house.open()
  await runToEnd(session, "work")
  const { end } = await runToEnd(session, "continue")
  expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "Now it is done."])
})

test("agent.budget_pressure legacy tells the model how much of its budget is used", async () => {
  await using house = await assembleApp(
    [...Array.from({ length: 9 }, (_, round) => touch(`round-${round}`)), says("Done.")],
    { config: "agent:\n  max_turns: 10\n  budget_pressure: legacy\n" },
  )
  await runToEnd(await house.open(), "work")
  const results = house.model.view(9).messages.flatMap((message) => message.results.map(({ text }) => text))
  const lines = results.map((text) => /\[Budget[^\]]*\]/.exec(text)?.[0] ?? null)
  expect(lines).toEqual([
    ...Array.from({ length: 6 }, () => null),
    "[Budget: 7 of 10 rounds are used, 3 remain. Begin to bring the work to its end.]",
    "[Budget: 8 of 10 rounds are used, 2 remain. Begin to bring the work to its end.]",
    "[Budget, urgent: 9 of 10 rounds are used, 1 remain. Give your answer now.]",
  ])
})

test("a model that never stops calling ends at its limit, with all results in place", async () => {
  let round = 0
  const endless = repeat(() => {
    round += 1
    return reply({ text: `Round ${round}.`, calls: [{ name: "terminal", input: { command: `echo ${round}` } }] })
  })
  await using house = await assembleApp([endless], { config: "agent:\n  max_turns: 5\n" })
  const { end } = await runToEnd(await house.open(), "go on for ever")
  // Five rounds, the grace call, and two attempts at a summary, of which the first gives text.
  expect([end.outcome, end.result.finalResponse, house.model.requests.length]).toEqual(["max-turns", "Round 7.", 7])
  expect(wireProblems(house.model, 6)).toEqual([])
})
