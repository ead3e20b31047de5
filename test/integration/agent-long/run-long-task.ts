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
  /** Whether the server reports the size of requests. */
  readonly usage: "reported" | "missing"
}

export interface LongTaskFigures {
  readonly outcome: string
  /** Its first line. */
  readonly answer: string
  /** The error that ended the task. */
  readonly error: string | undefined
  readonly rounds: number
  /** Requests that the server rejected because they exceeded the window. */
  readonly overflows: number
  readonly largestShare: number
  /** Requests without the user's message. */
  readonly withoutTask: number
  readonly invalid: readonly string[]
  readonly compressions: number
  /** Compressions without a model call. */
  readonly withoutModel: number
  readonly auxiliaryCalls: number
  /** Consecutive requests without a compression between them, and in how many the later one starts with the bytes of the earlier one. */
  readonly pairs: number
  readonly extended: number
  /** Calls or results that no session of the chain has stored. */
  readonly lost: number
  readonly sessions: number
}

const TASK =
  "Go through the whole project, part by part, and bring every module to its next version. Report at the end. (K7-42)"
const SUMMARY = `## Active Task\n${TASK}\n\n## Completed Actions\n${"1. Looked at a part of it.\n".repeat(20)}`

/** Runs one long task with a small window, on a server that counts characters and rejects longer requests. */
export async function runLongTask({ seed, rounds, window, usage }: LongTaskOptions): Promise<LongTaskFigures> {
  const task = makeLongTask(seed, rounds)
  const seen: { readonly request: RecordedRequest; readonly compression: number; readonly auxiliary: boolean }[] = []
  let compression = 0
  let round = 0
  let overflows = 0
  const answer = (request: RecordedRequest): Turn => {
    const auxiliary = !hasTools(request)
    seen.push({ request, compression, auxiliary })
    const tokens = tokensOf(request)
    if (tokens > window) {
      overflows += 1
      return tooLong(tokens, window)
    }
    const reported = usage === "reported" ? { usage: { input: tokens, output: 60 } } : { usage: null }
    if (auxiliary) return { ...says(SUMMARY), ...reported }
    const next = task.rounds[round]
    round += 1
    return next === undefined
      ? { ...says("Every part is done."), ...reported }
      : { kind: "reply", ...next, ...reported }
  }
  await using assembled = await assembleApp([repeat(answer)], {
    config: `  context_length: ${window}\nagent:\n  max_turns: ${rounds + 20}\n${QUIET}`,
    workFiles: task.files,
  })
  const session = await assembled.open()
  const chain = new Set<SessionId>([session.id])
  const record = await runToEnd(session, TASK, (event) => {
    if (event.type === "status" && event.kind === "compress" && event.text.startsWith("compressing")) compression += 1
    if (event.type === "session-rotated") chain.add(event.newSessionId)
  })

  const main = seen.filter(({ auxiliary }) => !auxiliary)
  const auxiliary = seen.filter((each) => each.auxiliary)
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
    withoutTask: main.filter(({ request }) => !containsTask(request)).length,
    invalid: seen.flatMap((_, index) =>
      wireProblems(assembled.model, index).map((problem) => `request ${index}: ${problem}`),
    ),
    compressions: compression,
    withoutModel: compression - new Set(auxiliary.map((each) => each.compression)).size,
    auxiliaryCalls: auxiliary.length,
    pairs: pairs.length,
    extended: pairs.filter(([earlier, later]) => extendsRequest(earlier.rawBody, later.rawBody)).length,
    lost: await missingCalls(await assembled.app.store(), [...chain], task.rounds),
    sessions: chain.size,
  }
}

/** No titles, so that every auxiliary call belongs to a compression. */
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

function containsTask({ body }: RecordedRequest): boolean {
  return (body as WireBody).messages.some(
    ({ role, content }) => role === "user" && typeof content === "string" && content.endsWith(TASK),
  )
}

/** Counts calls of the task without a stored call or result in any session. */
async function missingCalls(
  store: Awaited<ReturnType<Awaited<ReturnType<typeof assembleApp>>["app"]["store"]>>,
  chain: readonly SessionId[],
  rounds: ReturnType<typeof makeLongTask>["rounds"],
): Promise<number> {
  const stored = new Set<string>()
  const answered = new Set<string>()
  for (const id of chain) {
    for (const message of await store.conversation(id)) {
      if (message.role === "assistant") for (const call of message.tool_calls ?? []) stored.add(call.id)
      if (message.role === "tool") answered.add(message.tool_call_id)
    }
  }
  const calls = rounds.flatMap((round) => (round.calls ?? []).map(({ id = "" }) => id))
  return calls.filter((id) => !stored.has(id) || !answered.has(id)).length
}
