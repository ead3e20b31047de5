import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startModelServer } from "../support/model-server/server.ts"
import {
  callsTool,
  cutsAfter,
  deltas,
  emptyStream,
  failsInStream,
  refuses,
  repeat,
  reply,
  says,
  stallsAfter,
} from "../support/model-server/turn.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { hermesCommand, runProcess } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, NO_SANDBOX, settingsFor, startHermes, streamLines } from "./hermes-process.ts"
import type { StreamLine } from "./hermes-process.ts"
import { expectExited } from "./process-alive.ts"

const ONE_ATTEMPT = "agent:\n  api_max_retries: 1\n"
const STREAM = ["--output-format", "stream-json"]

describe("stream-json", () => {
  test("streams a conversation with a tool call from start to result", async () => {
    await using model = await startModelServer([
      reply({
        reasoning: "Hm.",
        text: "Looking.",
        calls: [{ id: "call_1", name: "terminal", input: { command: "echo hi" } }],
      }),
      says(["It ", "said hi."], { usage: { input: 100, output: 20, cacheRead: 50 } }),
    ])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-q", "say hi", ...STREAM], { stdin: "inherit-null" })
    expect([result.code, result.stderr]).toEqual([0, ""])
    const lines = expectComplete(result.stdout)
    expect(
      lines.map(({ type }) => type).filter((type) => !type.endsWith(".delta") && type !== "tool.progress"),
    ).toEqual([
      "session.start",
      "message.start",
      "message.complete",
      "usage",
      "tool.start",
      "tool.complete",
      "message.start",
      "message.complete",
      "usage",
      "result",
    ])
    expect(lines[0]).toMatchObject({
      resumed: false,
      model: "test-model",
      cwd: home.workdir,
      permission_profile: "default",
      tools: expect.arrayContaining(["read_file", "terminal"]),
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    })
    expect(joined(lines, "reasoning.delta")).toBe("Hm.")
    expect(joined(lines, "message.delta")).toBe("Looking.It said hi.")
    expect(lines.find(({ type }) => type === "tool.complete")).toMatchObject({
      tool_call_id: "call_1",
      name: "terminal",
      ok: true,
      exit_code: 0,
      truncated: false,
    })
    expect(lines.at(-1)).toMatchObject({
      status: "completed",
      final_text: "It said hi.",
      title: "say hi",
      model: "test-model",
      api_calls: 2,
      tool_calls: 1,
      usage: { input: 110, output: 25, cache_read: 50, cache_write: 0, reasoning: 0 },
      files_changed: [],
    })
  })

  test("--no-deltas omits only the deltas", async () => {
    await using model = await startModelServer([says(["It ", "said hi."])])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const { stdout } = await hermes(home, ["-q", "say hi", "--no-deltas", ...STREAM], { stdin: "inherit-null" })
    expect(expectComplete(stdout).map(({ type }) => type)).toEqual([
      "session.start",
      "message.start",
      "message.complete",
      "usage",
      "result",
    ])
  })

  test("streams an approval request and its automatic denial", async () => {
    await using model = await startModelServer([callsTool("terminal", { command: "rm -r build" }), says("I may not.")])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "build/x": "x" } })
    const { stdout, code } = await hermes(home, ["-q", "clean", ...STREAM], { stdin: "inherit-null" })
    const lines = expectComplete(stdout)
    const asked = lines.find(({ type }) => type === "approval.request")
    expect(asked).toMatchObject({ kind: "command", command: "rm -r build", rule: "recursive delete" })
    expect(lines.find(({ type }) => type === "approval.resolved")).toMatchObject({
      request_id: asked?.["request_id"],
      choice: "deny",
      by: "noninteractive",
    })
    expect(code).toBe(0)
  })

  test("the result lists changed files", async () => {
    await using model = await startModelServer([
      callsTool("write_file", { path: "a.txt", content: "new\n" }),
      says("Ok."),
    ])
    await using home = await temporaryHome({ config: settingsFor(model), workFiles: { "a.txt": "old\n" } })
    const { stdout } = await hermes(home, ["-q", "write", ...STREAM], { stdin: "inherit-null" })
    const lines = expectComplete(stdout)
    expect(lines.at(-1)?.["files_changed"]).toEqual([join(home.workdir, "a.txt")])
  })

  const faults: readonly {
    readonly name: string
    readonly turn: ScriptEntry
    readonly status: string
    readonly code: number
  }[] = [
    {
      name: "a stream cut in the text",
      turn: { ...says("One two three four five six seven."), ...cutsAfter(900) },
      status: "partial",
      code: 1,
    },
    {
      name: "a stream cut before any text",
      turn: { ...says("Never seen."), ...cutsAfter(10) },
      status: "error",
      code: 1,
    },
    { name: "a status 500", turn: repeat(refuses(500, "broken")), status: "error", code: 1 },
    {
      name: "an error inside the stream",
      turn: says("Half.", failsInStream("server_error", "broken")),
      status: "error",
      code: 1,
    },
    { name: "a stream without a frame", turn: repeat(emptyStream()), status: "error", code: 1 },
    {
      name: "calls cut on the way",
      turn: repeat({ ...callsTool("terminal", { command: `echo ${"x".repeat(300)}` }), ...cutsAfter(700) }),
      status: "error",
      code: 1,
    },
  ]
  test.each(faults)("$name still ends with one result", async ({ turn, status, code }) => {
    await using model = await startModelServer([turn])
    await using home = await temporaryHome({ config: settingsFor(model, ONE_ATTEMPT) })
    const result = await hermes(home, ["-q", "go", ...STREAM], { stdin: "inherit-null" })
    const lines = expectComplete(result.stdout)
    expect([lines.at(-1)?.["status"], result.code]).toEqual([status, code])
    const errors = lines.filter(({ type }) => type === "error")
    expect(errors).toHaveLength(status === "error" ? 1 : 0)
    expect(result.stderr).not.toMatch(STACK)
    if (status === "error") {
      expect(lines.at(-1)?.["error"]).toMatchObject({
        code: expect.any(String),
        reason: expect.any(String),
        message: expect.any(String),
        retryable: expect.any(Boolean),
      })
    }
  })

  test("a run that reaches its limit has its own status and an answer", async () => {
    await using model = await startModelServer([repeat(callsTool("terminal", { command: "echo again >> log.txt" }))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const args = ["-q", "go", "--max-turns", "2", ...STREAM]
    const result = await hermes(home, args, { stdin: "inherit-null" })
    const last = expectComplete(result.stdout).at(-1)
    expect([last?.["status"], typeof last?.["final_text"], result.code]).toEqual(["max_turns", "string", 0])
    expect(await readFile(join(home.workdir, "log.txt"), "utf8")).toBe("again\nagain\n")
  })

  test("streams a retry and then the answer", async () => {
    await using model = await startModelServer([refuses(429, "slow down", { "retry-after": "0.05" }), says("Now.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const { stdout, code } = await hermes(home, ["-q", "go", ...STREAM], { stdin: "inherit-null" })
    const lines = expectComplete(stdout)
    expect(lines.find(({ type }) => type === "status")).toMatchObject({ kind: "retry", attempt: 1 })
    expect([lines.at(-1)?.["final_text"], code]).toEqual(["Now.", 0])
  })

  test("an error before the run prints one sentence, not a partial stream", async () => {
    await using home = await temporaryHome()
    const result = await hermes(home, ["-q", "go", "--resume", "nothing-like-it", ...STREAM], { stdin: "inherit-null" })
    expect(result.code).toBe(1)
    expect(
      result.stdout
        .split("\n")
        .filter((line) => line !== "")
        .every((line) => JSON.parse(line) !== undefined),
    ).toBe(true)
    expect(result.stderr).toMatch(/no session "nothing-like-it"/)
  })
})

describe("json", () => {
  test("prints only the result", async () => {
    await using model = await startModelServer([callsTool("terminal", { command: "true" }), says("Done.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-q", "go", "--output-format", "json"], { stdin: "inherit-null" })
    expect([result.code, result.stderr, result.stdout.split("\n").length]).toEqual([0, "", 2])
    expect(Object.keys(JSON.parse(result.stdout) as object)).toEqual([
      "status",
      "final_text",
      "session_id",
      "title",
      "model",
      "provider",
      "api_calls",
      "tool_calls",
      "usage",
      "cost",
      "duration_ms",
      "files_changed",
    ])
  })

  test("a failure prints the same object with an error and exits 1", async () => {
    await using model = await startModelServer([repeat(refuses(401, "bad key"))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const result = await hermes(home, ["-q", "go", "--output-format", "json"], { stdin: "inherit-null" })
    expect(result.code).toBe(1)
    expect(JSON.parse(result.stdout)).toMatchObject({
      status: "error",
      final_text: null,
      error: { code: "provider_error", retryable: false },
    })
  })
})

describe("signals", () => {
  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("%s during a stream: one result, exit 130", async (signal) => {
    await using model = await startModelServer([says(["Once ", "upon a time"], stallsAfter({ deltas: 1 }))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using running = startHermes(home, ["-q", "tell", ...STREAM], { stdin: "inherit-null" })
    await running.waitForOutput('"message.delta"')
    running.signal(signal)
    const result = await running.exit
    const lines = expectComplete(result.stdout)
    expect(lines.at(-1)).toMatchObject({ type: "result", status: "interrupted", final_text: "Once " })
    expect(lines.find(({ type }) => type === "message.complete")).toMatchObject({
      text: "Once ",
      finish_reason: "interrupted",
    })
    expect([result.code, result.stderr]).toEqual([130, ""])
    expect(await model.requests[0]?.outcome).toBe("left")
  })

  test("SIGTERM during a command: one result, and no process of the command is left", async () => {
    // As a script, because a command line with `&` is rejected in favour of background mode.
    const script = "echo $$ > shell.pid; sleep 300 & echo $! > sleep.pid; echo started; wait\n"
    const command = "sh ./run.sh"
    await using model = await startModelServer([callsTool("terminal", { command })])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX), workFiles: { "run.sh": script } })
    await using running = startHermes(home, ["-q", "wait", ...STREAM], { stdin: "inherit-null" })
    await running.waitForOutput('"text":"started')
    running.signal("SIGTERM")
    const result = await running.exit
    const lines = expectComplete(result.stdout)
    expect([lines.at(-1)?.["status"], result.code]).toEqual(["interrupted", 130])
    for (const name of ["shell.pid", "sleep.pid"]) {
      await expectExited(Number(await readFile(join(home.workdir, name), "utf8")))
    }
  })

  test("SIGTERM during a command that ignores it: killed within the grace period", async () => {
    const command = "trap '' TERM; echo $$ > shell.pid; echo started; while :; do sleep 0.05; done"
    await using model = await startModelServer([callsTool("terminal", { command })])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
    await using running = startHermes(home, ["-q", "wait", ...STREAM], { stdin: "inherit-null" })
    await running.waitForOutput('"text":"started')
    const signalled = performance.now()
    running.signal("SIGTERM")
    const result = await running.exit
    expect(performance.now() - signalled).toBeLessThan(2500)
    const lines = expectComplete(result.stdout)
    expect([lines.at(-1)?.["status"], result.code]).toEqual(["interrupted", 130])
    await expectExited(Number(await readFile(join(home.workdir, "shell.pid"), "utf8")))
  })

  test("a second signal ends the process at once", async () => {
    const command = "trap '' TERM; echo $$ > shell.pid; echo started; while :; do sleep 0.05; done"
    await using model = await startModelServer([callsTool("terminal", { command })])
    await using home = await temporaryHome({
      config: settingsFor(model, NO_SANDBOX),
      env: { HERMES_SIGTERM_GRACE: "20" },
    })
    await using running = startHermes(home, ["-q", "wait", ...STREAM], { stdin: "inherit-null" })
    await running.waitForOutput('"text":"started')
    const signalled = performance.now()
    running.signal("SIGTERM")
    running.signal("SIGINT")
    expect((await running.exit).code).toBe(130)
    expect(performance.now() - signalled).toBeLessThan(1000)
    const shell = Number(await readFile(join(home.workdir, "shell.pid"), "utf8"))
    await expectExited(shell)
  })

  test("an interrupted -z prints nothing and exits 130", async () => {
    await using model = await startModelServer([says(["Once ", "upon a time"], stallsAfter({ deltas: 1 }))])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using running = startHermes(home, ["-z", "tell"], { stdin: "inherit-null" })
    await model.received(0)
    running.signal("SIGTERM")
    const { code, stdout, stderr } = await running.exit
    expect({ code, stdout, stderr }).toEqual({ code: 130, stdout: "", stderr: "" })
  })
})

describe("a closed output", () => {
  test("a reader that closes the pipe ends the run and its request", async () => {
    await using model = await startModelServer([deltas(3000, "word ", { chunkBytes: 2000, chunkDelayMs: 1 })])
    await using home = await temporaryHome({ config: settingsFor(model) })
    await using running = startHermes(home, ["-q", "talk", ...STREAM], { stdin: "inherit-null" })
    await running.waitForOutput('"message.delta"')
    running.closeStdout()
    const { code, signal, stderr } = await running.exit
    expect({ ended: code !== null, signal, stderr }).toEqual({ ended: true, signal: null, stderr: "" })
    expect(await model.requests[0]?.outcome).toBe("left")
  })

  test("a reader that closes the pipe during a command leaves no orphaned process", async () => {
    const command = "echo $$ > shell.pid; while :; do echo tick; sleep 0.02; done"
    await using model = await startModelServer([callsTool("terminal", { command })])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
    await using running = startHermes(home, ["-q", "tick", ...STREAM], { stdin: "inherit-null" })
    await running.waitForOutput("tick")
    running.closeStdout()
    const { stderr } = await running.exit
    expect(stderr).toBe("")
    await expectExited(Number(await readFile(join(home.workdir, "shell.pid"), "utf8")))
  })

  test.each([
    { name: "-z", args: ["-z", "go"] },
    { name: "-q", args: ["-q", "go"] },
    { name: "stream-json", args: ["-q", "go", ...STREAM] },
    { name: "json", args: ["-q", "go", "--output-format", "json"] },
  ])("$name with a closed stdout ends without a stack trace and stores the conversation", async ({ args }) => {
    await using model = await startModelServer([callsTool("terminal", { command: "touch ran" }), repeat(says("Done."))])
    await using home = await temporaryHome({ config: settingsFor(model, NO_SANDBOX) })
    const [node, binary] = hermesCommand()
    const script = '"$0" "$@" >&- </dev/null'
    const result = await runProcess({
      command: "bash",
      args: ["-c", script, node, binary, ...args],
      cwd: home.workdir,
      env: home.env,
    })
    expect(result.stderr).not.toMatch(STACK)
    expect(result.signal).toBe(null)
    const later = await hermes(home, ["-z", "still there?", "--continue"], { stdin: "inherit-null" })
    expect([later.code, later.stdout]).toEqual([0, "Done.\n"])
    expect(model.view(model.requests.length - 1).messages[0]?.text).toMatch(/^go/)
  })

  test("a full disk behind stdout prints a message and exits 1", async () => {
    await using model = await startModelServer([says("Done.")])
    await using home = await temporaryHome({ config: settingsFor(model) })
    const [node, binary] = hermesCommand()
    const script = '"$0" "$@" >/dev/full </dev/null'
    const result = await runProcess({
      command: "bash",
      args: ["-c", script, node, binary, "-z", "go"],
      cwd: home.workdir,
      env: home.env,
    })
    expect(result.code).toBe(1)
    expect(result.stderr).toMatch(/^Could not write to standard output: [^\n]+\n$/)
  })
})

const STACK = /\n\s+at |node:internal|UnhandledPromise/

/** Checks what holds for any output: numbered without gaps, one session, and exactly one result at the end. */
function expectComplete(stdout: string): readonly StreamLine[] {
  expect(stdout.endsWith("\n")).toBe(true)
  const lines = streamLines(stdout)
  expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index))
  expect(lines.filter(({ type }) => type === "result")).toHaveLength(1)
  expect(lines.at(-1)?.type).toBe("result")
  expect(new Set(lines.map(({ v, session_id: id }) => `${v} ${id}`)).size).toBe(1)
  return lines
}

function joined(lines: readonly StreamLine[], type: string): string {
  return lines.flatMap((line) => (line.type === type ? [String(line["text"])] : [])).join("")
}
