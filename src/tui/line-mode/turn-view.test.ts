import { describe, expect, test } from "vitest"

import { recordingTerminal } from "../../../test/support/cli-home.ts"
import type { AgentEventBody, RunEnd, RunOutcome } from "../../protocol/events.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import type { LiveEvent } from "../chat-ui.ts"
import { createTurnView } from "./turn-view.ts"

type Body = Exclude<AgentEventBody, { type: "run-end" }>

function shown(
  bodies: readonly Body[],
  end: { readonly final?: string | null; readonly outcome?: RunOutcome; readonly error?: string } = {},
  progress: "stdout" | "stderr" = "stdout",
): { readonly out: string; readonly err: string } {
  const terminal = recordingTerminal()
  const view = createTurnView({ terminal, progress })
  for (const body of bodies) {
    const event: LiveEvent = { ...body, sessionId: toSessionId("s"), runId: "r", seq: 0, ts: 0 }
    view.event(event)
  }
  view.end(runEnd(end))
  return terminal.output()
}

function runEnd({
  final = null,
  outcome = "completed",
  error,
}: {
  readonly final?: string | null
  readonly outcome?: RunOutcome
  readonly error?: string
}): RunEnd {
  return {
    type: "run-end",
    outcome,
    result: {
      finalResponse: final,
      exitReason: "",
      messages: [],
      model: "m",
      provider: "p",
      sessionId: toSessionId("s"),
      apiCalls: 1,
      toolCalls: 0,
      usage: NO_USAGE,
      costUsd: null,
      costStatus: "unknown",
      durationMs: 0,
      filesChanged: [],
      ...(error === undefined ? {} : { error: { code: "x", reason: "x", message: error, retryable: false } }),
    },
  }
}

function delta(text: string): Body {
  return { type: "text-delta", text }
}

function ended(text: string, streamed = true): Body {
  return {
    type: "message-end",
    streamed,
    message: { id: "m", role: "assistant", text, finishReason: "stop", toolCalls: [] },
  }
}

describe("the final answer", () => {
  test.each<{ name: string; bodies: Body[]; final: string | null; out: string }>([
    { name: "streamed", bodies: [delta("Hel"), delta("lo."), ended("Hello.")], final: "Hello.", out: "Hello.\n" },
    { name: "not streamed", bodies: [ended("Hello.", false)], final: "Hello.", out: "Hello.\n" },
    { name: "without any message", bodies: [], final: "Hello.", out: "Hello.\n" },
    {
      name: "with a footer",
      bodies: [delta("Done."), ended("Done.")],
      final: "Done.\n\nNote: `a` was not written.",
      out: "Done.\n\n\nNote: `a` was not written.\n",
    },
    {
      name: "different from the messages",
      bodies: [delta("Looking."), ended("Looking.")],
      final: "I stopped.",
      out: "Looking.\nI stopped.\n",
    },
    {
      name: "in two messages",
      bodies: [delta("abc"), ended("abc"), delta("def"), ended("def")],
      final: "abcdef",
      out: "abc\ndef\n",
    },
    {
      name: "before an empty message",
      bodies: [delta("done"), ended("done"), ended("")],
      final: "done",
      out: "done\n",
    },
  ])("$name", ({ bodies, final, out }) => {
    expect(shown(bodies, { final })).toEqual({ out, err: "" })
  })

  test("shows an error after the text", () => {
    expect(shown([delta("I think")], { outcome: "error", error: "the connection was closed" })).toEqual({
      out: "I think\n",
      err: "Error: the connection was closed\n",
    })
  })

  test("shows an interrupt", () => {
    expect(shown([delta("I think")], { outcome: "interrupted" })).toEqual({ out: "I think\n", err: "Interrupted.\n" })
  })
})

describe("the end of a tool call", () => {
  const call = { id: "c", name: "terminal", args: {} }
  const end = { type: "tool-end", call, durationMs: 12, truncated: false } as const
  test.each<{ name: string; body: Body; out: string }>([
    {
      name: "successful",
      body: { ...end, outcome: "ok", summary: "exit code 0", exitCode: 0 },
      out: "  ✓ terminal: exit code 0\n",
    },
    {
      name: "without an exit code",
      body: { ...end, outcome: "ok", summary: "3 found" },
      out: "  ✓ terminal: 3 found\n",
    },
    { name: "failed", body: { ...end, outcome: "error", summary: "not there" }, out: "  ✗ terminal: not there\n" },
    {
      name: "with a failed command",
      body: { ...end, outcome: "ok", summary: "exit code 2", exitCode: 2 },
      out: "  ✗ terminal: exit code 2\n",
    },
  ])("$name", ({ body, out }) => {
    expect(shown([body])).toEqual({ out, err: "" })
  })
})

describe("status", () => {
  test.each<{ name: string; body: Body; err: string }>([
    { name: "compress", body: { type: "status", kind: "compress", text: "Shortened." }, err: "Shortened.\n" },
    { name: "a fragment", body: { type: "status", kind: "compress", text: "made short" }, err: "Made short.\n" },
    { name: "warning", body: { type: "status", kind: "warning", text: "Careful." }, err: "Careful.\n" },
    { name: "notice", body: { type: "status", kind: "notice", text: "Note." }, err: "Note.\n" },
    {
      name: "the profile after a plan was approved",
      body: { type: "status", kind: "permission-profile", text: "x", old: "plan", new: "accept-edits", by: "plan" },
      err: "The permission profile is now accept-edits instead of plan, because you approved the plan. /permissions changes it.\n",
    },
    {
      name: "a profile that the user has changed",
      body: { type: "status", kind: "permission-profile", text: "x", old: "plan", new: "auto", by: "user" },
      err: "",
    },
    { name: "an empty text", body: { type: "status", kind: "compress", text: "" }, err: "" },
    { name: "iteration", body: { type: "status", kind: "iteration", text: "1", iteration: 1 }, err: "" },
  ])("$name goes to stderr", ({ body, err }) => {
    expect(shown([body])).toEqual({ out: "", err })
  })

  test("ends an unfinished line of the answer first", () => {
    const warning: Body = { type: "status", kind: "warning", text: "Careful." }
    expect(shown([delta("Half"), warning, delta(" whole.\n")])).toEqual({ out: "Half\n whole.\n", err: "Careful.\n" })
  })
})

test("removes control characters", () => {
  const output = shown([delta("a\u001B[2Jb\u0007"), { type: "status", kind: "warning", text: "c\u001B]0;x\u0007" }])
  expect(output).toEqual({ out: "ab\n", err: "C.\n" })
})

test.each([
  { progress: "stdout", out: "→ terminal echo hi\n", err: "" },
  { progress: "stderr", out: "", err: "→ terminal echo hi\n" },
] as const)("tools are shown on $progress", ({ progress, out, err }) => {
  const start: Body = {
    type: "tool-start",
    call: { id: "c", name: "terminal", args: {} },
    preview: "echo\nhi",
    access: "exec",
    subjects: [],
  }
  expect(shown([start], {}, progress)).toEqual({ out, err })
})
