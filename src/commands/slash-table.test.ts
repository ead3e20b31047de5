import { describe, expect, test } from "vitest"

import { createSubAgents } from "../app/services/sub-agents.ts"
import { ok, fail } from "../base/result.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import { isSlashLine } from "./slash-line.ts"
import { runSlashCommand } from "./slash-table.ts"
import type { SlashContext, SlashOutcome } from "./slash-command.ts"

interface ConversationFixture {
  readonly running?: boolean
  readonly steerable?: boolean
  readonly compress?: unknown
  readonly signal?: AbortSignal
}

/** A context that records the calls to its session. */
function conversation({ running = false, steerable = true, compress, signal }: ConversationFixture = {}) {
  const calls: string[] = []
  const context = {
    app: {
      pluginCommands: () => [],
      subAgents: createSubAgents(),
      processes: { open: () => Promise.resolve({ list: () => [] }) },
      config: { get: () => ({}) },
      home: { path: "/nowhere", userHome: "/nowhere" },
    },
    running,
    signal: signal ?? new AbortController().signal,
    note: (text: string) => calls.push(`note ${text}`),
    session: {
      id: toSessionId("s1"),
      isStored: false,
      facts: { tools: ["a", "b"], cwd: "/nowhere" },
      interrupt: () => calls.push("interrupt"),
      steer: (text: string) => {
        calls.push(`steer ${text}`)
        return steerable
      },
      compress: ({ focus, keepExchanges }: { readonly focus?: string; readonly keepExchanges?: number }) => {
        calls.push(["compress", focus, keepExchanges].filter((part) => part !== undefined).join(" "))
        return Promise.resolve(compress)
      },
    },
  } as unknown as SlashContext
  return { calls, run: (line: string): Promise<SlashOutcome> => runSlashCommand(line, context) }
}

test.each([
  ["/help", true],
  ["/compress the parser", true],
  ["/", true],
  ["/Users/x/y.md fix this", false],
  ["/usr/bin", false],
  ["hello /help", false],
  ["", false],
])("%j is a command: %s", (line, expected) => {
  expect(isSlashLine(line)).toBe(expected)
})

describe("names", () => {
  test.each([
    ["/quit", "quit"],
    ["/EXIT", "quit"],
    ["/qui", "quit"],
    ["/ex", "quit"],
    ["/q later", "send"],
    ["/que later", "send"],
  ])("%s", async (line, kind) => {
    expect((await conversation().run(line)).kind).toBe(kind)
  })

  test.each([
    ["/hepl", "There is no command /hepl. Did you mean /help? Type /help for a list."],
    ["/xyzzy", "There is no command /xyzzy. Type /help for a list."],
  ])("%s is unknown", async (line, text) => {
    expect(await conversation().run(line)).toEqual({ kind: "reply", text: expect.stringContaining(text) })
  })

  test("/help lists the commands with their aliases", async () => {
    const outcome = await conversation().run("/help")
    expect(outcome.kind === "reply" ? outcome.text : "").toMatch(
      /^\/quit \[--delete\] +quit Hermes; --delete also deletes this session \(also \/exit\)$/m,
    )
  })
})

describe("/queue", () => {
  test.each([
    ["/queue and then this", { kind: "send", text: "and then this", typed: true }],
    ["/queue  two\n  lines", { kind: "send", text: "two\n  lines", typed: true }],
    ["/queue", { kind: "reply", text: "Usage: /queue TEXT." }],
  ])("%j", async (line, outcome) => {
    expect(await conversation().run(line)).toEqual(outcome)
  })
})

describe("/steer", () => {
  const added = "The model receives this with its next tool result, or as your next message."
  test.each([
    { running: true, steerable: true, line: "/steer faster", outcome: { kind: "reply", text: added }, steered: true },
    {
      running: true,
      steerable: false,
      line: "/steer faster",
      outcome: { kind: "send", text: "faster", typed: true },
      steered: true,
    },
    {
      running: false,
      steerable: true,
      line: "/steer faster",
      outcome: { kind: "send", text: "faster", typed: true },
      steered: false,
    },
    {
      running: true,
      steerable: true,
      line: "/steer",
      outcome: { kind: "reply", text: "Usage: /steer TEXT." },
      steered: false,
    },
  ])("running $running, steerable $steerable: $line", async ({ running, steerable, line, outcome, steered }) => {
    const { run, calls } = conversation({ running, steerable })
    expect(await run(line)).toEqual(outcome)
    expect(calls).toEqual(steered ? ["steer faster"] : [])
  })
})

test.each([
  { running: true, text: "Stopping.", calls: ["interrupt"] },
  { running: false, text: "Nothing is running.", calls: [] },
])("/stop, running $running", async ({ running, text, calls }) => {
  const { run, calls: made } = conversation({ running })
  expect(await run("/stop")).toEqual({ kind: "reply", text })
  expect(made).toEqual(calls)
})

describe("/compress", () => {
  const report = { tokensBefore: 123_456, tokensAfter: 45_600, layersRun: [1, 5], removedMessages: true }

  test.each([
    {
      name: "continued in a child session",
      compress: ok({ ...report, sessionId: "s2" }),
      text: [
        "Compressed the conversation from about 123K to 45.6K tokens.",
        "It continues as session s2; the full history stays in s1.",
      ],
    },
    {
      name: "in the same session",
      compress: ok({ ...report, removedMessages: false, sessionId: "s1" }),
      text: ["Compressed the conversation from about 123K to 45.6K tokens."],
    },
    {
      name: "nothing to compress, with a reason",
      compress: ok({ ...report, tokensAfter: 123_456, layersRun: [], sessionId: "s1", warning: "it is already short" }),
      text: ["Nothing to compress: the conversation has about 123K tokens.", "It is already short."],
    },
    { name: "a failure", compress: fail("the model did not respond"), text: ["The model did not respond."] },
  ])("$name", async ({ compress, text }) => {
    expect(await conversation({ compress }).run("/compress")).toEqual({ kind: "reply", text: text.join("\n") })
  })

  test("passes the topic on and shows a progress note", async () => {
    const { run, calls } = conversation({ compress: fail("x") })
    await run("/compress the parser  bug")
    expect(calls).toEqual(["note Compressing the conversation. Press Ctrl+C to cancel.", "compress the parser  bug"])
  })

  test.each([
    ["/compress", ["compress"]],
    ["/compress here", ["compress 2"]],
    ["/compress HERE  5", ["compress 5"]],
    ["/compress here and now", ["compress here and now"]],
  ])("%s", async (line, expected) => {
    const { run, calls } = conversation({ compress: fail("x") })
    await run(line)
    expect(calls.slice(1)).toEqual(expected)
  })

  test("keeps at least one exchange", async () => {
    const { run, calls } = conversation()
    expect(await run("/compress here 0")).toEqual({
      kind: "reply",
      text: "Keep at least one exchange, for example /compress here 3.",
    })
    expect(calls).toEqual([])
  })

  test("cancelled by the user", async () => {
    const compress = ok({ ...report, tokensAfter: 123_456, layersRun: [], sessionId: "s1" })
    expect(await conversation({ compress, signal: AbortSignal.abort() }).run("/compress")).toEqual({
      kind: "reply",
      text: "Cancelled. The conversation is unchanged.",
    })
  })

  test("is refused during a reply", async () => {
    const { run, calls } = conversation({ running: true })
    expect(await run("/compress")).toEqual({
      kind: "reply",
      text: "/compress is not available while a reply is being generated. /stop interrupts it.",
    })
    expect(calls).toEqual([])
  })
})
