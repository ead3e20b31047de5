import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { isValidHistory } from "../../src/agent/context/history-validity.ts"
import type { SessionId } from "../../src/protocol/identifiers.ts"
import type { Message } from "../../src/protocol/message.ts"
import { talk } from "../fixtures/agent/histories.ts"
import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { chunkBytes, repeat, reply, says } from "../support/model-server/turn.ts"
import type { Turn } from "../support/model-server/turn.ts"
import type { RunningProcess } from "../support/process-driver.ts"
import { seededRandom } from "../support/seeded-random.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { settingsFor, streamLines } from "./hermes-process.ts"
import {
  LOCK_TIMEOUT_MS,
  RUNS,
  answerIn,
  chainOf,
  checkAnnounced,
  checkResumed,
  forEachSeed,
  isAuxiliaryRequest,
  lastUserText,
  orExit,
  pause,
  problemsOf,
  runUntilKilled,
  seedSession,
  startResumed,
} from "./killed-session.ts"

const SUMMARY = "## Active Task\nWork through the list.\n\n## Goal\nTo be done."
/** A context window that is full after a few results, so that a summary is created each time. */
const SETTINGS = "  context_length: 16000\ncompression:\n  strategy: summarize\nmemory:\n  nudge_interval: 0\n"
const ROUNDS = 6

test(
  `${RUNS} conversations killed during a compression lose nothing, repeat nothing, and can be resumed`,
  async () => {
    const outcomes = await forEachSeed(killInCompression)
    expect(outcomes.flatMap(({ problems }) => problems)).toEqual([])
    // Some runs must be killed during the summary and some after the first child session; otherwise the test proves nothing.
    const [during, behind] = [true, false].map((inFirst) =>
      outcomes.some(({ asked, children }) => asked > 0 && (children === 0) === inFirst),
    )
    expect(RUNS < 15 || (during && behind)).toBe(true)
  },
  60_000 + RUNS * 6000,
)

test("a process that waits for the compression of another continues at once when that one is killed", async () => {
  const never = new Promise<void>(() => undefined)
  let summaries = 0
  const script = repeat((request) => {
    if (!isAuxiliaryRequest(request)) return says(`Answer to ${lastUserText(request)}`)
    summaries += 1
    return summaries === 1 ? { ...says(SUMMARY), waitsFor: never } : says(SUMMARY)
  })
  await using model = await startModelServer([script])
  await using home = await temporaryHome({ config: settingsFor(model, SETTINGS) })
  const { id, messages } = await seedLongSession(home)
  await using first = startResumed(home, id, "one")
  await model.received(0)
  await using second = startResumed(home, id, "two")
  await second.waitForOutput(/"type":"session\.start"/)
  const killedAt = Date.now()
  first.signal("SIGKILL")
  const { code, stdout, durationMs } = await second.exit
  expect({
    code,
    answer: answerIn(streamLines(stdout)),
    waited: (model.requests[1]?.at ?? 0) >= killedAt,
    quick: durationMs < LOCK_TIMEOUT_MS,
    summaries,
  }).toEqual({ code: 0, answer: "Answer to two", waited: true, quick: true, summaries: 2 })
  // The message of the killed process is stored too.
  const [old] = await chainOf(home, id)
  expect(old?.messages.map(contentOf)).toEqual([...messages.map(contentOf), "one", "two"])
})

test("of two processes in one conversation the second waits for the first one's compression, and nothing is lost", async () => {
  const gate = Promise.withResolvers<void>()
  const script = repeat((request) =>
    isAuxiliaryRequest(request)
      ? { ...says(SUMMARY), waitsFor: gate.promise }
      : says(`Answer to ${lastUserText(request)}`),
  )
  await using model = await startModelServer([script])
  await using home = await temporaryHome({ config: settingsFor(model, SETTINGS) })
  const { id, messages } = await seedLongSession(home)
  await using first = startResumed(home, id, "one")
  await model.received(0)
  await using second = startResumed(home, id, "two")
  await second.waitForOutput(/"type":"session\.start"/)
  const releasedAt = Date.now()
  gate.resolve()
  const ended = await Promise.all([first.exit, second.exit])
  const answers = ended.map(({ stdout }) => answerIn(streamLines(stdout)))
  expect(ended.map(({ code }) => code)).toEqual([0, 0])
  // The second process sees the first reply if that was stored first.
  expect(answers).toEqual(["Answer to one", expect.stringMatching(/^Answer to (?:one\n\n)?two$/)])
  expect(model.requests.slice(1).every(({ at }) => at >= releasedAt)).toBe(true)
  const chain = await chainOf(home, id)
  expect(chain[0]?.messages.slice(0, messages.length + 1).map(contentOf)).toEqual([...messages.map(contentOf), "one"])
  // There is one continuation, not two, and it contains the messages and replies of both.
  expect(chain).toHaveLength(2)
  expect(chain[1]?.messages.map(contentOf)).toEqual(expect.arrayContaining(["two", ...answers]))
  await using third = startResumed(home, id, "three")
  expect((await third.exit).code).toBe(0)
  expect(model.view(model.requests.length - 1).messages.map(({ text }) => text)).toEqual(
    expect.arrayContaining(["three"]),
  )
})

