import { describe, expect, test } from "vitest"

import { ok, fail } from "../base/result.ts"
import { toSessionId } from "../protocol/identifiers.ts"
import { isSlashLine, runSlashCommand } from "./slash-table.ts"
import type { SlashContext, SlashOutcome } from "./slash-command.ts"

interface Facts {
  readonly running?: boolean
  readonly steerable?: boolean
  readonly compress?: unknown
  readonly signal?: AbortSignal
}

/** A conversation that keeps what was asked of its session. */
function conversation({ running = false, steerable = true, compress, signal }: Facts = {}) {
  const calls: string[] = []
  const context = {
    app: {},
    running,
    signal: signal ?? new AbortController().signal,
    note: (text: string) => calls.push(`note ${text}`),
    session: {
      id: toSessionId("s1"),
      facts: { tools: ["a", "b"] },
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
    ["/quit", "leave"],
    ["/EXIT", "leave"],
    ["/qui", "leave"],
    ["/ex", "leave"],
    ["/q later", "send"],
    ["/que later", "send"],
  ])("%s", async (line, kind) => {
    expect((await conversation().run(line)).kind).toBe(kind)
  })

  test.each([
    ["/hepl", "There is no command /hepl; did you mean /help? Type /help for a list."],
    ["/xyzzy", "There is no command /xyzzy. Type /help for a list."],
  ])("%s is answered", async (line, text) => {
    expect(await conversation().run(line)).toEqual({ kind: "say", text: expect.stringContaining(text) })
  })

  test("help lists every command with its other names", async () => {
    const outcome = await conversation().run("/help")
    expect(outcome.kind === "say" ? outcome.text : "").toMatch(/^\/quit +leave \(also \/exit\)$/m)
  })
})

describe("/queue", () => {
  test.each([
    ["/queue and then this", { kind: "send", text: "and then this" }],
    ["/queue  two\n  lines", { kind: "send", text: "two\n  lines" }],
    ["/queue", { kind: "say", text: "Say what to send: /queue TEXT." }],
  ])("%j", async (line, outcome) => {
    expect(await conversation().run(line)).toEqual(outcome)
  })
})

describe("/steer", () => {
  const added = "The model gets this with its next tool result, or as your next message."
  test.each([
    { running: true, steerable: true, line: "/steer faster", outcome: { kind: "say", text: added }, told: true },
    { running: true, steerable: false, line: "/steer faster", outcome: { kind: "send", text: "faster" }, told: true },
    { running: false, steerable: true, line: "/steer faster", outcome: { kind: "send", text: "faster" }, told: false },
    {
      running: true,
      steerable: true,
      line: "/steer",
      outcome: { kind: "say", text: "Say what to add: /steer TEXT." },
      told: false,
    },
  ])("running $running, steerable $steerable: $line", async ({ running, steerable, line, outcome, told }) => {
    const { run, calls } = conversation({ running, steerable })
    expect(await run(line)).toEqual(outcome)
    expect(calls).toEqual(told ? ["steer faster"] : [])
  })
})

test.each([
  { running: true, text: "Stopping.", calls: ["interrupt"] },
  { running: false, text: "Nothing is running.", calls: [] },
])("/stop, running $running", async ({ running, text, calls }) => {
  const talk = conversation({ running })
  expect(await talk.run("/stop")).toEqual({ kind: "say", text })
  expect(talk.calls).toEqual(calls)
})

describe("/compress", () => {
  const report = { tokensBefore: 123_456, tokensAfter: 45_600, layersRun: [1, 5], removedMessages: true }

  test.each([
    {
      name: "a shorter conversation in a child session",
      compress: ok({ ...report, sessionId: "s2" }),
      text: [
        "The conversation now takes about 45.6K tokens instead of 123K.",
        "It goes on as session s2; what was left out stays in s1.",
      ],
    },
    {
      name: "the same session",
      compress: ok({ ...report, removedMessages: false, sessionId: "s1" }),
      text: ["The conversation now takes about 45.6K tokens instead of 123K."],
    },
    {
      name: "nothing to do, with a reason",
      compress: ok({ ...report, tokensAfter: 123_456, layersRun: [], sessionId: "s1", warning: "it is short already" }),
      text: ["Nothing was left out: the conversation takes about 123K tokens.", "It is short already."],
    },
    { name: "a failure", compress: fail("no model could be asked"), text: ["No model could be asked."] },
  ])("$name", async ({ compress, text }) => {
    expect(await conversation({ compress }).run("/compress")).toEqual({ kind: "say", text: text.join("\n") })
  })

  test("the topic is passed on, and the person knows what they wait for", async () => {
    const { run, calls } = conversation({ compress: fail("x") })
    await run("/compress the parser  bug")
    expect(calls).toEqual(["note Making the conversation shorter. Ctrl+C gives up.", "compress the parser  bug"])
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

  test("at least one exchange stays", async () => {
    const { run, calls } = conversation()
    expect(await run("/compress here 0")).toEqual({
      kind: "say",
      text: "Say how many exchanges stay as they are, at least 1: /compress here 3",
    })
    expect(calls).toEqual([])
  })

  test("given up by the person", async () => {
    const compress = ok({ ...report, tokensAfter: 123_456, layersRun: [], sessionId: "s1" })
    expect(await conversation({ compress, signal: AbortSignal.abort() }).run("/compress")).toEqual({
      kind: "say",
      text: "Given up; the conversation is as it was.",
    })
  })

  test("waits for the end of an answer", async () => {
    const { run, calls } = conversation({ running: true })
    expect(await run("/compress")).toEqual({
      kind: "say",
      text: "/compress has to wait: an answer is running. /stop ends it.",
    })
    expect(calls).toEqual([])
  })
})
