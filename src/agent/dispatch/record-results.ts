import type { Message, ToolMessage } from "../../protocol/message.ts"
import { planTurnBudget } from "../../toolkit/result-budget.ts"
import type { ResultBudget } from "../../toolkit/result-budget.ts"
import type { BoundResult } from "./bound-result.ts"
import { collectNotes, withNotes } from "./collect-notes.ts"
import type { BatchRun, CallRun, DispatchSession } from "./dispatch-session.ts"
import type { Settled } from "./settled.ts"

/** Stores settled calls in call order, in whatever order they finish, and emits each `tool-end` once its result is stored. */
interface ResultRecorder {
  settle(index: number, call: Settled): Promise<void>
  /** In call order, in the form in which they are sent. */
  messages(): readonly ToolMessage[]
  /** Results that were shortened after they were stored, because all of them together are too long: sent form → stored form. */
  reshaped(): ReadonlyMap<Message, Message>
}

export function createResultRecorder(
  count: number,
  session: DispatchSession,
  run: Pick<BatchRun, "record"> & Pick<CallRun, "events" | "signal">,
): ResultRecorder {
  const settled: (Settled | undefined)[] = Array.from({ length: count })
  const stored: StoredResult[] = []
  const reshaped = new Map<Message, Message>()
  let storing: Promise<void> = Promise.resolve()
  const storeReady = async (): Promise<void> => {
    for (let next = settled[stored.length]; next !== undefined; next = settled[stored.length]) {
      const index = stored.length
      const noted = { call: next, result: next.result, notes: await collectNotes(next, session, run.signal) }
      const shortened =
        index === count - 1 ? await shortenForTurn([...stored, noted], session.resultBudget) : NOTHING_SHORTENED
      const result = shortened.get(index) ?? noted.result
      const message = messageOf({ ...noted, result })
      await run.record(message)
      for (const [earlier, former] of stored.entries()) {
        const shorter = shortened.get(earlier)
        if (shorter === undefined) continue
        const sent = messageOf({ ...former, result: shorter })
        reshaped.set(sent, former.message)
        stored[earlier] = { ...former, result: shorter, message: sent }
      }
      stored.push({ ...noted, result, message })
      run.events.push({ ...next.end, truncated: result.truncated })
    }
  }
  return {
    settle: (index, call) => {
      settled[index] = call
      storing = storing.then(storeReady)
      return storing
    },
    messages: () => stored.map(({ message }) => message),
    reshaped: () => reshaped,
  }
}

interface NotedResult {
  readonly call: Settled
  readonly result: BoundResult
  readonly notes: readonly string[]
}

interface StoredResult extends NotedResult {
  readonly message: ToolMessage
}

function messageOf({ call: { prepared }, result, notes }: NotedResult): ToolMessage {
  return {
    role: "tool",
    tool_call_id: prepared.call.id,
    tool_name: prepared.shown.name,
    ...(result.provenance === undefined ? {} : { provenance: result.provenance }),
    content: withNotes(result.content, notes),
  }
}

const NOTHING_SHORTENED: ReadonlyMap<number, BoundResult> = new Map()

/** The results of one batch share a limit: the largest are moved to files until the rest fits. Notes stay. */
async function shortenForTurn(
  results: readonly NotedResult[],
  budget: ResultBudget,
): Promise<ReadonlyMap<number, BoundResult>> {
  const texts = results.map(({ result: { content } }) => (typeof content === "string" ? content : ""))
  const noteChars = sum(results.flatMap(({ notes }) => notes.map((note) => note.length)))
  if (sum(texts.map((text) => text.length)) + noteChars <= budget.turnChars) return NOTHING_SHORTENED
  const shortened = new Map<number, BoundResult>()
  for (const index of planTurnBudget(texts, { ...budget, turnChars: budget.turnChars - noteChars })) {
    const shorter = await results[index]?.result.shorten?.()
    if (shorter !== undefined) shortened.set(index, shorter)
  }
  return shortened
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
