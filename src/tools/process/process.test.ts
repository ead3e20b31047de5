import { expect, test } from "vitest"
import { processBench } from "../../../test/fixtures/tools/process-bench.ts"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import type { ToolContext } from "../../toolkit/tool.ts"
import { terminal } from "../terminal/terminal.ts"
import { processTool } from "./process.ts"

async function open() {
  const tools = await toolBench()
  const background = await processBench(tools)
  const { ports } = background
  return {
    tools,
    start: async (command: string, more: Readonly<Record<string, unknown>> = {}) =>
      await tools.call(terminal, { command, background: true, ...more }, { ports }),
    ask: async (action: string, args: Readonly<Record<string, unknown>> = {}, more: Partial<ToolContext> = {}) =>
      await tools.call(processTool, { action, session_id: "proc_1", ...args }, { ports, ...more }),
    async [Symbol.asyncDispose]() {
      await background[Symbol.asyncDispose]()
      await tools[Symbol.asyncDispose]()
    },
  }
}

const number = expect.any(Number) as number

test("a server is started, polled, waited for and killed", async () => {
  await using box = await open()
  await box.start("echo listening; sleep 300")
  const running = { session_id: "proc_1", command: "echo listening; sleep 300", pid: number, uptime_seconds: number }
  expect(await box.ask("wait", { timeout: 1 })).toEqual({
    session_id: "proc_1",
    status: "timeout",
    output: "listening\n",
    timeout_note: "it is still running; wait again, poll it or kill it",
  })
  expect(await box.ask("poll")).toEqual({ ...running, status: "running", output_preview: "listening\n" })
  expect(await box.ask("list")).toEqual({
    processes: [
      {
        ...running,
        cwd: box.tools.home.workdir,
        started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
        status: "running",
        output_preview: "listening\n",
      },
    ],
  })
  const killed = { session_id: "proc_1", exit_code: -15, completion_reason: "killed" }
  expect(await box.ask("kill")).toEqual({ ...killed, status: "killed" })
  expect(await box.ask("kill")).toEqual({ ...killed, status: "already_exited" })
  expect(await box.ask("poll")).toEqual({
    ...running,
    status: "exited",
    output_preview: "listening\n",
    exit_code: -15,
    completion_reason: "killed",
    termination_source: "process kill",
  })
})

test("input is written raw or with Enter, ended, and refused afterwards", async () => {
  await using box = await open()
  await box.start("cat")
  expect(await box.ask("write", { data: "a" })).toEqual({ status: "ok", session_id: "proc_1", bytes_written: 1 })
  expect(await box.ask("submit", { data: "é" })).toEqual({ status: "ok", session_id: "proc_1", bytes_written: 3 })
  expect(await box.ask("submit")).toMatchObject({ bytes_written: 1 })
  expect(await box.ask("close")).toEqual({ status: "ok", session_id: "proc_1" })
  expect(await box.ask("wait")).toEqual({
    session_id: "proc_1",
    status: "exited",
    exit_code: 0,
    completion_reason: "exited",
    output: "aé\n\n",
  })
  const closed = {
    error: "its input is closed or not reachable; nothing can be written",
    session_id: "proc_1",
  }
  expect([await box.ask("write", { data: "x" }), await box.ask("close")]).toEqual([closed, closed])
  expect(await box.ask("write")).toEqual({ error: "data is required for write" })
})

test("Enter in a terminal is a carriage return", async () => {
  await using box = await open()
  await box.start("read -r x; echo got-$x", { pty: true })
  await box.ask("submit", { data: "hello" })
  expect(await box.ask("wait")).toMatchObject({ status: "exited", output: "hello\ngot-hello\n" })
})

test("the log is shown by lines, by default the last ones, without colours and secrets", async () => {
  await using box = await open()
  await box.start(String.raw`for i in $(seq 1 300); do printf '\033[1m%s\033[0m\n' $i; done; echo planted-secret-value`)
  await box.ask("wait")
  const log = { session_id: "proc_1", status: "exited", total_lines: 301 }
  expect(await box.ask("log", { limit: 2 })).toEqual({
    ...log,
    output: "300\nplante...alue",
    showing: "lines 300 to 301",
  })
  expect(await box.ask("log", { offset: 0, limit: 2 })).toEqual({ ...log, output: "1\n2", showing: "lines 1 to 2" })
  expect(await box.ask("log", { offset: 999 })).toEqual({ ...log, output: "", showing: "nothing" })
  expect(await box.ask("log")).toMatchObject({ showing: "lines 102 to 301" })
})

test("waiting is limited to the time of a command, and obeys an interrupt", async () => {
  await using box = await open()
  await box.start("sleep 300")
  expect(await box.ask("wait", { timeout: 60 }, { limits: { ...LIMITS, commandTimeoutSeconds: 1 } })).toMatchObject({
    status: "timeout",
    timeout_note: "waited 1 s, the limit for one call; it is still running",
  })
  expect(await box.ask("wait", {}, { signal: AbortSignal.timeout(50) })).toMatchObject({ status: "interrupted" })
})

const LIMITS = { readMaxChars: 1, maxLines: 1, maxLineLength: 1, outputMaxChars: 1 }

test.each([
  [{ action: "poll" }, "session_id is required for poll; process list shows them"],
  [{ action: "poll", session_id: "proc_9" }, "there is no background process proc_9; process list shows them"],
])("%j returns an error", async (args, error) => {
  await using tools = await toolBench()
  await using background = await processBench(tools)
  expect(await tools.call(processTool, args, { ports: background.ports })).toMatchObject({ error })
  expect(await tools.call(processTool, args)).toEqual({ error: "background processes are not available here" })
})

test("read-only actions have read access, others exec access with their text as the command", () => {
  const call = (args: Readonly<Record<string, unknown>>) => {
    const parsed = processTool.runnable.parse(args)
    if (!parsed.ok) throw new Error(parsed.error)
    return [parsed.value.access, parsed.value.subjects[0]]
  }
  expect(call({ action: "log", session_id: "p" })).toEqual(["read", { kind: "name", name: "p" }])
  expect(call({ action: "list" })).toEqual(["read", { kind: "name", name: "list" }])
  expect(call({ action: "kill", session_id: "p" })).toEqual(["exec", { kind: "name", name: "p" }])
  expect(call({ action: "submit", session_id: "p", data: "rm -rf /" })).toEqual([
    "exec",
    { kind: "command", command: "rm -rf /" },
  ])
  expect(processTool.runnable.parse({ action: "eat" }).ok).toBe(false)
})

test("the digest is one line", () => {
  const digest = processTool.runnable.digest?.({
    tool: "process",
    args: { action: "poll", session_id: "p" },
    result: "",
  })
  expect(digest).toBe("[process] poll session=p")
})
