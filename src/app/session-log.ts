import type { Clock } from "../base/clock.ts"
import { codePointLength, takeCodePoints } from "../base/text.ts"
import type { Journal } from "../agent/loop.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import type { NewSession, SessionStore } from "../state/store.ts"

/** What a session keeps of itself. Without a store it keeps nothing and every call succeeds. */
export interface SessionLog extends Journal {
  title(): Promise<string | null>
  setModel(model: string): Promise<void>
  /** A better title than the first words; one that the person has given meanwhile stays. */
  retitle(title: string): Promise<void>
  end(reason: string): Promise<void>
}

export function createSessionLog(options: {
  readonly store: SessionStore
  readonly session: NewSession
  readonly resumed: boolean
  /** A title will be made from the first exchange. */
  readonly retitles: boolean
  readonly clock: Clock
}): SessionLog {
  const { store, session } = options
  const id: SessionId = session.id
  // The row is made with the first message, so that opening and leaving a chat leaves no trace.
  let known = options.resumed
  let firstTitle: string | undefined
  return {
    append: async (messages, call) => {
      const stamped = messages.map((message) => stamp(message, options.clock))
      if (!known) {
        await store.startSession(session, stamped, shortTitle(firstWords(stamped)))
        known = true
        if (options.retitles) firstTitle = (await store.session(id))?.title ?? undefined
        return
      }
      await store.append(
        id,
        stamped,
        call === undefined
          ? undefined
          : {
              usage: call.usage,
              apiCalls: 1,
              model: call.runtime.model,
              billingProvider: call.runtime.provider,
              billingBaseUrl: call.runtime.baseUrl,
              billingMode: call.runtime.billingMode,
              ...(call.cost.usd === null ? {} : { estimatedCostUsd: call.cost.usd }),
              costStatus: call.cost.status,
              costSource: call.cost.source,
              ...(call.cost.version === "" ? {} : { pricingVersion: call.cost.version }),
            },
      )
    },
    title: async () => (known ? ((await store.session(id))?.title ?? null) : null),
    retitle: async (title) => {
      if (firstTitle === undefined || (await store.session(id))?.title !== firstTitle) return
      await store.setTitle(id, await store.nextTitle(title))
    },
    setModel: async (model) => {
      if (known) await store.setModel(id, model)
    },
    end: async (reason) => {
      // A session that is not marked as ended resumes all the same, and what it holds is stored: nothing is lost here.
      if (known) await store.endSession(id, reason).catch(() => undefined)
    },
  }
}

/** The log of a session whose store could not be opened. */
export const unsavedLog: SessionLog = {
  append: () => Promise.resolve(),
  title: () => Promise.resolve(null),
  setModel: () => Promise.resolve(),
  retitle: () => Promise.resolve(),
  end: () => Promise.resolve(),
}

function stamp(message: Message, clock: Clock): Message {
  if (message.role === "system" || message.timestamp !== undefined) return message
  return { ...message, timestamp: clock.now() / 1000 }
}

function firstWords(messages: readonly Message[]): string {
  const first = messages.find((message) => message.role === "user")
  return first === undefined ? "" : contentText(first.content)
}

const TITLE_CHARS = 60

/** The first words of what the person said, cut at a word boundary. */
export function shortTitle(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ").trim()
  if (codePointLength(flat) <= TITLE_CHARS) return flat
  const cut = takeCodePoints(flat, TITLE_CHARS)
  const space = cut.lastIndexOf(" ")
  return space > TITLE_CHARS / 3 ? cut.slice(0, space) : cut
}
