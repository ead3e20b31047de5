import { join } from "node:path"

import { promptMark } from "../../src/app/session/stored-prompt.ts"
import { systemClock } from "../../src/base/clock.ts"
import type { SessionId } from "../../src/protocol/identifiers.ts"
import { contentText } from "../../src/protocol/message.ts"
import type { Message } from "../../src/protocol/message.ts"
import { newSessionId } from "../../src/state/session-id.ts"
import { openSqliteStore } from "../../src/state/sqlite/open-store.ts"
import type { SessionStore } from "../../src/state/store.ts"
import type { RecordedRequest } from "../support/model-server/recorded-request.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import type { RunningProcess } from "../support/process-driver.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { startHermes, streamLines } from "./hermes-process.ts"
import type { StreamLine } from "./hermes-process.ts"

/** The number of kills, for example `HERMES_KILL_RUNS=200 npx vitest run test/e2e/compression-kill`. */
export const RUNS = Number(process.env["HERMES_KILL_RUNS"] ?? 15)
const SEED = Number(process.env["HERMES_KILL_SEED"] ?? 20_261_115)
const CONCURRENCY = 2

/** Runs once for each seed, two at a time. */
export async function forEachSeed<T>(once: (seed: number) => Promise<T>): Promise<readonly T[]> {
  const seeds = Array.from({ length: RUNS }, (_, index) => SEED + index)
  const outcomes: T[] = []
  const runNextSeeds = async (): Promise<void> => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) outcomes.push(await once(seed))
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, runNextSeeds))
  return outcomes
}

export type Check = (holds: boolean, what: string) => void

export function problemsOf(seed: number): { readonly problems: string[]; readonly check: Check } {
  const problems: string[] = []
  return {
    problems,
    check: (holds, what) => {
      if (!holds) problems.push(`seed ${seed}: ${what}`)
    },
  }
}

/** Resumes the session with a task and kills the process when `instant` resolves. Returns its output. */
export async function runUntilKilled(
  home: TemporaryHome,
  id: SessionId,
  instant: (running: RunningProcess) => Promise<void>,
): Promise<readonly StreamLine[]> {
  await using running = startResumed(home, id, "work through the list")
  await instant(running)
  running.signal("SIGKILL")
  return streamLines((await running.exit).stdout)
}

export function startResumed(home: TemporaryHome, id: SessionId, prompt: string): RunningProcess {
  const args = ["-q", prompt, "--resume", id, "--output-format", "stream-json"]
  return startHermes(home, args, { stdin: "inherit-null" })
}

/** Waits for `moment` or the end of the process, whichever comes first. */
export async function orExit(running: RunningProcess, moment: Promise<unknown>): Promise<void> {
  await Promise.race([moment, running.exit])
}

export async function pause(ms: number): Promise<void> {
  await systemClock.sleep(ms, { signal: AbortSignal.timeout(10_000) })
}

/** Checks that everything that was printed is stored in one of the sessions. */
export function checkAnnounced(lines: readonly StreamLine[], chain: readonly StoredSession[], check: Check): void {
  const stored = chain.flatMap(({ messages }) => messages)
  const said = new Set(stored.flatMap((message) => (message.role === "assistant" ? [message.content ?? ""] : [])))
  const answered = new Set(stored.flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : [])))
  for (const line of lines) {
    const about = (field: string): string => String(line[field])
    if (line.type === "message.complete") check(said.has(about("text")), `"${about("text")}" is lost`)
    if (line.type === "tool.complete")
      check(answered.has(about("tool_call_id")), `the result of ${about("tool_call_id")} is lost`)
    if (line.type === "session.rotated")
      check(
        chain.some(({ id }) => id === line["new_session_id"]),
        `the child ${about("new_session_id")} is lost`,
      )
  }
}

/**
 * Resumes a killed session to its end ("All done.") and checks that calls without a result get the status unknown and are reported
 * to the user. Returns their number.
 */
