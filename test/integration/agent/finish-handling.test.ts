import { existsSync } from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../../support/model-server/server.ts"
import type { ModelServer } from "../../support/model-server/server.ts"
import { callsTool, reply, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import type { AssembledApp } from "../assembled-app.ts"
import { assembleOn, WIRES, wireProblems } from "./on-every-wire.ts"

/** The output limit of each request, from the field of its wire. */
function outputLimits(model: ModelServer): readonly unknown[] {
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

async function storedTexts(assembled: AssembledApp, id: Awaited<ReturnType<AssembledApp["open"]>>["id"]) {
  const messages = await (await assembled.app.store()).conversation(id)
  return messages.map(({ role, content }) => [role, content])
}

describe.each(WIRES)("a reply that reached the output limit on %s", (wire) => {
  test("is continued with a larger limit and becomes one text in the answer and the history", async () => {
    await using assembled = await assembleOn(wire, [says("abc", { finish: "length" }), says("def"), says("Bye.")], {
      config: "  max_tokens: 1000\n",
    })
    const session = await assembled.open()
    const { end } = await runToEnd(session, "tell")
    const { finalResponse, exitReason, apiCalls } = end.result
    expect({ finalResponse, exitReason, apiCalls }).toEqual({
      finalResponse: "abcdef",
      exitReason: "text_response(finish_reason=stop)",
      apiCalls: 2,
    })
    expect(outputLimits(assembled.model)).toEqual([1000, 2000])
    const asked = assembled.model.view(1).messages
    expect(asked.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
    expect([asked[1]?.text, asked[2]?.text.includes("Continue exactly where it stopped")]).toEqual(["abc", true])

    await runToEnd(session, "thanks")
    expect(assembled.model.view(2).messages.map(({ text }) => text)).toEqual(["tell", "abcdef", "thanks"])
    expect(await storedTexts(assembled, session.id)).toEqual([
      ["user", "tell"],
      ["assistant", "abcdef"],
      ["user", "thanks"],
      ["assistant", "Bye."],
    ])
  })

  test("inside a tool call is retried with a larger limit, and the call does not run", async () => {
    const cut = reply({ calls: [{ name: "terminal", input: '{"command": "touch cut' }], finish: "length" })
    await using assembled = await assembleOn(
      wire,
      [cut, callsTool("terminal", { command: "touch whole" }), says("Done.")],
      {
        config: "  max_tokens: 1000\n",
      },
    )
    const { end } = await runToEnd(await assembled.open(), "work")
    expect([end.result.finalResponse, existsSync(join(assembled.home.workdir, "whole"))]).toEqual(["Done.", true])
    expect(existsSync(join(assembled.home.workdir, "cut"))).toBe(false)
    expect(outputLimits(assembled.model)).toEqual([1000, 2000, 1000])
    expect(assembled.model.view(1).messages).toEqual(assembled.model.view(0).messages)
  })
})

test("without a configured limit the continuations request 8192, then 12288, then 16384 tokens", async () => {
  const part = (text: string) => says(text, { finish: "length" })
  await using assembled = await assembleApp([part("a"), part("b"), part("c"), part("d"), says("never")])
  const { end } = await runToEnd(await assembled.open(), "tell")
  expect([end.outcome, end.result.finalResponse, end.result.partial]).toEqual(["completed", "abcd", true])
  expect(outputLimits(assembled.model)).toEqual([4096, 8192, 12_288, 16_384])
  expect(assembled.model.view(3).messages.map(({ text }) => text)[1]).toBe("abc")
})

test("a configured limit is never lowered, and raised limits end at 32768", async () => {
  const part = (text: string) => says(text, { finish: "length" })
  for (const [cap, expected] of [
    [20_000, [20_000, 32_768, 32_768]],
    [50_000, [50_000, 50_000, 50_000]],
  ] as const) {
    await using assembled = await assembleApp([part("a"), part("b"), says("c")], { config: `  max_tokens: ${cap}\n` })
    await runToEnd(await assembled.open(), "tell")
    expect(outputLimits(assembled.model)).toEqual(expected)
  }
})

test("calls that exceed the limit fail after three retries with a larger limit", async () => {
  const cut = reply({ calls: [{ name: "terminal", input: '{"command": "touch c' }], finish: "length" })
  await using assembled = await assembleApp([cut, cut, cut, cut, says("Hi.")])
  const session = await assembled.open()
  const { end } = await runToEnd(session, "work")
  expect([end.outcome, end.result.error?.code, assembled.model.requests.length]).toEqual(["error", "output_limit", 4])
  expect(end.result.error?.message).toContain("model.max_tokens")
  expect(outputLimits(assembled.model)).toEqual([4096, 8192, 12_288, 16_384])
  expect(await storedTexts(assembled, session.id)).toEqual([["user", "work"]])
  await runToEnd(session, "again")
  expect(wireProblems(assembled.model, 4)).toEqual([])
})

test("a reply that used the output limit for reasoning fails with the setting to change", async () => {
  await using assembled = await assembleApp([reply({ reasoning: "Hm, hm.", finish: "length" })])
  const { end } = await runToEnd(await assembled.open(), "think")
  expect([end.outcome, end.result.error?.code, assembled.model.requests.length]).toEqual(["error", "output_limit", 1])
  expect(end.result.error?.message).toContain("agent.reasoning_effort")
})

test("an incomplete reply on Responses is continued, and nothing of it is lost", async () => {
  await using assembled = await assembleOn("codex_responses", [
    reply({ reasoning: "First.", signature: "seal-1", text: "Part one. ", finish: "incomplete" }),
    reply({ reasoning: "Second.", signature: "seal-2", text: "Part two. ", finish: "incomplete" }),
    says("Part three."),
  ])
  const session = await assembled.open()
  const { end } = await runToEnd(session, "tell")
  expect([end.outcome, assembled.model.requests.length]).toEqual(["completed", 3])
  expect(assembled.model.requests[1]?.rawBody).toContain("Part one.")
  expect(assembled.model.requests[2]?.rawBody).toContain("Part one.")
  expect(assembled.model.requests[2]?.rawBody).toContain("Part two.")
  expect(assembled.model.view(2).messages.filter(({ role }) => role === "user")).toHaveLength(1)
  expect(end.result.finalResponse).toBe("Part one. \n\nPart two. \n\nPart three.")
})

test("a reply on Responses that stays incomplete ends the turn after three requests", async () => {
  const part = says("Still at it.", { finish: "incomplete" })
  await using assembled = await assembleOn("codex_responses", [part, part, part, says("never")])
  const { end } = await runToEnd(await assembled.open(), "tell")
  expect([assembled.model.requests.length, end.result.finalResponse]).toEqual([3, "Still at it."])
})

test("a model on Responses that only announces its work is prompted to start, at most twice", async () => {
  const announces = says("I'll look at the files in this repository first.")
  const script = [announces, announces, announces, says("never")]
  await using assembled = await assembleOn("codex_responses", script)
  const session = await assembled.open()
  const { end } = await runToEnd(session, "what is in here?")
  expect([assembled.model.requests.length, end.result.finalResponse]).toEqual([3, announces.text])
  expect(assembled.model.view(1).messages.at(-1)?.text).toContain("Do it now")
  expect(await storedTexts(assembled, session.id)).toEqual([
    ["user", "what is in here?"],
    ["assistant", announces.text],
  ])
})

test("a reply of reasoning only is continued; the text that follows is the answer", async () => {
  const thinks = reply({ reasoning: "Let me see." })
  await using assembled = await assembleApp([thinks, thinks, says("Blue.")])
  const session = await assembled.open()
  const { end } = await runToEnd(session, "which colour?")
  expect([end.outcome, end.result.finalResponse, assembled.model.requests.length]).toEqual(["completed", "Blue.", 3])
  expect(await storedTexts(assembled, session.id)).toEqual([
    ["user", "which colour?"],
    ["assistant", "Blue."],
  ])
})

describe.each(WIRES)("a model that has nothing to say about its results, on %s", (wire) => {
  test("is asked once for an answer, and that request is not stored", async () => {
    const script = [callsTool("terminal", { command: "echo hi" }), says(""), says("It said hi."), says("Bye.")]
    await using assembled = await assembleOn(wire, script)
    const session = await assembled.open()
    const { end } = await runToEnd(session, "run it")
    expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "It said hi."])
    const nudged = assembled.model.view(2).messages
    expect(nudged.at(-1)?.text).toContain("Answer the user from them now")
    await runToEnd(session, "thanks")
    const later = assembled.model.requests[3]?.rawBody ?? ""
    expect([later.includes("(empty)"), later.includes("Answer the user from them now")]).toEqual([false, false])
    expect(wireProblems(assembled.model, 3)).toEqual([])
  })
})

test.each([
  { tool: "todo", input: { todos: [{ id: "1", content: "paint", status: "completed" }] } },
  { tool: "memory", input: { action: "add", content: "The door is blue." } },
  { tool: "session_search", input: { query: "door" } },
])("text with a call of only $tool is the answer when an empty reply follows", async ({ tool, input }) => {
  const script = [reply({ text: "Done: the door is blue.", calls: [{ name: tool, input }] }), says(""), says("Hi.")]
  await using assembled = await assembleApp(script)
  const session = await assembled.open()
  const { end } = await runToEnd(session, "paint the door")
  expect([end.outcome, end.result.finalResponse, end.result.exitReason]).toEqual([
    "completed",
    "Done: the door is blue.",
    "fallback_prior_turn_content",
  ])
  await runToEnd(session, "thanks")
  expect(wireProblems(assembled.model, 2)).toEqual([])
})

test("text with a call of another tool is not the answer", async () => {
  const script = [
    reply({ text: "Working.", calls: [{ name: "terminal", input: { command: "echo hi" } }] }),
    says(""),
    says("It said hi."),
  ]
  await using assembled = await assembleApp(script)
  expect((await runToEnd(await assembled.open(), "go")).end.result.finalResponse).toBe("It said hi.")
})

test("unknown tools three times in one turn: the turn ends, and every call has a result", async () => {
  const call = (name: string) =>
    reply({
      calls: [
        { name, input: {} },
        { name: "terminal", input: { command: `touch ${name}` } },
      ],
    })
  await using assembled = await assembleApp([call("fly_1"), call("fly_2"), call("fly_3"), says("Hi.")])
  const session = await assembled.open()
  const { end, events } = await runToEnd(session, "fly")
  expect([end.outcome, end.result.error?.code, assembled.model.requests.length]).toEqual(["error", "unknown_tools", 3])
  const outcomes = events.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : []))
  expect(outcomes.join(" ")).toBe("error skipped error skipped error skipped")
  expect(existsSync(join(assembled.home.workdir, "fly_1"))).toBe(false)
  await runToEnd(session, "stay here then")
  expect(wireProblems(assembled.model, 3)).toEqual([])
})

