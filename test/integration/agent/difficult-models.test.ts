import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../../support/model-server/server.ts"
import { callsTool, emptyStream, repeat, reply, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { assembleOn, WIRES, wireProblems } from "./on-every-wire.ts"

const FAILING = { command: "echo tried >> tries.log; exit 3" }

describe.each(WIRES)("on %s", (wire) => {
  test("a model that sends only empty replies: the turn ends, and the next one is valid", async () => {
    await using assembled = await assembleOn(wire, [says(""), says(""), says(""), says(""), says("Hello.")])
    const session = await assembled.open()
    const { end } = await runToEnd(session, "hello?")
    expect({ outcome: end.outcome, exit: end.result.exitReason, error: end.result.error }).toEqual({
      outcome: "error",
      exit: "empty_response_exhausted",
      error: {
        code: "empty_response",
        reason: "unknown",
        message: expect.stringMatching(
          /^\S+ \(\w+\) sent several empty replies in a row; try again, or choose another model \(\/model NAME, or -m NAME\)$/,
        ) as string,
        retryable: true,
      },
    })
    expect(assembled.model.requests).toHaveLength(4)
    const next = await runToEnd(session, "still there?")
    expect([next.end.result.finalResponse, wireProblems(assembled.model, 4)]).toEqual(["Hello.", []])
  })

  test("a model that sends only reasoning: the reply is continued, then the turn ends", async () => {
    await using assembled = await assembleOn(wire, [repeat(reply({ reasoning: "Hm." }))])
    const { end } = await runToEnd(await assembled.open(), "hello?")
    expect([end.outcome, end.result.exitReason]).toEqual(["error", "empty_response_exhausted"])
    expect(assembled.model.requests.length).toBeLessThanOrEqual(8)
    for (const index of assembled.model.requests.keys())
      expect([index, wireProblems(assembled.model, index)]).toEqual([index, []])
  })
})

test("a model that sends empty replies is replaced by the fallback model for this turn", async () => {
  await using other = await startModelServer([says("Here I am.")])
  await using assembled = await assembleApp([says(""), says(""), says(""), says(""), says("Back.")], {
    config: `fallback_providers:\n  - provider: custom\n    model: second\n    base_url: ${other.url}/v1\n`,
  })
  const session = await assembled.open()
  expect((await runToEnd(session, "hello?")).end.result.finalResponse).toBe("Here I am.")
  expect((await runToEnd(session, "and now?")).end.result.finalResponse).toBe("Back.")
})

test("streams that end without content are reported as a server failure", async () => {
  await using assembled = await assembleApp([repeat(emptyStream())], {
    clock: { now: () => Date.now(), sleep: () => Promise.resolve() },
  })
  const { end } = await runToEnd(await assembled.open(), "hello?")
  expect([end.outcome, end.result.finalResponse]).toEqual(["error", null])
  expect(assembled.model.requests.length).toBeLessThanOrEqual(8)
})

describe("the same failing call forever", () => {
  const stubborn = repeat(callsTool("terminal", FAILING))

  test("attended: it is run, and each result from the second on carries a warning", async () => {
    await using assembled = await assembleApp([stubborn], { config: "agent:\n  max_turns: 4\n" })
    const { end } = await runToEnd(await assembled.open(), "go")
    expect(end.outcome).toBe("max-turns")
    const results = assembled.model.view(4).messages.flatMap((message) => message.results.map(({ text }) => text))
    expect(results.map((text) => /count=(\d+)/.exec(text)?.[1] ?? null)).toEqual([null, "2", "3", "4"])
    expect(await readFile(join(assembled.home.workdir, "tries.log"), "utf8")).toBe("tried\n".repeat(4))
  })

  test("unattended: the third one is not run, and the turn ends with the reason", async () => {
    await using assembled = await assembleApp([stubborn])
    const session = await assembled.open({ attended: false })
    const { end, events } = await runToEnd(session, "go")
    expect([end.outcome, end.result.exitReason, end.result.error?.code]).toEqual([
      "error",
      "guardrail_halt",
      "guardrail_halt",
    ])
    expect(await readFile(join(assembled.home.workdir, "tries.log"), "utf8")).toBe("tried\n".repeat(2))
    expect(events.flatMap((event) => (event.type === "tool-end" ? [event.outcome] : []))).toEqual([
      "ok",
      "ok",
      "blocked",
    ])
    expect(end.result.finalResponse).toContain("was not run again")
    expect((await (await assembled.app.store()).conversation(session.id)).at(-1)).toMatchObject({ role: "assistant" })
  })

  test("the count starts again with the next turn", async () => {
    const call = callsTool("terminal", FAILING)
    await using assembled = await assembleApp([call, call, says("It fails."), call, call, says("It still fails.")])
    const session = await assembled.open({ attended: false })
    await runToEnd(session, "go")
    const { end } = await runToEnd(session, "again")
    expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "It still fails."])
  })

  test("hard stops in the settings end an attended turn too", async () => {
    await using assembled = await assembleApp([stubborn], {
      config: "tool_loop_guardrails:\n  hard_stop_enabled: true\n  hard_stop_after:\n    exact_failure: 3\n",
    })
    const { end } = await runToEnd(await assembled.open(), "go")
    expect([end.result.exitReason, assembled.model.requests.length]).toEqual(["guardrail_halt", 4])
  })
})