interface Outcome {
  readonly problems: readonly string[]
  /** The number of requested summaries and of child sessions before the kill. */
  readonly asked: number
  readonly children: number
}

async function killInCompression(seed: number): Promise<Outcome> {
  const random = seededRandom(seed)
  const work = createWork()
  await using model = await startModelServer([repeat((request) => work.answer(request))])
  await using home = await temporaryHome({ config: settingsFor(model, SETTINGS) })
  const { problems, check } = problemsOf(seed)
  const { id, messages } = await seedLongSession(home)

  work.begin(ROUNDS)
  const printed = await runUntilKilled(home, id, (running) => compressionInstant(running, { model, random }))
  const asked = model.requests.filter(isAuxiliaryRequest).length
  const chain = await chainOf(home, id)
  const kept = chain[0]?.messages.slice(0, messages.length).map(contentOf)
  check(JSON.stringify(kept) === JSON.stringify(messages.map(contentOf)), "messages from before are not the same")
  for (const child of chain.slice(1)) check(isValidHistory(child.messages), `the child ${child.id} is not valid`)
  checkAnnounced(printed, chain, check)
  const stored = JSON.stringify(chain)
  for (const effect of await effectsIn(home)) check(stored.includes(effect), `${effect} ran before its call was stored`)

  work.begin(1)
  await checkResumed({ home, model, id, check })
  const ran = await effectsIn(home)
  check(new Set(ran).size === ran.length, `effects ran twice: ${ran.join(" ")}`)
  return { problems, asked, children: chain.length - 1 }
}

/** Waits for an instant during a summary, during the writes after it, or a random one. */
async function compressionInstant(
  running: RunningProcess,
  { model, random }: { readonly model: ModelServer; readonly random: () => number },
): Promise<void> {
  const kind = random()
  const summary = nthAuxiliaryRequest(model, Math.floor(random() * 2))
  if (kind < 0.35) {
    await orExit(running, summary)
    await orExit(running, pause(random() * 120))
  } else if (kind < 0.8) {
    await orExit(
      running,
      summary.then(async ({ outcome }) => await outcome),
    )
    await orExit(running, pause(random() * 25))
  } else {
    await orExit(running, pause(200 + random() * 1200))
  }
}

async function nthAuxiliaryRequest(model: ModelServer, wanted: number): Promise<RecordedRequest> {
  for (let index = 0, seen = 0; ; index += 1) {
    const request = await model.received(index)
    if (!isAuxiliaryRequest(request)) continue
    if (seen === wanted) return request
    seen += 1
  }
}

/** A model that calls commands with distinguishable effects and results that fill the window. */
function createWork(): { begin(rounds: number): void; answer(request: RecordedRequest): Turn } {
  let serial = 0
  let left = 0
  return {
    begin: (rounds) => {
      left = rounds
    },
    answer: (request) => {
      const usage = { usage: { input: Math.ceil(request.rawBody.length / 4), output: 20 } }
      if (isAuxiliaryRequest(request)) return says(SUMMARY, chunkBytes(60, { delayMs: 2 }), usage)
      if (left === 0) return says("All done.", usage)
      left -= 1
      serial += 1
      const command = `echo effect-${serial}- >> effects.log; seq -f 'line %g of result ${serial}, with some words' 1 220`
      const call = { id: `call_${serial}`, name: "terminal", input: { command } }
      return reply({ text: `Step ${serial}.`, calls: [call], ...usage })
    },
  }
}

/** The unique words of all effects, in order. */
async function effectsIn(home: TemporaryHome): Promise<readonly string[]> {
  const path = join(home.workdir, "effects.log")
  if (!existsSync(path)) return []
  return (await readFile(path, "utf8")).split("\n").filter((line) => line !== "")
}

/** Creates a conversation that exceeds its context window from the start. */
async function seedLongSession(
  home: TemporaryHome,
): Promise<{ readonly id: SessionId; readonly messages: readonly Message[] }> {
  const messages = talk(70, 1000)
  return { id: await seedSession(home, messages), messages }
}

function contentOf({ content }: Message): Message["content"] {
  return content
}
