import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { createLogger } from "../../src/base/logger.ts"
import { toSessionId } from "../../src/protocol/identifiers.ts"
import { openSqliteStore } from "../../src/state/sqlite/open-store.ts"
import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, repeat, says } from "../support/model-server/turn.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor, streamLines } from "./hermes-process.ts"

const WINDOW = 32_000
const ROUNDS = 120

test("a task of 120 rounds of 7 KB is compressed rarely, and what the user asked and ruled out stays in every request", async () => {
  const task = "Read all parts. Never delete any of them."
  let round = 0
  const requests: string[] = []
  await using model = await startModelServer([
    repeat((request: RecordedRequest) => {
      const usage = { input: Math.ceil(request.rawBody.length / 4), output: 50 }
      requests.push(request.rawBody)
      round += 1
      if (round > ROUNDS) return { ...says("All parts are read."), usage }
      return { ...callsTool("read_file", { path: `part-${round}.txt` }), usage }
    }),
  ])
  await using home = await temporaryHome({
    config: settingsFor(model, `  context_length: ${WINDOW}\nagent:\n  max_turns: ${ROUNDS + 10}\n`),
    workFiles: Object.fromEntries(
      Array.from({ length: ROUNDS }, (_, index) => [`part-${index + 1}.txt`, `${index} line of a file\n`.repeat(300)]),
    ),
  })
  const run = await hermes(home, ["-z", task, "--output-format", "stream-json"])
  const lines = streamLines(run.stdout)
  const compressions = lines.filter(
    ({ type, kind, text }) => type === "status" && kind === "compress" && String(text).startsWith("compressing"),
  )
  expect([run.code, requests.length]).toEqual([0, ROUNDS + 1])
  expect(compressions.length).toBeGreaterThan(4)
  expect(compressions.length).toBeLessThanOrEqual(10)
  expect(requests.filter((body) => body.length / 4 > WINDOW || !body.includes(task))).toEqual([])
})

test("a conversation that was compressed 120 times goes on at its end", async () => {
  await using model = await startModelServer([repeat(() => says("Here I am."))])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const store = await openSqliteStore({
    path: `${home.path}/state.db`,
    clock: systemClock,
    log: createLogger({ sinks: [], redact: (text) => text }),
  })
  const id = (index: number) => toSessionId(`20260101_120000_${String(index).padStart(6, "0")}`)
  const session = (index: number) => ({
    id: id(index),
    source: "cli",
    startedAt: 1_767_268_800 + index,
    cwd: home.workdir,
  })
  await store.startSession(
    session(0),
    [
      { role: "user", content: "the beginning" },
      { role: "assistant", content: "Yes." },
    ],
    "Long talk",
  )
  for (let index = 1; index <= 120; index += 1) {
    await store.rotate(id(index - 1), session(index), [
      { role: "user", content: `part ${index}` },
      { role: "assistant", content: "Yes." },
    ])
  }
  await store.close()

  const run = await hermes(home, ["-z", "Where are you?", "--resume", id(0)])
  expect([run.code, run.stdout.trim()]).toEqual([0, "Here I am."])
  expect(model.view(0).messages.map(({ text }) => text)).toEqual([
    "part 120",
    "Yes.",
    expect.stringContaining("Where are you?"),
  ])
  const list = await hermes(home, ["sessions", "list", "--json"])
  expect(JSON.parse(list.stdout)).toMatchObject([{ id: id(120) }])
})
