import type { Message, ToolCall, ToolMessage } from "../protocol/message.ts"
import { STEER_CLOSING, STEER_OPENING } from "../toolkit/untrusted.ts"
import { budgetLine } from "./budget-line.ts"
import type { BatchReport } from "./dispatch/batch.ts"
import type { Steps, Turn } from "./turn.ts"
import type { Tally } from "./turn-end.ts"

/** The calls of one reply, and what their results carry besides. */
export async function* runTools(turn: Turn, calls: readonly ToolCall[], tally: Tally): Steps<BatchReport> {
  tally.toolCalls += calls.length
  const last = calls.at(-1)?.id
  let noted: { readonly given: ToolMessage; readonly stored: ToolMessage; readonly note: string } | undefined
  const { tools, workspace } = turn.dispatch
  if (calls.some((call) => tools.get(call.function.name)?.toolset === "terminal")) workspace.warm?.()
  // A turn without tools never pays for the door.
  const { runBatch } = await import("./dispatch/batch.ts")
  const batch = runBatch(calls, {
    ...turn.dispatch,
    record: async (given) => {
      const note = given.tool_call_id === last && !turn.signal.aborted ? noteFor(turn) : ""
      const stored = note === "" ? given : withText(given, note)
      await turn.journal.append([stored])
      turn.conversation.history.push(stored)
      if (note !== "") noted = { given, stored, note }
    },
  })
  for (;;) {
    const step = await batch.next()
    if (step.done === true) {
      for (const path of step.value.failedWrites) tally.failedWrites.add(path)
      const shorter = [...step.value.reshaped].map(([sent, given]): [Message, Message] =>
        given === noted?.given && sent.role === "tool" ? [withText(sent, noted.note), noted.stored] : [sent, given],
      )
      await replaceInHistory(turn, new Map(shorter))
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

/** What the last result of a batch carries besides: how much of the budget is used, and a note of the person. */
function noteFor(turn: Turn): string {
  const pressure = turn.budgetPressure ? budgetLine(turn.budget) : undefined
  const steer = turn.steering.take()
  return [pressure, steer === undefined ? undefined : steerBlock(steer)]
    .filter((note) => note !== undefined)
    .join("\n\n")
}

/** A note that came after the batch: it travels with its last result, which no request has carried yet. */
export async function deliverLateSteer(turn: Turn): Promise<void> {
  const last = turn.conversation.history.at(-1)
  if (last?.role !== "tool") return
  const note = turn.steering.take()
  if (note !== undefined) await appendToResult(turn, last, steerBlock(note))
}

export async function appendToResult(turn: Turn, last: ToolMessage, text: string): Promise<void> {
  await replaceInHistory(turn, new Map([[withText(last, text), last]]))
}

/** Messages that no request has carried yet are sent in another form (new form → former form). */
async function replaceInHistory(turn: Turn, changes: ReadonlyMap<Message, Message>): Promise<void> {
  if (changes.size === 0) return
  await turn.journal.reshape(changes)
  const { history } = turn.conversation
  for (const [changed, former] of changes) {
    const place = history.lastIndexOf(former)
    if (place !== -1) history[place] = changed
  }
}

/** In a form no tool output can forge. */
function steerBlock(note: string): string {
  return `${STEER_OPENING}\n${note}\n${STEER_CLOSING}`
}

function withText(message: ToolMessage, text: string): ToolMessage {
  return typeof message.content === "string"
    ? { ...message, content: `${message.content}\n\n${text}` }
    : { ...message, content: [...message.content, { type: "text", text }] }
}
