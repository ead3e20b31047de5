import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { talk } from "../../fixtures/agent/histories.ts"
import type { RecordedRequest } from "../../support/model-server/recorded-request.ts"
import { startModelServer } from "../../support/model-server/server.ts"
import { callsTool, refuses, repeat, says } from "../../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { wireProblems } from "./on-every-wire.ts"
import { seedSession } from "./seeded-session.ts"

const { signal } = new AbortController()
const WINDOW = 32_000
const TASK = "Read every file of the list and tell me which one is blue."

function isSummaryRequest({ rawBody }: RecordedRequest): boolean {
  return rawBody.includes("You write context checkpoints")
}

/** A rough token count; the server rejects longer requests. */
const tokensOf = ({ rawBody }: RecordedRequest): number => Math.ceil(rawBody.length / 4)

test("a task of 120 rounds in a small window: nothing overflows, and the task is in every request", async () => {
  const rounds = 120
  let round = 0
  let summaries = 0
  const overflows: number[] = []
  const without: number[] = []
  const model = repeat((request) => {
    if (isSummaryRequest(request)) {
      summaries += 1
      return says("## Active Task\nRead the files.\n\n## Completed Actions\n1. Read many files.")
    }
    const tokens = tokensOf(request)
    if (tokens > WINDOW) {
      overflows.push(tokens)
      return refuses(400, `maximum context length is ${WINDOW} tokens, you requested ${tokens} tokens`)
    }
    if (!request.rawBody.includes(TASK)) without.push(round)
    if (round === rounds) return says("The 40th.", { usage: { input: tokens } })
    round += 1
    const path = `files/${round % 60}.txt`
    return { ...callsTool("read_file", { path, offset: 1, limit: 100 + round }), usage: { input: tokens } }
  })
  const files = Object.fromEntries(
    Array.from({ length: 60 }, (_, n) => [`files/${n}.txt`, `file ${n} line of words and more words\n`.repeat(90)]),
  )
  await using assembled = await assembleApp([model], {
    config: `  context_length: ${WINDOW}\nagent:\n  max_turns: 200\n`,
    workFiles: files,
  })
  const session = await assembled.open()
  const { end, events } = await runToEnd(session, TASK)
  expect([end.outcome, end.result.finalResponse, end.result.toolCalls]).toEqual(["completed", "The 40th.", rounds])
  expect({ overflows, without }).toEqual({ overflows: [], without: [] })
  const compressions = events.filter(
    (event) => event.type === "status" && event.kind === "compress" && event.text.startsWith("compressed"),
  ).length
  expect(compressions).toBeGreaterThan(3)
  expect(summaries).toBeLessThan(Math.max(1, compressions * 0.2))
  for (const [index, request] of assembled.model.requests.entries()) {
    if (!isSummaryRequest(request)) expect([index, wireProblems(assembled.model, index)]).toEqual([index, []])
  }
})

test("a fallback model with a smaller window gets a conversation that fits it", async () => {
  const received: number[] = []
  await using other = await startModelServer([
    repeat((request) => {
      if (isSummaryRequest(request)) return says("## Active Task\nGo on.")
      received.push(tokensOf(request))
      return says("Here.")
    }),
  ])
  await using assembled = await assembleApp([repeat(refuses(401, "expired"))], {
    config: `  context_length: 200000\nfallback_providers:\n  - provider: custom\n    model: small\n    base_url: ${other.url}/v1\n`,
  })
  const session = await assembled.open({ resume: await seedSession(assembled, talk(120, 1000)) })
  const { end } = await runToEnd(session, "go on")
  expect([end.outcome, end.result.finalResponse]).toEqual(["completed", "Here."])
  expect(received.every((tokens) => tokens <= 8192)).toBe(true)
})

test("a conversation that is not stored is compressed as well", async () => {
  const summary = repeat((request: RecordedRequest) =>
    isSummaryRequest(request) ? says("## Active Task\nGo on.") : says(`Fine. ${"y".repeat(300)}`),
  )
  await using assembled = await assembleApp([summary], { config: "  context_length: 200000\n" })
  await mkdir(join(assembled.home.path, "state.db"))
  const session = await assembled.open()
  for (let turn = 0; turn < 20; turn += 1) await runToEnd(session, `${turn} ${"x".repeat(300)}`)
  const { id } = session
  const done = await session.compress({ focus: "x", signal })
  expect(done).toMatchObject({ ok: true, value: { removedMessages: true, sessionId: id } })
  await runToEnd(session, "and now?")
  const index = assembled.model.requests.length - 1
  expect([
    assembled.model.requests[index]?.rawBody.includes("CONTEXT COMPACTION"),
    wireProblems(assembled.model, index),
  ]).toEqual([true, []])
  await rm(join(assembled.home.path, "state.db"), { recursive: true })
})

test("a new conversation is not compressed, and no model is called", async () => {
  await using assembled = await assembleApp([says("Hello.")])
  const session = await assembled.open()
  expect(await session.compress({ signal })).toMatchObject({ ok: true, value: { layersRun: [] } })
  await runToEnd(session, "hello")
  expect(await session.compress({ focus: "doors", signal })).toMatchObject({ ok: true, value: { layersRun: [] } })
  expect(assembled.model.requests).toHaveLength(1)
})
