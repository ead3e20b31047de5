import { existsSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../../support/model-server/server.ts"
import type { ModelServer } from "../../support/model-server/server.ts"
import { callsTool, reply, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { assembleOn, WIRES, wireProblems } from "./on-every-wire.ts"

/** The cap on the output of each request, in the words of its wire. */
function outputCaps(model: ModelServer): readonly unknown[] {
  return model.requests.map(({ body }) => {
    const fields = body as Record<string, unknown> & {
      readonly inferenceConfig?: { readonly maxTokens?: number }
      readonly generationConfig?: { readonly maxOutputTokens?: number }
    }
    return (
      fields["max_tokens"] ??
      fields["max_completion_tokens"] ??
      fields["max_output_tokens"] ??
      fields.inferenceConfig?.maxTokens ??
      fields.generationConfig?.maxOutputTokens
    )
  })
}

async function storedTexts(house: AssembledApp, id: Awaited<ReturnType<AssembledApp["open"]>>["id"]) {
  const messages = await (await house.app.store()).conversation(id)
  return messages.map(({ role, content }) => [role, content])
}

describe.each(WIRES)("a reply that reached the output limit on %s", (wire) => {
  test("is continued with more room; the person and the history get one text", async () => {
    await using house = await assembleOn(wire, [says("abc", { finish: "length" }), says("def"), says("Bye.")], {
      config: "  max_tokens: 1000\n",
    })
    const session = await house.open()
    const { end } = await runToEnd(session, "tell")
    const { finalResponse, exitReason, apiCalls } = end.result
    expect({ finalResponse, exitReason, apiCalls }).toEqual({
      finalResponse: "abcdef",
      exitReason: "text_response(finish_reason=stop)",
      apiCalls: 2,
    })
    expect(outputCaps(house.model)).toEqual([1000, 2000])
    const asked = house.model.view(1).messages
    expect(asked.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
    expect([asked[1]?.text, asked[2]?.text.includes("Continue exactly where it stopped")]).toEqual(["abc", true])

    await runToEnd(session, "thanks")
    expect(house.model.view(2).messages.map(({ text }) => text)).toEqual(["tell", "abcdef", "thanks"])
    expect(await storedTexts(house, session.id)).toEqual([
      ["user", "tell"],
      ["assistant", "abcdef"],
      ["user", "thanks"],
      ["assistant", "Bye."],
    ])
  })

  test("inside a tool call is asked for again with more room, and nothing of it runs", async () => {
    const cut = reply({ calls: [{ name: "terminal", input: '{"command": "touch cut' }], finish: "length" })
    await using house = await assembleOn(
      wire,
      [cut, callsTool("terminal", { command: "touch whole" }), says("Done.")],
      {
        config: "  max_tokens: 1000\n",
      },
    )
    const { end } = await runToEnd(await house.open(), "work")
    expect([end.result.finalResponse, existsSync(join(house.home.workdir, "whole"))]).toEqual(["Done.", true])
    expect(existsSync(join(house.home.workdir, "cut"))).toBe(false)
    expect(outputCaps(house.model)).toEqual([1000, 2000, 1000])
    expect(house.model.view(1).messages).toEqual(house.model.view(0).messages)
  })
})

test("without a cap in the settings a continuation asks for 8192, then 12288, then 16384 tokens", async () => {
  const part = (text: string) => says(text, { finish: "length" })
  await using house = await assembleApp([part("a"), part("b"), part("c"), part("d"), says("never")])
  const { end } = await runToEnd(await house.open(), "tell")
  expect([end.outcome, end.result.finalResponse, end.result.partial]).toEqual(["completed", "abcd", true])
  expect(outputCaps(house.model)).toEqual([4096, 8192, 12_288, 16_384])
  expect(house.model.view(3).messages.map(({ text }) => text)[1]).toBe("abc")
})

test("a cap that the settings name is never lowered, and others end at 32768", async () => {
  const part = (text: string) => says(text, { finish: "length" })
  for (const [cap, expected] of [
    [20_000, [20_000, 32_768, 32_768]],
    [50_000, [50_000, 50_000, 50_000]],
  ] as const) {
    await using house = await assembleApp([part("a"), part("b"), says("c")], { config: `  max_tokens: ${cap}\n` })
    await runToEnd(await house.open(), "tell")
    expect(outputCaps(house.model)).toEqual(expected)
  }
})

test("calls that stay longer than the limit are given up after three attempts with more room", async () => {
  const cut = reply({ calls: [{ name: "terminal", input: '{"command": "touch c' }], finish: "length" })
  await using house = await assembleApp([cut, cut, cut, cut, says("Hi.")])
  const session = await house.open()
  const { end } = await runToEnd(session, "work")
  expect([end.outcome, end.result.error?.code, house.model.requests.length]).toEqual(["error", "output_limit", 4])
  expect(end.result.error?.message).toContain("model.max_tokens")
  expect(outputCaps(house.model)).toEqual([4096, 8192, 12_288, 16_384])
  expect(await storedTexts(house, session.id)).toEqual([["user", "work"]])
  await runToEnd(session, "again")
  expect(wireProblems(house.model, 4)).toEqual([])
})

test("an output limit that was used up by thinking tells what to change", async () => {
  await using house = await assembleApp([reply({ reasoning: "Hm, hm.", finish: "length" })])
  const { end } = await runToEnd(await house.open(), "think")
  expect([end.outcome, end.result.error?.code, house.model.requests.length]).toEqual(["error", "output_limit", 1])
  expect(end.result.error?.message).toContain("agent.reasoning_effort")
})

test("an unfinished reply on Responses is continued behind what it said, and nothing of it is lost", async () => {
  await using house = await assembleOn("codex_responses", [
    reply({ reasoning: "First.", signature: "seal-1", text: "Part one. ", finish: "incomplete" }),
    reply({ reasoning: "Second.", signature: "seal-2", text: "Part two. ", finish: "incomplete" }),
    says("Part three."),
  ])
  const session = await house.open()
  const { end } = await runToEnd(session, "tell")
  expect([end.outcome, house.model.requests.length]).toEqual(["completed", 3])
  expect(house.model.requests[1]?.rawBody).toContain("Part one.")
  expect(house.model.requests[2]?.rawBody).toContain("Part one.")
  expect(house.model.requests[2]?.rawBody).toContain("Part two.")
  expect(end.result.finalResponse).toContain("Part three.")
})

test("a reply on Responses that stays unfinished ends the turn after three requests", async () => {
  const part = says("Still at it.", { finish: "incomplete" })
  await using house = await assembleOn("codex_responses", [part, part, part, says("never")])
  const { end } = await runToEnd(await house.open(), "tell")
  expect([house.model.requests.length, end.result.finalResponse]).toEqual([3, "Still at it."])
})

test("a model on Responses that only announces its work is told to do it, at most twice", async () => {
  const announces = says("I'll look at the files in this repository first.")
  const script = [announces, announces, announces, says("never")]
  await using house = await assembleOn("codex_responses", script)
  const session = await house.open()
  const { end } = await runToEnd(session, "what is in here?")
  expect([house.model.requests.length, end.result.finalResponse]).toEqual([3, announces.text])
  expect(house.model.view(1).messages.at(-1)?.text).toContain("Do it now")
  expect(await storedTexts(house, session.id)).toEqual([
    ["user", "what is in here?"],
    ["assistant", announces.text],
  ])
})

test("thoughts without words are continued; the words that follow are the answer", async () => {
  const thinks = reply({ reasoning: "Let me see." })
  await using house = await assembleApp([thinks, thinks, says("Blue.")])
  const session = await house.open()
  const { end } = await runToEnd(session, "which colour?")
  expect([end.outcome, end.result.finalResponse, house.model.requests.length]).toEqual(["completed", "Blue.", 3])
  expect(await storedTexts(house, session.id)).toEqual([
    ["user", "which colour?"],
    ["assistant", "Blue."],
  ])
})

describe.each(WIRES)("a model that has nothing to say about its results, on %s", (wire) => {
  test("is asked once for an answer, and nobody reads that", async () => {
    const script = [callsTool("terminal", { command: "echo hi" }), says(""), says("It said hi."), says("Bye.")]
    await using house = await assembleOn(wire, script)
    const session = await house.open()
    const { end } = await runToEnd(session, "run it")
    expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "It said hi."])
    const nudged = house.model.view(2).messages
    expect(nudged.at(-1)?.text).toContain("Answer the person from them now")
    await runToEnd(session, "thanks")
    const later = house.model.requests[3]?.rawBody ?? ""
    expect([later.includes("(empty)"), later.includes("Answer the person from them now")]).toEqual([false, false])
    expect(wireProblems(house.model, 3)).toEqual([])
  })
})

test.each([
  { tool: "todo", input: { todos: [{ id: "1", content: "paint", status: "completed" }] } },
  { tool: "memory", input: { action: "add", content: "The door is blue." } },
  { tool: "session_search", input: { query: "door" } },
])("text beside only $tool is the answer when nothing follows", async ({ tool, input }) => {
  const script = [reply({ text: "Done: the door is blue.", calls: [{ name: tool, input }] }), says(""), says("Hi.")]
  await using house = await assembleApp(script)
  const session = await house.open()
  const { end } = await runToEnd(session, "paint the door")
  expect([end.outcome, end.result.finalResponse, end.result.exitReason]).toEqual([
    "completed",
    "Done: the door is blue.",
    "fallback_prior_turn_content",
  ])
  await runToEnd(session, "thanks")
  expect(wireProblems(house.model, 2)).toEqual([])
})

test("text beside a tool that does work is no answer", async () => {
  const script = [
    reply({ text: "Working.", calls: [{ name: "terminal", input: { command: "echo hi" } }] }),
    says(""),
    says("It said hi."),
  ]
  await using house = await assembleApp(script)
  expect((await runToEnd(await house.open(), "go")).end.result.finalResponse).toBe("It said hi.")
})

test("tools that do not exist, three times in one turn: the turn ends, and no call is left open", async () => {
  const call = (name: string) =>
    reply({
      calls: [
        { name, input: {} },
        { name: "terminal", input: { command: `touch ${name}` } },
      ],
    })
  await using house = await assembleApp([call("fly_1"), call("fly_2"), call("fly_3"), says("Hi.")])
  const session = await house.open()
  const { end, events } = await runToEnd(session, "fly")
  expect([end.outcome, end.result.error?.code, house.model.requests.length]).toEqual(["error", "unknown_tools", 3])
  const outcomes = events.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : []))
  expect(outcomes.join(" ")).toBe("error skipped error skipped error skipped")
  expect(existsSync(join(house.home.workdir, "fly_1"))).toBe(false)
  await runToEnd(session, "stay here then")
  expect(wireProblems(house.model, 3)).toEqual([])
})

