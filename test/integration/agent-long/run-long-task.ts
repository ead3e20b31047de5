import type { SessionId } from "../../../src/protocol/identifiers.ts"
import type { RecordedRequest } from "../../support/model-server/recorded-request.ts"
import { repeat, says, status } from "../../support/model-server/turn.ts"
import type { Turn } from "../../support/model-server/turn.ts"
import { wireProblems } from "../agent/on-every-wire.ts"
import { assembleApp, runToEnd } from "../assembled-app.ts"
import { extendsRequest } from "./request-prefix.ts"
import { makeLongTask } from "./long-task.ts"

export interface LongTaskOptions {
  readonly seed: number
  readonly rounds: number
  readonly window: number
  /** What the server says a request held: its own count, or nothing at all. */
  readonly usage: "told" | "untold"
}

export interface LongTaskFigures {
  readonly outcome: string
  /** The first line of it. */
  readonly answer: string
  /** What broke the task off. */
  readonly error: string | undefined
  readonly rounds: number
  /** Requests that the server refused because they were longer than the window. */
  readonly overflows: number
  readonly largestShare: number
  /** Requests that did not hold the person's words. */
  readonly withoutTask: number
  readonly invalid: readonly string[]
  readonly compressions: number
  /** Of those, how many needed no model. */
  readonly withoutModel: number
  readonly auxiliaryCalls: number
  /** Pairs of requests with no compression between them, and how many of the later ones start with the bytes of the earlier. */
  readonly pairs: number
  readonly extended: number
  /** Messages of the whole chain of sessions that the store does not have. */
  readonly lost: number
  readonly sessions: number
}

const TASK =
  "Go through the whole project, part by part, and bring every module to its next version. Report at the end. (K7-42)"
const SUMMARY = `## Active Task\n${TASK}\n\n## Completed Actions\n${"1. Looked at a part of it.\n".repeat(20)}`

/** One long task on a model with a small window, on a server that counts characters and refuses what is too long. */
export async function runLongTask({ seed, rounds, window, usage }: LongTaskOptions): Promise<LongTaskFigures> {
  const task = makeLongTask(seed, rounds)
  const seen: { readonly request: RecordedRequest; readonly compression: number; readonly side: boolean }[] = []
  let compression = 0
  let round = 0
  let overflows = 0
  const answer = (request: RecordedRequest): Turn => {
    const side = !hasTools(request)
    seen.push({ request, compression, side })
    const tokens = tokensOf(request)
    if (tokens > window) {
      overflows += 1
      return tooLong(tokens, window)
    }
    const told = usage === "told" ? { usage: { input: tokens, output: 60 } } : { usage: null }
    if (side) return { ...says(SUMMARY), ...told }
    const next = task.rounds[round]
    round += 1
    return next === undefined ? { ...says("Every part is done."), ...told } : { kind: "reply", ...next, ...told }
  }
  await using house = await assembleApp([repeat(answer)], {
    config: `  context_length: ${window}\nagent:\n  max_turns: ${rounds + 20}\n${QUIET}`,
    workFiles: task.files,
  })
  const session = await house.open()
  const chain = new Set<SessionId>([session.id])
  const record = await runToEnd(session, TASK, (event) => {
    if (event.type === "status" && event.kind === "compress" && event.text.startsWith("making")) compression += 1
    if (event.type === "session-rotated") chain.add(event.newSessionId)
  })

  const main = seen.filter(({ side }) => !side)
  const side = seen.filter((each) => each.side)
  const pairs = main.slice(1).flatMap((later, index) => {
    const earlier = main[index]
    return earlier?.compression === later.compression ? [[earlier.request, later.request] as const] : []
  })
  return {
    outcome: record.end.outcome,
    answer: record.end.result.finalResponse?.split("\n")[0] ?? "",
    error: record.end.result.error?.message,
    rounds: main.length,
    overflows,
    largestShare: Math.max(...seen.map(({ request }) => tokensOf(request))) / window,
    withoutTask: main.filter(({ request }) => !holdsTask(request)).length,
    invalid: seen.flatMap((_, index) =>
      wireProblems(house.model, index).map((problem) => `request ${index}: ${problem}`),
    ),
    compressions: compression,
    withoutModel: compression - new Set(side.map((each) => each.compression)).size,
    auxiliaryCalls: side.length,
    pairs: pairs.length,
    extended: pairs.filter(([earlier, later]) => extendsRequest(earlier.rawBody, later.rawBody)).length,
    lost: await missingCalls(await house.app.store(), [...chain], task.rounds),
    sessions: chain.size,
  }
}

/** No title, so that a side call is one that a compression made. */
const QUIET = "auxiliary:\n  title_generation:\n    provider: none\n"

function tokensOf({ rawBody }: RecordedRequest): number {
  return Math.ceil(rawBody.length / 4)
}

function tooLong(tokens: number, window: number): Turn {
  return status(400, {
    error: {
      message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`,
      type: "invalid_request_error",
      code: "context_length_exceeded",
    },
  })
}

interface WireBody {
  readonly tools?: readonly unknown[]
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
}

function hasTools({ body }: RecordedRequest): boolean {
  return ((body as WireBody).tools ?? []).length > 0
}

function holdsTask({ body }: RecordedRequest): boolean {
  return (body as WireBody).messages.some(
    ({ role, content }) => role === "user" && typeof content === "string" && content.endsWith(TASK),
  )
}

/** How many calls of the task, or their results, are in none of the sessions. */
async function missingCalls(
  store: Awaited<ReturnType<Awaited<ReturnType<typeof assembleApp>>["app"]["store"]>>,
  chain: readonly SessionId[],
  rounds: ReturnType<typeof makeLongTask>["rounds"],
): Promise<number> {
  const asked = new Set<string>()
  const answered = new Set<string>()
  for (const id of chain) {
    for (const message of await store.conversation(id)) {
      if (message.role === "assistant") for (const call of message.tool_calls ?? []) asked.add(call.id)
      if (message.role === "tool") answered.add(message.tool_call_id)
    }
  }
  const calls = rounds.flatMap((round) => (round.calls ?? []).map(({ id = "" }) => id))
  return calls.filter((id) => !asked.has(id) || !answered.has(id)).length
}
