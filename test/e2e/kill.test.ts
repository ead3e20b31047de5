import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import type { SessionId } from "../../src/protocol/identifiers.ts"
import type { Message } from "../../src/protocol/message.ts"
import { openSqliteStore } from "../../src/state/sqlite/open-store.ts"
import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { chunkBytes, repeat, reply, says } from "../support/model-server/turn.ts"
import type { ScriptedCall, Turn } from "../support/model-server/turn.ts"
import type { RunningProcess } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor, startHermes, streamLines } from "./hermes-process.ts"

const RUNS = Number(process.env["HERMES_KILL_RUNS"] ?? 40)
const SEED = Number(process.env["HERMES_KILL_SEED"] ?? 20_250_615)
const CONCURRENCY = 2
/** A little more than an undisturbed conversation takes on a busy machine with two cores. */
const LONGEST_MS = 450
const TOOL_ROUNDS = 4

test(
  `${RUNS} conversations killed at random instants lose nothing and repeat nothing`,
  async () => {
    const seeds = Array.from({ length: RUNS }, (_, index) => SEED + index)
    const outcomes: Outcome[] = []
    const lane = async (): Promise<void> => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) outcomes.push(await killOnce(seed))
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, lane))

    expect(outcomes.flatMap(({ problems }) => problems)).toEqual([])
    expect(outcomes).toHaveLength(RUNS)
    // The kills must be spread over the conversation; otherwise the test proves nothing.
    const reached = new Set(outcomes.map(({ requests }) => requests))
    expect([...reached].filter((requests) => requests > 0).length).toBeGreaterThan(Math.min(3, RUNS / 10))
    expect(outcomes.some(({ unknown }) => unknown > 0) || RUNS < 40).toBe(true)
  },
  30_000 + RUNS * 3000,
)

interface Outcome {
  /** How many requests the server had received when the process was killed. */
  readonly requests: number
  /** Calls whose result was lost with the process. */
  readonly unknown: number
  readonly problems: readonly string[]
}

async function killOnce(seed: number): Promise<Outcome> {
  const random = randomFrom(seed)
  await using model = await startModelServer([repeat(createModel())])
  await using home = await temporaryHome({ config: settingsFor(model) })
  const problems: string[] = []
  const check = (holds: boolean, what: string): void => {
    if (!holds) problems.push(`seed ${seed}: ${what}`)
  }

  let session = await runAndKill({ home, model, random, args: ["-q", "work through the list"] })
  await checkStore({ home, model, session, check })
  const requests = model.requests.length
  // Some resumed runs are killed too: a settled call must not be settled again.
  while (session.id !== undefined && random() < 0.3) {
    session = await runAndKill({ home, model, random, args: ["-q", "go on", "--resume", session.id] })
    await checkStore({ home, model, session, check })
  }
  let unknown = 0
  if (session.id !== undefined) unknown = await checkResume({ home, model, id: session.id, check })
  return { requests, unknown, problems }
}

interface Killed {
  readonly id: SessionId | undefined
  readonly stdout: string
}

async function runAndKill(run: {
  readonly home: TemporaryHome
  readonly model: ModelServer
  readonly random: () => number
  readonly args: readonly string[]
}): Promise<Killed> {
  const { home, model, random } = run
  const before = model.requests.length
  await using running = startHermes(home, [...run.args, "--output-format", "stream-json"], { stdin: "inherit-null" })
  await randomInstant(running, { model, before, random })
  running.signal("SIGKILL")
  const { stdout } = await running.exit
  return { id: await onlySession(home), stdout }
}

/** Some instants are random; the others follow a step closely, when the store is written. */
async function randomInstant(
  running: RunningProcess,
  { model, before, random }: { readonly model: ModelServer; readonly before: number; readonly random: () => number },
): Promise<void> {
  const kind = random()
  if (kind < 0.4) {
    await Promise.race([running.exit, systemClock.sleep(random() * LONGEST_MS, { signal: AbortSignal.timeout(5000) })])
    return
  }
  const step = Math.floor(random() * (TOOL_ROUNDS + 1))
  const reached =
    kind < 0.7
      ? model.received(before + step)
      : running.waitForOutput(
          new RegExp(`(?:"type":"(?:tool\\.complete|tool\\.start|message\\.complete)"[^]*){${step + 1}}`),
        )
  await Promise.race([reached.catch(() => undefined), running.exit])
  await Promise.race([running.exit, systemClock.sleep(random() * 15, { signal: AbortSignal.timeout(5000) })])
}

async function onlySession(home: TemporaryHome): Promise<SessionId | undefined> {
  return await withStore(home, async ({ store }) => (await store.list({ all: true }))[0]?.id)
}

interface CheckInput {
  readonly home: TemporaryHome
  readonly model: ModelServer
  readonly check: (holds: boolean, what: string) => void
}

/** Checks that everything printed or sent before the kill is stored, and that every effect belongs to a stored call. */
async function checkStore({ home, model, session, check }: CheckInput & { readonly session: Killed }): Promise<void> {
  const lines = streamLines(session.stdout)
  if (session.id === undefined) {
    check(model.requests.length === 0, "a request left before its message was stored")
    check(!lines.some(({ type }) => type === "message.complete"), "a message was announced but not stored")
    return
  }
  const stored = await withStore(home, async ({ store, warnings }) => {
    check(warnings.length === 0, `the store was damaged: ${warnings.join(" ")}`)
    return await store.conversation(session.id as SessionId)
  })
  const said = stored.flatMap((message) => (message.role === "assistant" ? [message.content ?? ""] : []))
  const answered = new Set(stored.flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : [])))
  for (const line of lines) {
    if (line.type === "message.complete")
      check(said.includes(String(line["text"])), `the announced message "${String(line["text"])}" is lost`)
    if (line.type === "tool.complete")
      check(answered.has(String(line["tool_call_id"])), `the result of ${String(line["tool_call_id"])} is lost`)
  }
  const last = model.requests.at(-1)
  if (last !== undefined) {
    const sent = wireMessages(last).filter(({ role }) => role !== "system")
    check(isStored(sent, stored), `request ${model.requests.length - 1} contained messages that are not stored`)
  }
  const calls = JSON.stringify(stored.filter(({ role }) => role === "assistant"))
  for (const effect of await effects(home)) check(calls.includes(effect), `${effect} ran before its call was stored`)
}

