import type { Message, ToolCall, ToolMessage } from "../protocol/message.ts"
import { STEER_CLOSING, STEER_OPENING } from "../toolkit/untrusted.ts"
import type { BatchReport } from "./dispatch/batch.ts"
import { budgetWarning } from "./iteration-budget.ts"
import type { Steps } from "./steps.ts"
import type { Turn } from "./turn.ts"
import type { Tally } from "./turn-end.ts"

/** Runs the calls of one reply. The last result also carries the budget warning and steering notes. */
export async function* runToolCalls(turn: Turn, calls: readonly ToolCall[], tally: Tally): Steps<BatchReport> {
  tally.toolCalls += calls.length
  const last = calls.at(-1)?.id
  let noted: { readonly original: ToolMessage; readonly stored: ToolMessage; readonly note: string } | undefined
  const { tools, workspace } = turn.dispatch
  if (calls.some((call) => tools.get(call.function.name)?.provenance === "command")) workspace.prewarm?.()
  // Loaded here, because a turn without tool calls does not need it.
  const { runBatch } = await import("./dispatch/batch.ts")
  const batch = runBatch(calls, turn.dispatch, {
    runId: turn.runId,
    signal: turn.signal,
    interactions: turn.interactions,
    record: async (original) => {
      const note = original.tool_call_id === last && !turn.signal.aborted ? takeNote(turn) : ""
      const stored = note === "" ? original : withText(original, note)
      await turn.conversation.append([stored])
      if (note !== "") noted = { original, stored, note }
    },
  })
  for (;;) {
    const step = await batch.next()
    if (step.done === true) {
      for (const path of step.value.failedWrites) tally.failedWrites.add(path)
      const reshaped = [...step.value.reshaped].map(([sent, former]): [Message, Message] =>
        former === noted?.original && sent.role === "tool"
          ? [withText(sent, noted.note), noted.stored]
          : [sent, former],
      )
      await turn.conversation.reshape(new Map(reshaped))
      return step.value
    }
    const event = step.value
    if (event.type === "tool-end") {
      for (const path of event.filesChanged ?? []) {
        tally.filesChanged.add(path)
        tally.failedWrites.delete(path)
      }
    }
    yield event
  }
}

/** The text for the end of the last result of a batch: the budget warning and the user's steering notes. */
function takeNote(turn: Turn): string {
  const pressure = turn.budgetPressure ? budgetWarning(turn.budget) : undefined
  const steer = turn.steering.take()
  return [pressure, steer === undefined ? undefined : steerBlock(steer)]
    .filter((note) => note !== undefined)
    .join("\n\n")
}

/** Appends a steering note that arrived after the batch to its last result, which no request has carried yet. */
export async function deliverLateSteer(turn: Turn): Promise<void> {
  const last = turn.conversation.history.at(-1)
  if (last?.role !== "tool") return
  const note = turn.steering.take()
  if (note !== undefined) await appendToResult(turn, last, steerBlock(note))
}

export async function appendToResult(turn: Turn, last: ToolMessage, text: string): Promise<void> {
  await turn.conversation.reshape(new Map([[withText(last, text), last]]))
}

/** Wraps a note in a marker that tool output cannot forge, because the marker is defused there. */
function steerBlock(note: string): string {
  return `${STEER_OPENING}\n${note}\n${STEER_CLOSING}`
}

function withText(message: ToolMessage, text: string): ToolMessage {
  return typeof message.content === "string"
    ? { ...message, content: `${message.content}\n\n${text}` }
    : { ...message, content: [...message.content, { type: "text", text }] }
}