describe("a reply that the provider's content filter stopped", () => {
  test("is requested from the fallback model", async () => {
    await using other = await startModelServer([says("Of course.")])
    await using assembled = await assembleApp([says("I can", { finish: "content_filter" }), says("Back again.")], {
      config: `fallback_providers:\n  - provider: custom\n    model: second\n    base_url: ${other.url}/v1\n`,
    })
    const session = await assembled.open()
    const { end, events } = await runToEnd(session, "tell")
    expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "Of course."])
    expect(events.filter((event) => event.type === "status" && event.kind === "fallback")).toHaveLength(1)
    expect(other.view(0).messages.map(({ text }) => text)).toEqual(["tell"])
    await runToEnd(session, "and now?")
    expect(assembled.model.view(1).messages.map(({ text }) => text)).toEqual(["tell", "Of course.", "and now?"])
  })

  test.each(WIRES)("ends the turn where there is no other model (%s)", async (wire) => {
    await using assembled = await assembleOn(wire, [reply({ refusal: "I cannot help with that." }), says("Hi.")])
    const session = await assembled.open()
    const { end } = await runToEnd(session, "tell")
    expect([end.outcome, end.result.finalResponse, end.result.error?.reason]).toEqual([
      "error",
      null,
      "content_policy_blocked",
    ])
    expect(end.result.error?.message).toMatch(/^content_policy_blocked:/)
    await runToEnd(session, "something else")
    expect(wireProblems(assembled.model, 1)).toEqual([])
  })
})

test("an unclosed scratchpad is not an answer and is retried", async () => {
  const open = says("<REASONING_SCRATCHPAD>\nfirst I")
  await using assembled = await assembleApp([open, open, says("Blue.")])
  const { end, events } = await runToEnd(await assembled.open(), "colour?")
  expect(end.result.finalResponse).toBe("Blue.")
  expect(events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")).toBe("Blue.")
})
