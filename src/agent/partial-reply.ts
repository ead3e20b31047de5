import type { AgentEventBody } from "../protocol/events.ts"
import type { AssistantMessage, Message } from "../protocol/message.ts"
import type { Turn } from "./turn.ts"

/**
 * What the user has seen of the answer and no stored message contains yet. An answer may take several requests. However the turn
 * ends, the rest is stored, so that the conversation contains what was shown.
 */
export interface PartialReply {
  readonly text: string
  /** The part of the text that was shown before `beginReply`. */
  readonly earlierText: string
  /** A request begins. */
  beginReply(): void
  addText(text: string): void
  addReasoning(text: string): void
  /** True when text of the reply since `beginReply` was shown. */
  hasReplyText(): boolean
  /** The reply since `beginReply` is not used. */
  discardReply(): void
  /** A stored message contains the text. */
  clear(): void
  /** The message to store; undefined when no text was shown. */
  message(finishReason: UnfinishedReason): AssistantMessage | undefined
}

/** `interrupted`: the user, a signal or the end of the process stopped the reply. `incomplete`: an error did. */
export type UnfinishedReason = "interrupted" | "incomplete"

/** How much of a reply a killed process can lose. */
const WRITE_EVERY_MS = 1000

export function createPartialReply({ conversation, redact }: Pick<Turn, "conversation" | "redact">): PartialReply {
  let text = ""
  let reasoning = ""
  let start = 0
  let timer: NodeJS.Timeout | undefined
  const stopWriting = (): void => {
    clearTimeout(timer)
    timer = undefined
  }
  return {
    get text() {
      return text
    },
    get earlierText() {
      return text.slice(0, start)
    },
    beginReply: () => {
      start = text.length
      reasoning = ""
    },
    addText: (delta) => {
      text += delta
      timer ??= setTimeout(() => {
        timer = undefined
        conversation.keepPartial(redact(text))
      }, WRITE_EVERY_MS).unref()
    },
    addReasoning: (delta) => {
      reasoning += delta
    },
    hasReplyText: () => text.slice(start).trim() !== "",
    discardReply: () => {
      text = text.slice(0, start)
      reasoning = ""
      stopWriting()
    },
    clear: () => {
      text = ""
      start = 0
      reasoning = ""
      stopWriting()
    },
    message: (finishReason) =>
      text.trim() === ""
        ? undefined
        : {
            role: "assistant",
            content: redact(text),
            // For display only. What a provider wants back, such as a signature, is complete only at the end of a reply.
            ...(reasoning === "" ? {} : { reasoning: redact(reasoning) }),
            finish_reason: finishReason,
          },
  }
}

/** Discards a reply that cannot be used. If the user has seen some of its text, a notice says why it does not count. */
export function* discardReply(partial: PartialReply, reason: string): Generator<AgentEventBody> {
  const wasShown = partial.hasReplyText()
  partial.discardReply()
  if (wasShown) yield discarded(reason)
}

/** The same for the whole answer so far: another model begins a new one. */
export function* discardAnswer(partial: PartialReply, reason: string): Generator<AgentEventBody> {
  const wasShown = partial.text.trim() !== ""
  partial.clear()
  if (wasShown) yield discarded(reason)
}

function discarded(reason: string): AgentEventBody {
  return { type: "status", kind: "notice", text: `the text above was discarded: ${reason}`, discardsText: true }
}

/** Starts a new paragraph, because the next reply continues an answer of which a part was shown. */
export function* continueInNewParagraph(partial: PartialReply): Generator<AgentEventBody> {
  if (!partial.hasReplyText()) return
  partial.addText("\n\n")
  yield { type: "text-delta", text: "\n\n" }
}

export function endsInterrupted(history: readonly Message[]): boolean {
  const last = history.at(-1)
  return last?.role === "assistant" && last.finish_reason === "interrupted"
}

/** A note for the model, sent with the next user message, when the last reply has no end. */
export function partialReplyNote(history: readonly Message[]): string | undefined {
  if (endsInterrupted(history))
    return "[Your previous reply was interrupted before its end. The user has seen it up to that point.]"
  const last = history.at(-1)
  return last?.role === "assistant" && last.finish_reason === "incomplete"
    ? "[Your previous reply was cut off by an error before its end. The user has seen it up to that point.]"
    : undefined
}