test("the same successful search forever gets a no-progress warning", async () => {
  const search = callsTool("search_files", { pattern: "A" })
  await using assembled = await assembleApp([search, search, says("It says A.")], { workFiles: { "a.txt": "A\n" } })
  await runToEnd(await assembled.open(), "search")
  const results = assembled.model.view(2).messages.flatMap((message) => message.results.map(({ text }) => text))
  expect(results.map((text) => text.includes("idempotent_no_progress_warning"))).toEqual([false, true])
})

test("the same read forever is answered once, then reported as unchanged, then blocked", async () => {
  const read = callsTool("read_file", { path: "a.txt" })
  await using assembled = await assembleApp([read, read, read, says("It says A.")], { workFiles: { "a.txt": "A\n" } })
  await runToEnd(await assembled.open(), "read")
  const results = assembled.model.view(3).messages.flatMap((message) => message.results.map(({ text }) => text))
  expect(results.map((text) => /1\|A|"status":"unchanged"|BLOCKED:/.exec(text)?.[0])).toEqual([
    "1|A",
    '"status":"unchanged"',
    "BLOCKED:",
  ])
})

const PRINTS = callsTool("terminal", { command: "seq -f 'line %.0f of a very long output' 0 300000" })

test("a gigantic output is truncated before it reaches the model, with a note", async () => {
  await using assembled = await assembleApp([PRINTS, says("Long.")], { config: "  context_length: 200000\n" })
  const { end } = await runToEnd(await assembled.open(), "print")
  expect(end.outcome).toBe("completed")
  const text = assembled.model.toolResults(1)[0]?.text ?? ""
  expect(text.length).toBeLessThan(110_000)
  for (const part of ["line 0 of", "line 300000 of", "characters left out"]) expect(text).toContain(part)
})

test("in a small window a long result is shortened further and names the file with the full text", async () => {
  await using assembled = await assembleApp([{ ...PRINTS, usage: { input: 3000 } }, says("Long.")], {
    config: "  context_length: 16000\n",
  })
  const { end } = await runToEnd(await assembled.open(), "print")
  expect(end.outcome).toBe("completed")
  expect((assembled.model.requests[1]?.rawBody.length ?? 0) / 4).toBeLessThan(16_000)
  const text = assembled.model.toolResults(1)[0]?.text ?? ""
  const path = /All of it is in (\S+\.txt)/.exec(text)?.[1] ?? ""
  expect(await readFile(path, "utf8")).toContain("line 300000 of a very long output")
})

test("five gigantic results of one reply share one limit", async () => {
  const files = Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`${n}.txt`, `${n} ${"x".repeat(78)}\n`.repeat(1000)]))
  const calls = Object.keys(files).map((path) => ({ name: "read_file", input: { path, limit: 2000 } }))
  await using assembled = await assembleApp([reply({ calls }), says("Read.")], {
    workFiles: files,
    config: "tool_results:\n  turn_chars: 100000\n",
  })
  await runToEnd(await assembled.open(), "read all")
  const texts = assembled.model.toolResults(1).map(({ text }) => text)
  expect(texts).toHaveLength(5)
  expect(texts.reduce((sum, text) => sum + text.length, 0)).toBeLessThanOrEqual(100_000)
  const kept = texts.filter((text) => text.includes("<persisted-output>"))
  expect(kept.length).toBeGreaterThan(0)
})
