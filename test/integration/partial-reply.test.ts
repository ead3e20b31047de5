import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"

import { describe, expect, test, vi } from "vitest"

import type { Session } from "../../src/app/session/session.ts"
import type { AgentEvent } from "../../src/protocol/events.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { failsInStream, raw, refuses, reply, says, stallsAfter } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"
import type { AssembledApp } from "./assembled-app.ts"

const WIRES = [
  ["chat_completions", "/v1", "test-model"],
  ["anthropic_messages", "", "claude-opus-4-6"],
  ["codex_responses", "/v1", "test-model"],
  ["gemini_native", "/v1beta", "gemini-2.5-pro"],
  ["bedrock_converse", "", "anthropic.claude-opus-4-6"],
] as const

describe.each(WIRES)("%s", (wire, basePath, model) => {
  test("an interrupted reply with reasoning is sent again as text, without its unfinished reasoning", async () => {
    await using assembled = await assembleApp(
      [
        reply({ reasoning: ["Half a thought"], text: ["One", " two", " three"] }, stallsAfter({ deltas: 3 })),
        says("Hello."),
      ],
      {
        basePath,
        model,
        config: `  api_mode: ${wire}\n  api_key: test-key-0123456789\n`,
        env: { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret-of-the-test" },
      },
    )
    const session = await assembled.open()
    const first = await runToEnd(session, "count", interruptAtText(session))
    expect(first.end.result.finalResponse).toMatch(/^One/)
    expect((await runToEnd(session, "and?")).end.result.finalResponse).toBe("Hello.")
    const { messages } = assembled.model.view(1)
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
    expect(messages[1]?.text).toMatch(/^One/)
    expect(assembled.model.requests[1]?.rawBody).not.toContain("Half a thought")
    expect(await stored(assembled, session)).toMatchObject([
      { role: "user" },
      { role: "assistant", reasoning: "Half a thought", finish_reason: "interrupted" },
      { role: "user", injected: expect.stringContaining("interrupted before its end") },
      { role: "assistant", finish_reason: "stop" },
    ])
  })
})

test("a consumer that stops reading in mid-reply leaves what it was given", async () => {
  await using assembled = await assembleApp([says(["One", " two"], stallsAfter({ deltas: 1 })), says("Hello.")])
  const session = await assembled.open()
  for await (const event of session.run("count", { signal: new AbortController().signal })) {
    if (event.type === "text-delta") break
  }
  expect(await stored(assembled, session)).toMatchObject([
    { role: "user" },
    { role: "assistant", content: "One", finish_reason: "interrupted" },
  ])
  expect((await runToEnd(session, "and?")).end.result.finalResponse).toBe("Hello.")
})

test.each(["message-end", "usage"] as const)(
  "a consumer that stops reading at %s leaves the stored reply as it is",
  async (type) => {
    await using assembled = await assembleApp([says(["One", " two"]), says("Hello.")])
    const session = await assembled.open()
    for await (const event of session.run("count", { signal: new AbortController().signal })) {
      if (event.type === type) break
    }
    expect(await stored(assembled, session)).toMatchObject([
      { role: "user" },
      { role: "assistant", content: "One two", finish_reason: "stop" },
    ])
  },
)

test("an interrupt while the model only thinks stores no reply", async () => {
  await using assembled = await assembleApp([
    reply({ reasoning: ["Hm", " hm"], text: "One" }, stallsAfter({ deltas: 1 })),
    says("Hello."),
  ])
  const session = await assembled.open()
  const { end } = await runToEnd(session, "count", (event) => {
    if (event.type === "reasoning-delta") session.interrupt()
  })
  expect([end.outcome, end.result.finalResponse]).toEqual(["interrupted", null])
  expect(await stored(assembled, session)).toMatchObject([{ role: "user", content: "count" }])
  await runToEnd(session, "and?")
  expect(assembled.model.view(1).messages.map(({ text }) => text)).toEqual([
    "count",
    expect.stringContaining("There was no reply"),
    "and?",
  ])
})

test("an interrupt during the wait before a retry stores no reply", async () => {
  await using assembled = await assembleApp([refuses(503, "busy", { "retry-after": "60" }), says("Hello.")])
  const session = await assembled.open()
  const { end } = await runToEnd(session, "count", (event) => {
    if (event.type === "status" && event.kind === "retry") session.interrupt()
  })
  expect([end.outcome, end.result.finalResponse]).toEqual(["interrupted", null])
  expect(await stored(assembled, session)).toMatchObject([{ role: "user" }])
  expect((await runToEnd(session, "and?")).end.result.finalResponse).toBe("Hello.")
})

test("an error after shown text keeps the text", async () => {
  await using assembled = await assembleApp([
    says(["One", " two"], failsInStream("overloaded_error", "too many requests")),
    says("Hello."),
  ])
  const session = await assembled.open()
  const { end, events } = await runToEnd(session, "count")
  expect([end.outcome, shownText(events)]).toEqual(["error", "One two"])
  expect(await stored(assembled, session)).toMatchObject([
    { role: "user" },
    { role: "assistant", content: "One two", finish_reason: "incomplete" },
  ])
  await runToEnd(session, "and?")
  const { messages } = assembled.model.view(1)
  expect(messages[1]?.text).toBe("One two")
  expect(messages[2]?.text).toContain("cut off by an error")
})

test("text before a tool call that the connection cut off is kept, and the turn ends with the error", async () => {
  const frames = [
    { content: "Let me look." },
    { tool_calls: [{ index: 0, id: "c1", function: { name: "terminal" } }] },
  ].map((delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`)
  await using assembled = await assembleApp([raw(frames.join(""), { "content-type": "text/event-stream" })])
  const session = await assembled.open()
  const { end } = await runToEnd(session, "go")
  expect([end.outcome, end.result.error?.code, assembled.model.requests.length]).toEqual(["error", "cut_calls", 1])
  expect(await stored(assembled, session)).toMatchObject([
    { role: "user" },
    { role: "assistant", content: "Let me look.", finish_reason: "incomplete" },
  ])
})

test("a fallback model does not repeat an answer that was shown", async () => {
  await using second = await startModelServer([says("Never.")])
  await using assembled = await assembleApp(
    [says(["One", " two"], failsInStream("overloaded_error", "too many requests"))],
    { config: `fallback_providers:\n  - provider: custom\n    model: other\n    base_url: ${second.url}/v1\n` },
  )
  const session = await assembled.open()
  const { end } = await runToEnd(session, "count")
  expect([end.outcome, second.requests.length]).toEqual(["error", 0])
  expect(await stored(assembled, session)).toMatchObject([{ role: "user" }, { content: "One two" }])
})

test("text that a content filter ended is discarded in favour of the fallback model", async () => {
  await using second = await startModelServer([says("Harmless.")])
  await using assembled = await assembleApp([says(["Bad", " words"], { finish: "content_filter" })], {
    config: `fallback_providers:\n  - provider: custom\n    model: other\n    base_url: ${second.url}/v1\n`,
  })
  const session = await assembled.open()
  const { end, events } = await runToEnd(session, "count")
  expect(end.result.finalResponse).toBe("Harmless.")
  expect(events).toContainEqual(expect.objectContaining({ kind: "notice", discardsText: true }))
  expect(await stored(assembled, session)).toMatchObject([{ role: "user" }, { content: "Harmless." }])
})

test("an interrupt of a continuation keeps the whole answer so far", async () => {
  await using assembled = await assembleApp([
    says(["One", " two"], { finish: "length" }),
    says([" three", " four"], stallsAfter({ deltas: 1 })),
    says("Hello."),
  ])
  const session = await assembled.open()
  const { end } = await runToEnd(session, "count", (event) => {
    if (event.type === "text-delta" && event.text.includes("three")) session.interrupt()
  })
  expect(end.result.finalResponse).toBe("One two three")
  expect(await stored(assembled, session)).toMatchObject([{ role: "user" }, { content: "One two three" }])
})

test("text before a tool call that cannot be used is reported as discarded", async () => {
  await using assembled = await assembleApp([
    reply({ text: "Let me look.", calls: [{ name: "terminal", input: '{"command": nonsense}' }] }),
    says("Done."),
  ])
  const session = await assembled.open()
  const { end, events } = await runToEnd(session, "go")
  expect(end.result.finalResponse).toBe("Done.")
  expect(events).toContainEqual(
    expect.objectContaining({
      type: "status",
      kind: "notice",
      discardsText: true,
      text: expect.stringContaining("the text above was discarded"),
    }),
  )
  expect(await stored(assembled, session)).toMatchObject([{ role: "user" }, { content: "Done." }])
})

test("an announcement that the model is asked to act on is part of the stored reply", async () => {
  const announcement = "I'll read the files of the project first."
  await using assembled = await assembleApp([says(announcement), says("All read.")], {
    config: "  api_mode: codex_responses\n",
  })
  const session = await assembled.open()
  const { end, events } = await runToEnd(session, "look at the project")
  expect(end.result.finalResponse).toBe(`${announcement}\n\nAll read.`)
  expect(shownText(events)).toBe(`${announcement}\n\nAll read.`)
  expect(await stored(assembled, session)).toMatchObject([
    { role: "user" },
    { content: `${announcement}\n\nAll read.` },
  ])
})

test("while a reply is streamed its text is on disk, and the stored message replaces it", async () => {
  const gate = Promise.withResolvers<void>()
  await using assembled = await assembleApp([says(["One", " two"], stallsAfter({ deltas: 1 }, gate.promise))])
  const session = await assembled.open()
  const directory = join(assembled.home.path, "cache", "partial-replies")
  const { end } = await runToEnd(session, "count", async (event) => {
    if (event.type !== "text-delta" || event.text !== "One") return
    await vi.waitFor(() => expect(readdirSync(directory)).toHaveLength(1), { timeout: 5000 })
    const [name = ""] = readdirSync(directory)
    expect(readFileSync(join(directory, name), "utf8")).toMatch(/\}\nOne$/)
    gate.resolve()
  })
  expect(end.result.finalResponse).toBe("One two")
  expect(readdirSync(directory)).toEqual([])
})

describe("a resume after a kill", () => {
  test("stores what was on disk of the reply", async () => {
    await using assembled = await assembleApp([says("Hello."), says("Again.")])
    const session = await assembled.open()
    await runToEnd(session, "hi")
    const store = await assembled.app.store()
    await store.append(session.id, [{ role: "user", content: "count" }])
    await leavePartialReply(assembled, session, { after: await lastRow(assembled, session) })
    await session.close("test")
    const resumed = await assembled.open({ resume: session.id })
    const { events } = await runToEnd(resumed, "and?")
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "warning", text: expect.stringContaining("stopped during a reply") }),
    )
    expect(assembled.model.view(1).messages.map(({ text }) => text)).toEqual([
      "hi",
      "Hello.",
      "count",
      "One two thr",
      expect.stringContaining("interrupted before its end"),
    ])
    expect(existsSync(partialPath(assembled, session))).toBe(false)
  })

  test("ignores a file that an older reply left", async () => {
    await using assembled = await assembleApp([says("Hello."), says("Again.")])
    const session = await assembled.open()
    await runToEnd(session, "hi")
    await leavePartialReply(assembled, session, { after: (await lastRow(assembled, session)) - 1 })
    await session.close("test")
    await runToEnd(await assembled.open({ resume: session.id }), "and?")
    expect(assembled.model.requests[1]?.rawBody).not.toContain("One two thr")
    expect(existsSync(partialPath(assembled, session))).toBe(false)
  })
})

function interruptAtText(session: Session): (event: AgentEvent) => void {
  return (event) => {
    if (event.type === "text-delta") session.interrupt()
  }
}

function shownText(events: readonly AgentEvent[]): string {
  return events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")
}

async function stored(assembled: AssembledApp, session: Session) {
  return await (await assembled.app.store()).conversation(session.id)
}

async function lastRow(assembled: AssembledApp, session: Session): Promise<number> {
  return (await (await assembled.app.store()).messages(session.id)).at(-1)?.id ?? 0
}

function partialPath(assembled: AssembledApp, session: Session): string {
  return join(assembled.home.path, "cache", "partial-replies", `${session.id}.1.txt`)
}

async function leavePartialReply(assembled: AssembledApp, session: Session, header: { readonly after: number }) {
  await mkdir(join(assembled.home.path, "cache", "partial-replies"), { recursive: true })
  writeFileSync(partialPath(assembled, session), `${JSON.stringify(header)}\nOne two thr`)
}