/** Checks that the session can be resumed: the history is valid on the wire, lost results are reported once, no effect ran twice. */
async function checkResume({ home, model, id, check }: CheckInput & { readonly id: SessionId }): Promise<number> {
  const earlier = model.requests.at(-1)
  const firstOfResume = model.requests.length
  const result = await hermes(home, ["-Q", "-q", "go on", "--resume", id], { stdin: "inherit-null" })
  check(result.code === 0 && result.stdout === "All done.\n", `resuming failed: ${result.code} ${result.stderr}`)
  const request = model.requests[firstOfResume]
  if (request === undefined) {
    check(false, "resuming sent no request")
    return 0
  }
  const messages = wireMessages(request)
  for (const problem of wireProblems(messages)) check(false, problem)
  if (earlier !== undefined && wireMessages(earlier).at(-1)?.role === "tool") {
    check(request.rawBody.startsWith(earlier.rawBody.slice(0, -"]}".length)), "the resumed request has another prefix")
  }
  const ran = await effects(home)
  check(new Set(ran).size === ran.length, `effects ran twice: ${ran.join(" ")}`)
  check(model.unanswered.length === 0, "the server had no answer")
  return messages.filter(({ role, content }) => role === "tool" && content?.includes('"status":"unknown"')).length
}

interface WireMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly { readonly id: string }[]
  readonly tool_call_id?: string
}

function wireMessages(request: RecordedRequest): readonly WireMessage[] {
  return (request.body as { readonly messages: readonly WireMessage[] }).messages
}

/** Problems that a strict server would reject. */
function wireProblems(messages: readonly WireMessage[]): readonly string[] {
  const problems: string[] = []
  const open = new Set<string>()
  let previous = ""
  for (const { role, tool_calls: calls = [], tool_call_id: id = "" } of messages) {
    if (role === "tool") {
      if (!open.delete(id)) problems.push(`a result for ${id} that nothing asked for`)
      previous = role
      continue
    }
    if (open.size > 0) problems.push(`calls without a result: ${[...open].join(" ")}`)
    open.clear()
    if (role === "user" && previous === "user") problems.push("two user messages in a row")
    if (role === "assistant" && previous !== "user" && previous !== "tool") problems.push(`assistant after ${previous}`)
    for (const call of calls) open.add(call.id)
    previous = role
  }
  if (previous !== "user") problems.push(`the request ends with ${previous}`)
  return problems
}

/** Adjacent user messages are joined on the wire, so messages are compared by content. */
function isStored(sent: readonly WireMessage[], stored: readonly Message[]): boolean {
  const have = JSON.stringify(stored)
  return sent.every((message) =>
    message.role === "tool"
      ? stored.some((each) => each.role === "tool" && each.tool_call_id === message.tool_call_id)
      : message.role === "assistant"
        ? (message.tool_calls ?? []).every((call) => have.includes(call.id))
        : (message.content ?? "").split("\n\n").every((text) => have.includes(text)),
  )
}

/** The unique words of all effects, in order. */
async function effects(home: TemporaryHome): Promise<readonly string[]> {
  const path = join(home.workdir, "effects.log")
  if (!existsSync(path)) return []
  return (await readFile(path, "utf8")).split("\n").filter((line) => line !== "")
}

/** A model that calls tools with distinguishable effects, sometimes several in one reply, and then ends. */
function createModel(): (request: RecordedRequest) => Turn {
  let serial = 0
  return (request) => {
    const messages = wireMessages(request)
    const lastUser = messages.findLastIndex(({ role }) => role === "user")
    const rounds = messages.slice(lastUser).filter(({ role }) => role === "assistant").length
    const resumed = messages[lastUser]?.content?.endsWith("go on") === true
    if (rounds >= (resumed ? 1 : TOOL_ROUNDS)) return says("All done.")
    const append = (): ScriptedCall => {
      serial += 1
      const word = `effect-${serial}-`
      return { id: `call_${serial}`, name: "terminal", input: { command: `echo ${word} >> effects.log` } }
    }
    const write = (): ScriptedCall => {
      serial += 1
      return { id: `call_${serial}`, name: "write_file", input: { path: `file-${serial}.txt`, content: `${serial}\n` } }
    }
    const calls = rounds % 2 === 0 ? [append()] : [write(), append(), write()]
    return reply({ text: `Step ${serial}.`, calls }, chunkBytes(400, { delayMs: 1 }))
  }
}

async function withStore<T>(
  home: TemporaryHome,
  use: (opened: {
    readonly store: Awaited<ReturnType<typeof openSqliteStore>>
    readonly warnings: readonly string[]
  }) => Promise<T>,
): Promise<T> {
  const warnings: string[] = []
  const log = { debug: () => undefined, warning: (text: string) => void warnings.push(text) }
  const store = await openSqliteStore({ path: join(home.path, "state.db"), clock: systemClock, log })
  try {
    return await use({ store, warnings })
  } finally {
    await store.close()
  }
}

/** Mulberry32: a deterministic random generator. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
