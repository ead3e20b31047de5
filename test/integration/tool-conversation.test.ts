import { open, readFile, rm } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { runProcess } from "../support/process-driver.ts"
import { callsTool, cutsAfter, reply, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd, typesOf } from "./assembled-app.ts"

test("a tool conversation goes round: call, result, answer", async () => {
  await using house = await assembleApp(
    [callsTool("read_file", { path: "notes.txt" }, { id: "call_a" }), says("It says hello.")],
    { workFiles: { "notes.txt": "hello\n" } },
  )
  const session = await house.open()
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
  const [result] = house.model.toolResults(1)
  expect(result?.id).toBe("call_a")
  expect(JSON.parse(result?.text ?? "")).toMatchObject({ content: "1|hello", total_lines: 1 })
  const stored = await (await house.app.store()).conversation(session.id)
  expect(stored.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"])
  expect(house.model.unanswered).toEqual([])
})

test("the answer of ask() is the final text, and empty when there is none", async () => {
  await using house = await assembleApp([says("Yes."), says(""), says(""), says("")])
  const session = await house.open()
  const { signal } = new AbortController()
  expect(await session.ask("first", { signal })).toBe("Yes.")
  expect(await session.ask("second", { signal })).toBe("")
})

test("reads overlap, and results keep the order of the calls when the last one finishes first", async () => {
  const call = (path: string) => ({ id: `call_${path}`, name: "read_file", input: { path, limit: 1 } })
  await using house = await assembleApp([reply({ calls: [call("slow.txt"), call("fast.txt")] }), says("Read.")], {
    workFiles: { "slow.txt": "slow line of text\n".repeat(3_000_000), "fast.txt": "fast\n" },
  })
  const record = await runToEnd(await house.open(), "read both")

  expect(house.model.toolResults(1).map(({ id, text }) => [id, /1\|(\w+)/.exec(text)?.[1]])).toEqual([
    ["call_slow.txt", "slow"],
    ["call_fast.txt", "fast"],
  ])
  expect(typesOf(record, "tool-start", "tool-end")).toEqual(["tool-start", "tool-start", "tool-end", "tool-end"])
  const ended = record.events.flatMap((event) => (event.type === "tool-end" ? [event] : []))
  expect(ended.map((event) => event.call.id)).toEqual(["call_slow.txt", "call_fast.txt"])
  // Both began at once, so the shorter one was there first and waited for its place.
  expect(ended[1]?.durationMs).toBeLessThan(ended[0]?.durationMs ?? 0)
})

test("commands never run beside each other", async () => {
  await using house = await assembleApp([
    reply({
      calls: [
        { name: "terminal", input: { command: "mkdir busy && cat gate && rmdir busy" } },
        { name: "terminal", input: { command: "mkdir busy && rmdir busy && echo alone" } },
      ],
    }),
    says("Done."),
  ])
  await runProcess({ command: "mkfifo", args: ["gate"], cwd: house.home.workdir, env: house.home.env })
  let opened = false
  const record = await runToEnd(await house.open(), "run both", async (event) => {
    if (event.type !== "tool-start" || opened) return
    opened = true
    await writePipe(join(house.home.workdir, "gate"), "open\n")
  })
  expect(typesOf(record, "tool-start", "tool-end")).toEqual(["tool-start", "tool-end", "tool-start", "tool-end"])
  expect(house.model.toolResults(1).map(({ text }) => JSON.parse(text).output)).toEqual(["open", "alone"])
})

test("the same call twice in one reply is done once", async () => {
  const call = { name: "terminal", input: { command: "echo ran >> log.txt" } }
  await using house = await assembleApp([
    reply({
      calls: [
        { id: "call_1", ...call },
        { id: "call_2", ...call },
      ],
    }),
    says("Done."),
  ])
  await runToEnd(await house.open(), "do it")
  expect(await readFile(join(house.home.workdir, "log.txt"), "utf8")).toBe("ran\n")
  expect(house.model.toolResults(1).map(({ id }) => id)).toEqual(["call_1"])
})

test("an unknown tool is answered with the tools there are, and the run goes on", async () => {
  await using house = await assembleApp([callsTool("launch_rocket", { to: "moon" }), says("I have no rocket.")])
  const record = await runToEnd(await house.open(), "fly")
  expect(record.end.result.finalResponse).toBe("I have no rocket.")
  const [result] = house.model.toolResults(1)
  expect(result?.text).toContain("Unknown tool: launch_rocket")
  expect(result?.text).toContain("read_file")
})

test.each([
  { name: "a trailing comma", input: '{"path": "a.txt",}', expected: '"content":"1|alpha"' },
  { name: "a missing brace", input: '{"path": "a.txt"', expected: '"content":"1|alpha"' },
  { name: "a number as text", input: '{"path": "a.txt", "limit": "5"}', expected: '"content":"1|alpha"' },
  { name: "a missing field", input: "{}", expected: "path" },
])("arguments with $name are repaired or answered", async ({ input, expected }) => {
  await using house = await assembleApp([callsTool("read_file", input), says("Done.")], {
    workFiles: { "a.txt": "alpha\n" },
  })
  const record = await runToEnd(await house.open(), "read a.txt")
  expect(record.end.outcome).toBe("completed")
  expect(house.model.toolResults(1)[0]?.text).toContain(expected)
  // Whatever the model wrote, what goes back to it parses.
  const sent = house.model.view(1).messages.flatMap(({ calls }) => calls)
  expect(sent.map((call) => typeof call.input)).toEqual(["object"])
})

test.each([
  { name: "broken JSON is asked for twice more, then answered", input: '{"path" "a.txt"}', requests: 4 },
  { name: "JSON that ends in the middle is asked for again", input: '{"path": "a.t', requests: 4 },
])("$name", async ({ input, requests }) => {
  const call = callsTool("read_file", input)
  await using house = await assembleApp([call, call, call, says("Done.")])
  const { end } = await runToEnd(await house.open(), "read a.txt")
  expect([end.outcome, end.result.finalResponse, house.model.requests.length]).toEqual(["completed", "Done.", requests])
})

test("a call that was cut on the way never runs; the request is made again", async () => {
  const call = callsTool("write_file", { path: "half.txt", content: "x".repeat(400) })
  await using house = await assembleApp([{ ...call, ...cutsAfter(900) }, says("I will not write.")])
  const record = await runToEnd(await house.open(), "write it")
  expect(record.end.result.finalResponse).toBe("I will not write.")
  expect(record.end.result.toolCalls).toBe(0)
  await expect(readFile(join(house.home.workdir, "half.txt"))).rejects.toThrow("ENOENT")
  expect(house.model.requests[1]?.rawBody).toBe(house.model.requests[0]?.rawBody)
})

test("calls that are cut every time end the run with an error", async () => {
  const cut = { ...callsTool("write_file", { path: "half.txt", content: "x".repeat(400) }), ...cutsAfter(900) }
  await using house = await assembleApp([cut, cut, cut])
  const { end } = await runToEnd(await house.open(), "write it")
  expect([end.outcome, end.result.error?.code, end.result.toolCalls]).toEqual(["error", "cut_calls", 0])
  await expect(readFile(join(house.home.workdir, "half.txt"))).rejects.toThrow("ENOENT")
})

test("empty replies are asked for again, then told", async () => {
  await using house = await assembleApp([says(""), says("Now."), says(""), says("  "), says(""), says("")])
  const session = await house.open()
  expect((await runToEnd(session, "one")).end.result.finalResponse).toBe("Now.")
  const { end } = await runToEnd(session, "two")
  expect([end.outcome, end.result.exitReason, end.result.error?.code]).toEqual([
    "error",
    "empty_response_exhausted",
    "empty_response",
  ])
  expect(house.model.requests).toHaveLength(6)
})

test("the iteration limit ends a run that never answers", async () => {
  const again = (n: number) => callsTool("terminal", { command: `echo ${n} >> log.txt` })
  await using house = await assembleApp([again(1), again(2), says("Summary of what I did."), says("Going on.")])
  const session = await house.open({ maxIterations: 2 })
  const { end } = await runToEnd(session, "loop")
  expect(end.outcome).toBe("max-turns")
  expect(end.result.exitReason).toMatch(/^max_iterations_reached\(2\/2\)$/)
  expect(end.result.finalResponse).not.toBe("")
  expect(await readFile(join(house.home.workdir, "log.txt"), "utf8")).toBe("1\n2\n")
  const next = await runToEnd(session, "continue")
  expect(next.end.outcome).toBe("completed")
})

test("a second run while one is busy is refused and the first goes on", async () => {
  const gate = Promise.withResolvers<void>()
  await using house = await assembleApp([{ ...says("First."), waitsFor: gate.promise }])
  const session = await house.open()
  const first = runToEnd(session, "one")
  await house.model.received(0)
  await expect(runToEnd(session, "two")).rejects.toThrow(/answering already/)
  gate.resolve()
  expect((await first).end.result.finalResponse).toBe("First.")
  expect(house.model.requests).toHaveLength(1)
})

test("an oversized result goes to a file that read_file opens", async () => {
  await using house = await assembleApp(
    [
      callsTool("terminal", { command: "seq 1 4000" }, { id: "call_oversized_a" }),
      ({ rawBody }) => callsTool("read_file", { path: spillPath(rawBody), offset: 1, limit: 2000 }),
      ({ rawBody }) => callsTool("read_file", { path: spillPath(rawBody), offset: 2001, limit: 2000 }),
      says("Read."),
    ],
    { config: "tool_results:\n  default_chars: 4000\n  preview_chars: 200\n" },
  )
  const record = await runToEnd(await house.open(), "count")
  const [kept] = house.model.toolResults(1)
  expect(kept?.text).toContain("<persisted-output>")
  expect(kept?.text.length).toBeLessThan(2000)
  const truncated = record.events.flatMap((event) => (event.type === "tool-end" ? [event.truncated] : []))
  expect(truncated).toEqual([true, false, false])
  const read = [2, 3].map((index) => house.model.toolResults(index)[0]?.text ?? "").join("")
  const shown = ["17", "1999", "2001", "3999"].map((number) => read.includes(`|${number}`))
  expect(shown).toEqual([true, true, true, true])
  await rm(spillPath(house.model.requests[1]?.rawBody ?? ""))
})

test("two sessions whose calls have the same id keep their own oversized results", async () => {
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
  if (path === undefined) throw new Error("the request names no file with the whole output")
  return path
}

async function writePipe(path: string, text: string): Promise<void> {
  const pipe = await open(path, "w")
  await pipe.writeFile(text)
  await pipe.close()
}