describe("a reply that the provider's filter stopped", () => {
  test("is asked of the next model", async () => {
    await using other = await startModelServer([says("Of course.")])
    await using house = await assembleApp([says("I can", { finish: "content_filter" }), says("Back again.")], {
      config: `fallback_providers:\n  - provider: custom\n    model: second\n    base_url: ${other.url}/v1\n`,
    })
    const session = await house.open()
    const { end, events } = await runToEnd(session, "tell")
    expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "Of course."])
    expect(events.filter((event) => event.type === "status" && event.kind === "fallback")).toHaveLength(1)
    expect(other.view(0).messages.map(({ text }) => text)).toEqual(["tell"])
    await runToEnd(session, "and now?")
    expect(house.model.view(1).messages.map(({ text }) => text)).toEqual(["tell", "Of course.", "and now?"])
  })

  test.each(WIRES)("ends the turn where there is no other model (%s)", async (wire) => {
    await using house = await assembleOn(wire, [reply({ refusal: "I cannot help with that." }), says("Hi.")])
    const session = await house.open()
    const { end } = await runToEnd(session, "tell")
    expect([end.outcome, end.result.finalResponse, end.result.error?.reason]).toEqual([
      "error",
      null,
      "content_policy_blocked",
    ])
    expect(end.result.error?.message).toMatch(/^content_policy_blocked:/)
    await runToEnd(session, "something else")
    expect(wireProblems(house.model, 1)).toEqual([])
  })
})

test("a thought that was never closed is nobody's answer and is asked for again", async () => {
  const open = says("<REASONING_SCRATCHPAD>\nfirst I")
  await using house = await assembleApp([open, open, says("Blue.")])
  const { end, events } = await runToEnd(await house.open(), "colour?")
  expect(end.result.finalResponse).toBe("Blue.")
  expect(events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")).toBe("Blue.")
})