export async function checkResumed(resume: {
  readonly home: TemporaryHome
  readonly model: ModelServer
  readonly id: SessionId
  readonly check: Check
}): Promise<number> {
  const { home, model, id, check } = resume
  const lost = unansweredCalls((await chainOf(home, id)).flatMap(({ messages }) => messages))
  const first = model.requests.length
  await using running = startResumed(home, id, "go on")
  const { code, stdout, stderr, durationMs } = await running.exit
  const lines = streamLines(stdout)
  const answer = answerIn(lines)
  check(code === 0 && answer === "All done.", `resuming failed: ${code} ${String(answer)} ${stderr}`)
  check(
    durationMs < LOCK_TIMEOUT_MS,
    `resuming took ${Math.round(durationMs)} ms: it waited for the lock of the killed process`,
  )
  check(model.unanswered.length === 0, "the server had no answer")
  const reported = lines.some((line) => String(line["text"]).includes("stopped during a tool call"))
  check(
    reported === lost.length > 0,
    `${lost.length} calls were in flight, but they were ${reported ? "" : "not "}reported to the user`,
  )

  const request = model.requests.slice(first).find((each) => !isAuxiliaryRequest(each))
  for (const problem of request === undefined ? ["no request was sent"] : wireProblems(request)) check(false, problem)
  check(lastUserText(request).endsWith("go on"), "the new message is not at the end")
  const results = (await chainOf(home, id)).flatMap(({ messages }) => messages.filter(({ role }) => role === "tool"))
  for (const call of lost) {
    const settled = new Set(results.flatMap((each) => (callOf(each) === call ? [contentText(each.content)] : [])))
    check(settled.size === 1 && [...settled].join().includes('"status":"unknown"'), `${call} is not settled as unknown`)
  }
  return lost.length
}

/** How long a compression waits for another one at most. */
export const LOCK_TIMEOUT_MS = 9500

export function answerIn(lines: readonly StreamLine[]): unknown {
  return lines.findLast(({ type }) => type === "message.complete")?.["text"]
}

function unansweredCalls(messages: readonly Message[]): readonly string[] {
  const answered = new Set(messages.map(callOf))
  const asked = messages.flatMap((message) =>
    message.role === "assistant" ? (message.tool_calls ?? []).map(({ id }) => id) : [],
  )
  return [...new Set(asked)].filter((id) => !answered.has(id))
}

function callOf(message: Message): string | undefined {
  return message.role === "tool" ? message.tool_call_id : undefined
}

interface WireMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly { readonly id: string }[]
  readonly tool_call_id?: string
}

interface WireBody {
  readonly messages: readonly WireMessage[]
  readonly tools?: readonly unknown[]
}

/** The last user message of a request. */
export function lastUserText(request: RecordedRequest | undefined): string {
  const messages = request === undefined ? [] : (request.body as WireBody).messages
  return messages.findLast(({ role }) => role === "user")?.content ?? ""
}

/** Requests of auxiliary tasks, such as summaries, have no tools. */
export function isAuxiliaryRequest({ body }: RecordedRequest): boolean {
  return ((body as WireBody).tools ?? []).length === 0
}

/** Problems that a strict server would reject. */
function wireProblems({ body }: RecordedRequest): readonly string[] {
  const problems: string[] = []
  const open = new Set<string>()
  for (const { role, tool_calls: calls = [], tool_call_id: id = "" } of (body as WireBody).messages) {
    if (role === "tool" && !open.delete(id)) problems.push(`a result for ${id} that nothing asked for`)
    if (role !== "tool" && open.size > 0) problems.push(`calls without a result: ${[...open].join(" ")}`)
    for (const call of calls) open.add(call.id)
  }
  return problems
}

const PROMPT = "You are a test."

/** Creates a session with earlier messages. */
export async function seedSession(home: TemporaryHome, messages: readonly Message[]): Promise<SessionId> {
  const id = newSessionId(systemClock, "terminal")
  await withStore(home, async (store) => {
    const startedAt = systemClock.now() / 1000 - 3600
    const session = { id, source: "cli", startedAt, systemPrompt: PROMPT, modelConfig: promptMark(PROMPT) }
    await store.startSession(session, messages, "Seeded")
  })
  return id
}

export interface StoredSession {
  readonly id: SessionId
  readonly messages: readonly Message[]
}

/** The session and its continuations, oldest first. */
export async function chainOf(home: TemporaryHome, id: SessionId): Promise<readonly StoredSession[]> {
  return await withStore(home, async (store) => {
    const ids = (await store.lineage(id)).map((node) => node.id)
    return await Promise.all(ids.map(async (each) => ({ id: each, messages: await store.conversation(each) })))
  })
}

/** Opens the store. Throws when the file is damaged. */
async function withStore<T>(home: TemporaryHome, use: (store: SessionStore) => Promise<T>): Promise<T> {
  const log = {
    debug: () => undefined,
    warning: (text: string) => {
      throw new Error(`the store was damaged: ${text}`)
    },
  }
  const store = await openSqliteStore({ path: join(home.path, "state.db"), clock: systemClock, log })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}
