import { open, readFile, rm } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { runProcess } from "../support/process-driver.ts"
import { callsTool, cutsAfter, reply, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd, typesOf } from "./assembled-app.ts"

test("a conversation with a tool call: call, result, reply", async () => {
  await using assembled = await assembleApp(
    [callsTool("read_file", { path: "notes.txt" }, { id: "call_a" }), says("It says hello.")],
    { workFiles: { "notes.txt": "hello\n" } },
  )
  const session = await assembled.open()
  const record = await runToEnd(session, "what do the notes say?")

  expect(record.end.outcome).toBe("completed")
  const { finalResponse, apiCalls, toolCalls, exitReason } = record.end.result
  expect({ finalResponse, apiCalls, toolCalls, exitReason }).toEqual({
    finalResponse: "It says hello.",
    apiCalls: 2,
    toolCalls: 1,
    exitReason: "text_response(finish_reason=stop)",
  })
  expect(typesOf(record, "run-start", "message-end", "tool-start", "tool-end", "run-end")).toEqual([
    "run-start",
    "message-end",
    "tool-start",
    "tool-end",
    "message-end",
    "run-end",
  ])
  const [result] = assembled.model.toolResults(1)
  expect(result?.id).toBe("call_a")
  expect(JSON.parse(result?.text ?? "")).toMatchObject({ content: "1|hello", total_lines: 1 })
  const stored = await (await assembled.app.store()).conversation(session.id)
  expect(stored.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"])
  expect(assembled.model.unanswered).toEqual([])
})

test("ask() returns the final text, or an empty string when there is none", async () => {
  await using assembled = await assembleApp([says("Yes."), says(""), says(""), says("")])
  const session = await assembled.open()
  const { signal } = new AbortController()
  expect(await session.ask("first", { signal })).toBe("Yes.")
  expect(await session.ask("second", { signal })).toBe("")
})

test("reads run in parallel, and results keep the order of the calls", async () => {
  const call = (path: string) => ({ id: `call_${path}`, name: "read_file", input: { path, limit: 1 } })
  await using assembled = await assembleApp([reply({ calls: [call("slow.txt"), call("fast.txt")] }), says("Read.")], {
    workFiles: { "slow.txt": "slow line of text\n".repeat(3_000_000), "fast.txt": "fast\n" },
  })
  const record = await runToEnd(await assembled.open(), "read both")

  expect(assembled.model.toolResults(1).map(({ id, text }) => [id, /1\|(\w+)/.exec(text)?.[1]])).toEqual([
    ["call_slow.txt", "slow"],
    ["call_fast.txt", "fast"],
  ])
  expect(typesOf(record, "tool-start", "tool-end")).toEqual(["tool-start", "tool-start", "tool-end", "tool-end"])
  const ended = record.events.flatMap((event) => (event.type === "tool-end" ? [event] : []))
  expect(ended.map((event) => event.call.id)).toEqual(["call_slow.txt", "call_fast.txt"])
  // Both started at once, so the faster one finished first and waited for its turn in the order.
  expect(ended[1]?.durationMs).toBeLessThan(ended[0]?.durationMs ?? 0)
})

test("commands never run in parallel", async () => {
  await using assembled = await assembleApp([
    reply({
      calls: [
        { name: "terminal", input: { command: "mkdir busy && cat gate && rmdir busy" } },
        { name: "terminal", input: { command: "mkdir busy && rmdir busy && echo alone" } },
      ],
    }),
    says("Done."),
  ])
  await runProcess({ command: "mkfifo", args: ["gate"], cwd: assembled.home.workdir, env: assembled.home.env })
  let opened = false
  const record = await runToEnd(await assembled.open(), "run both", async (event) => {
    if (event.type !== "tool-start" || opened) return
    opened = true
    await writePipe(join(assembled.home.workdir, "gate"), "open\n")
  })
  expect(typesOf(record, "tool-start", "tool-end")).toEqual(["tool-start", "tool-end", "tool-start", "tool-end"])
  expect(assembled.model.toolResults(1).map(({ text }) => JSON.parse(text).output)).toEqual(["open", "alone"])
})

test("a call that is repeated in one reply runs once", async () => {
  const call = { name: "terminal", input: { command: "echo ran >> log.txt" } }
  await using assembled = await assembleApp([
    reply({
      calls: [
        { id: "call_1", ...call },
        { id: "call_2", ...call },
      ],
    }),
    says("Done."),
  ])
  await runToEnd(await assembled.open(), "do it")
  expect(await readFile(join(assembled.home.workdir, "log.txt"), "utf8")).toBe("ran\n")
  expect(assembled.model.toolResults(1).map(({ id }) => id)).toEqual(["call_1"])
})

test("a call of an unknown tool returns the list of tools, and the run continues", async () => {
  await using assembled = await assembleApp([callsTool("launch_rocket", { to: "moon" }), says("I have no rocket.")])
  const record = await runToEnd(await assembled.open(), "fly")
  expect(record.end.result.finalResponse).toBe("I have no rocket.")
  const [result] = assembled.model.toolResults(1)
  expect(result?.text).toContain("Unknown tool: launch_rocket")
  expect(result?.text).toContain("read_file")
})

test.each([
  { name: "a trailing comma", input: '{"path": "a.txt",}', expected: '"content":"1|alpha"' },
  { name: "a missing brace", input: '{"path": "a.txt"', expected: '"content":"1|alpha"' },
  { name: "a number as text", input: '{"path": "a.txt", "limit": "5"}', expected: '"content":"1|alpha"' },
  { name: "a missing field", input: "{}", expected: "path" },
])("arguments with $name are repaired or reported to the model", async ({ input, expected }) => {
  await using assembled = await assembleApp([callsTool("read_file", input), says("Done.")], {
    workFiles: { "a.txt": "alpha\n" },
  })
  const record = await runToEnd(await assembled.open(), "read a.txt")
  expect(record.end.outcome).toBe("completed")
  expect(assembled.model.toolResults(1)[0]?.text).toContain(expected)
  // The arguments in the next request are valid JSON.
  const sent = assembled.model.view(1).messages.flatMap(({ calls }) => calls)
  expect(sent.map((call) => typeof call.input)).toEqual(["object"])
})

test.each([
  {
    name: "after invalid JSON the request is sent twice more, then the error goes to the model",
    input: '{"path" "a.txt"}',
    requests: 4,
  },
  { name: "after truncated JSON the request is sent again", input: '{"path": "a.t', requests: 4 },
])("$name", async ({ input, requests }) => {
  const call = callsTool("read_file", input)
  await using assembled = await assembleApp([call, call, call, says("Done.")])
  const { end } = await runToEnd(await assembled.open(), "read a.txt")
  expect([end.outcome, end.result.finalResponse, assembled.model.requests.length]).toEqual([
    "completed",
    "Done.",
    requests,
  ])
})

test("a call that is cut off never runs, and the request is sent again", async () => {
  const call = callsTool("write_file", { path: "half.txt", content: "x".repeat(400) })
  await using assembled = await assembleApp([{ ...call, ...cutsAfter(900) }, says("I will not write.")])
  const record = await runToEnd(await assembled.open(), "write it")
  expect(record.end.result.finalResponse).toBe("I will not write.")
  expect(record.end.result.toolCalls).toBe(0)
  await expect(readFile(join(assembled.home.workdir, "half.txt"))).rejects.toThrow("ENOENT")
  expect(assembled.model.requests[1]?.rawBody).toBe(assembled.model.requests[0]?.rawBody)
})

test("calls that are always cut off end the run with an error", async () => {
  const cut = { ...callsTool("write_file", { path: "half.txt", content: "x".repeat(400) }), ...cutsAfter(900) }
  await using assembled = await assembleApp([cut, cut, cut])
  const { end } = await runToEnd(await assembled.open(), "write it")
  expect([end.outcome, end.result.error?.code, end.result.toolCalls]).toEqual(["error", "cut_calls", 0])
  await expect(readFile(join(assembled.home.workdir, "half.txt"))).rejects.toThrow("ENOENT")
})

test("empty replies are retried, then reported as an error", async () => {
  await using assembled = await assembleApp([says(""), says("Now."), says(""), says("  "), says(""), says("")])
  const session = await assembled.open()
  expect((await runToEnd(session, "one")).end.result.finalResponse).toBe("Now.")
  const { end } = await runToEnd(session, "two")
  expect([end.outcome, end.result.exitReason, end.result.error?.code]).toEqual([
    "error",
    "empty_response_exhausted",
    "empty_response",
  ])
  expect(assembled.model.requests).toHaveLength(6)
})

test("the iteration limit ends a run without a final reply", async () => {
  const again = (n: number) => callsTool("terminal", { command: `echo ${n} >> log.txt` })
  await using assembled = await assembleApp([again(1), again(2), says("Summary of what I did."), says("Going on.")])
  const session = await assembled.open({ maxIterations: 2 })
  const { end } = await runToEnd(session, "loop")
  expect(end.outcome).toBe("max-turns")
  expect(end.result.exitReason).toMatch(/^max_iterations_reached\(2\/2\)$/)
  expect(end.result.finalResponse).not.toBe("")
  expect(await readFile(join(assembled.home.workdir, "log.txt"), "utf8")).toBe("1\n2\n")
  const next = await runToEnd(session, "continue")
  expect(next.end.outcome).toBe("completed")
})

test("a second run is rejected while one is running, and the first one continues", async () => {
  const gate = Promise.withResolvers<void>()
  await using assembled = await assembleApp([{ ...says("First."), waitsFor: gate.promise }])
  const session = await assembled.open()
  const first = runToEnd(session, "one")
  await assembled.model.received(0)
  await expect(runToEnd(session, "two")).rejects.toThrow(/already running/)
  gate.resolve()
  expect((await first).end.result.finalResponse).toBe("First.")
  expect(assembled.model.requests).toHaveLength(1)
})

test("an oversized result is written to a file that read_file can read", async () => {
  await using assembled = await assembleApp(
    [
      callsTool("terminal", { command: "seq 1 4000" }, { id: "call_oversized_a" }),
      ({ rawBody }) => callsTool("read_file", { path: spillPath(rawBody), offset: 1, limit: 2000 }),
      ({ rawBody }) => callsTool("read_file", { path: spillPath(rawBody), offset: 2001, limit: 2000 }),
      says("Read."),
    ],
    { config: "tool_results:\n  default_chars: 4000\n  preview_chars: 200\n" },
  )
  const record = await runToEnd(await assembled.open(), "count")
  const [kept] = assembled.model.toolResults(1)
  expect(kept?.text).toContain("<persisted-output>")
  expect(kept?.text.length).toBeLessThan(2000)
  const truncated = record.events.flatMap((event) => (event.type === "tool-end" ? [event.truncated] : []))
  expect(truncated).toEqual([true, false, false])
  const read = [2, 3].map((index) => assembled.model.toolResults(index)[0]?.text ?? "").join("")
  const shown = ["17", "1999", "2001", "3999"].map((number) => read.includes(`|${number}`))
  expect(shown).toEqual([true, true, true, true])
  await rm(spillPath(assembled.model.requests[1]?.rawBody ?? ""))
})

test("two sessions with the same call id have separate files for oversized results", async () => {
  const config = "tool_results:\n  default_chars: 1000\n  preview_chars: 100\n"
  const script = (word: string) => [
    callsTool("terminal", { command: `yes ${word} | head -500` }, { id: "call_same" }),
    says("Done."),
  ]
  await using first = await assembleApp(script("first"), { config })
  await using second = await assembleApp(script("second"), { config })
  await runToEnd(await first.open(), "go")
  await runToEnd(await second.open(), "go")
  const kept = await Promise.all(
    [first, second].map(async ({ model }) => {
      const path = spillPath(model.requests[1]?.rawBody ?? "")
      const text = await readFile(path, "utf8")
      await rm(path)
      return [text.includes("first"), text.includes("second")]
    }),
  )
  expect(kept).toEqual([
    [true, false],
    [false, true],
  ])
})

function spillPath(rawBody: string): string {
  const path = /All of it is in (\S+?)\\n/.exec(rawBody)?.[1]
  if (path === undefined) throw new Error("the request contains no path of a file with the complete output")
  return path
}

async function writePipe(path: string, text: string): Promise<void> {
  const pipe = await open(path, "w")
  await pipe.writeFile(text)
  await pipe.close()
}
