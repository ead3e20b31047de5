import { writeFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import type { AgentEvent } from "../../../src/protocol/events.ts"
import { isValidHistory } from "../../../src/agent/context/history-validity.ts"
import { callsTool, refuses, repeat, reply, says, stallsAfter } from "../../support/model-server/turn.ts"
import type { ScriptEntry } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { wireProblems } from "./on-every-wire.ts"

/** The specification allows 4 s. Every wait obeys its signal within 100 ms, which leaves room for a busy machine. */
const LIMIT_MS = 4000

const SLEEPER = "echo started; sleep 60"

test.each<{ name: string; script: readonly ScriptEntry[]; at: (event: AgentEvent) => boolean }>([
  {
    name: "a stream that hangs",
    script: [says(["Once ", "upon"], stallsAfter({ deltas: 1 }))],
    at: (event) => event.type === "text-delta",
  },
  {
    name: "a stream that hangs inside a call",
    script: [{ ...callsTool("terminal", { command: "touch never" }), ...stallsAfter({ deltas: 1 }) }],
    at: (event) => event.type === "status" && event.kind === "tool-generating",
  },
  {
    name: "a command of a minute",
    script: [callsTool("terminal", { command: SLEEPER })],
    at: (event) => event.type === "tool-progress",
  },
  {
    name: "the second of three commands",
    script: [
      reply({
        calls: ["echo first", SLEEPER, "touch third"].map((command) => ({ name: "terminal", input: { command } })),
      }),
    ],
    at: (event) => event.type === "tool-progress" && event.text.includes("started"),
  },
  {
    name: "the wait before another try",
    script: [refuses(503, "busy", { "retry-after": "60" })],
    at: (event) => event.type === "status" && event.kind === "retry",
  },
  {
    name: "a question to the user",
    script: [callsTool("clarify", { question: "Which?" })],
    at: (event) => event.type === "clarify-request",
  },
])("an interrupt during $name ends the turn, and the history stays valid", async ({ script, at }) => {
  await using assembled = await assembleApp([...script, repeat(says("Hello."))])
  const session = await assembled.open()
  let interruptedAt = 0
  const { end } = await runToEnd(session, "go", (event) => {
    if (interruptedAt > 0 || !at(event)) return
    interruptedAt = performance.now()
    session.interrupt()
  })
  expect(performance.now() - interruptedAt).toBeLessThan(LIMIT_MS)
  expect([interruptedAt > 0, end.outcome]).toEqual([true, "interrupted"])
  const stored = await (await assembled.app.store()).conversation(session.id)
  expect(isValidHistory(stored)).toBe(true)

  const next = await runToEnd(session, "are you there?")
  expect(next.end.result.finalResponse).toBe("Hello.")
  expect(wireProblems(assembled.model, assembled.model.requests.length - 1)).toEqual([])
})

test("an interrupt before the turn starts ends it before anything is sent", async () => {
  await using assembled = await assembleApp([says("Hello.")])
  const session = await assembled.open()
  session.interrupt()
  const { end } = await runToEnd(session, "go")
  expect([end.outcome, end.result.exitReason, assembled.model.requests.length]).toEqual([
    "interrupted",
    "interrupted_by_user",
    0,
  ])
  expect((await runToEnd(session, "now?")).end.result.finalResponse).toBe("Hello.")
})

test("a steering note during a long command is added to its result, and earlier bytes stay unchanged", async () => {
  const command = "echo started; while [ ! -e go ]; do sleep 0.02; done; echo ended"
  await using assembled = await assembleApp([
    callsTool("terminal", { command }),
    callsTool("terminal", { command: "echo more" }),
    says("Blue it is."),
    says("Bye."),
  ])
  const session = await assembled.open()
  let steered = false
  await runToEnd(session, "paint", async (event) => {
    if (event.type !== "tool-progress" || steered) return
    steered = true
    session.steer("use blue")
    await writeFile(join(assembled.home.workdir, "go"), "")
  })
  await session.close("test")
  const later = await assembled.restart()
  await runToEnd(await later.open({ resume: session.id }), "bye")
  await later[Symbol.asyncDispose]()

  const [result] = assembled.model.toolResults(1)
  expect(result?.text).toMatch(
    /"output":"started\\nended".*\n\n\[OUT-OF-BAND USER MESSAGE — [^\n]+\]\nuse blue\n\[\/OUT-OF-BAND USER MESSAGE\]$/s,
  )
  for (const [index, { rawBody }] of assembled.model.requests.entries()) {
    const next = assembled.model.requests[index + 1]?.rawBody
    if (next !== undefined) expect([index, next.startsWith(rawBody.slice(0, -"]}".length))]).toEqual([index, true])
  }
})

test("a steering note after the results is sent with the last of them, now and after a resume", async () => {
  await using assembled = await assembleApp([
    callsTool("terminal", { command: "echo one" }),
    says("Blue."),
    says("Bye."),
  ])
  const session = await assembled.open()
  await runToEnd(session, "paint", (event) => {
    if (event.type === "tool-end") session.steer("use blue")
  })
  expect(assembled.model.toolResults(1)[0]?.text).toMatch(/\nuse blue\n\[\/OUT-OF-BAND USER MESSAGE\]$/)
  await session.close("test")
  const later = await assembled.restart()
  await runToEnd(await later.open({ resume: session.id }), "bye")
  await later[Symbol.asyncDispose]()
  const [, answered, resumed] = assembled.model.requests
  expect(resumed?.rawBody.startsWith(answered?.rawBody.slice(0, -"]}".length) ?? "?")).toBe(true)
})

test("a second run during the first is rejected, and the first continues", async () => {
  const gate = Promise.withResolvers<void>()
  await using assembled = await assembleApp([{ ...says("First."), waitsFor: gate.promise }, says("Second.")])
  const session = await assembled.open()
  const first = runToEnd(session, "one")
  await assembled.model.received(0)
  await expect(runToEnd(session, "two")).rejects.toThrow("this session is already running")
  gate.resolve()
  expect((await first).end.result.finalResponse).toBe("First.")
  expect((await runToEnd(session, "three")).end.result.finalResponse).toBe("Second.")
})
