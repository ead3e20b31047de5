import { orAborted } from "../base/abort.ts"
import type { Logger } from "../base/logger.ts"
import { errorMessage } from "../base/system-error.ts"
import type { RunEnd } from "../protocol/events.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import { contentText } from "../protocol/message.ts"
import type { Message, UserInput } from "../protocol/message.ts"
import type { ModelClient } from "../llm/model.ts"
import type { ProviderHost } from "../knowledge/memory/provider-host.ts"
import type { Exchange } from "./session-title.ts"

/** What goes on beside the turns of a session. None of it delays an answer or fails a turn. */
export interface SessionCompanions {
  /** What memory knows about the person's words, as text for the model. */
  beforeTurn(turn: StartingTurn): Promise<string>
  afterTurn(turn: EndedTurn): void
  /** Messages are about to be given up; gives what must not be lost with them. */
  beforeLoss(doomed: readonly Message[], layer: 2 | 4 | 5, signal: AbortSignal): Promise<string>
  rotated(sessions: { readonly from: SessionId; readonly to: SessionId }): void
  close(history: readonly Message[]): Promise<void>
}

export interface StartingTurn {
  readonly words: string
  readonly history: readonly Message[]
  readonly model: ModelClient
  readonly signal: AbortSignal
}

export interface EndedTurn {
  readonly input: UserInput
  readonly end: RunEnd
  readonly model: ModelClient
}

export interface CompanionParts {
  readonly log: Logger
  /** The external memory, where one is set up. */
  readonly provider: ProviderHost | undefined
  readonly platform: string
  readonly toolCount: number
  readonly contextLength: () => number
  readonly resumed: boolean
  /** Makes a title from the first exchange; absent where nobody will look at it. */
  readonly makeTitle?: (exchange: Exchange, signal: AbortSignal) => Promise<string | undefined>
  readonly retitle: (title: string) => Promise<void>
  /** Looks back at the conversation when that is due. */
  readonly review?: (turn: EndedTurn, signal: AbortSignal) => Promise<void>
  /** At the end of a session. */
  readonly tidyUp: () => Promise<void>
  readonly saveTrajectory?: (turn: EndedTurn) => Promise<void>
  /** Gives the model a chance to note what a summary would lose. */
  readonly flushMemory: (doomed: readonly Message[], signal: AbortSignal) => Promise<void>
  /** Waits for memory writes that have begun. */
  readonly memorySettled: () => Promise<void>
  /** Gives a note for the model, or "". */
  readonly beforeTurn: (history: readonly Message[]) => Promise<string>
}

/** How long leaving waits for a title that is being made. */
const TITLE_PATIENCE_MS = 1500
/** A title that could not be made after the first exchange is tried for once more. */
const MAX_TITLE_TRIES = 2

export function createCompanions(parts: CompanionParts): SessionCompanions {
  const { provider } = parts
  const stop = new AbortController()
  const titling = createTitling(parts, stop.signal)
  let turns = 0
  const background = new Map<string, Promise<void>>()
  /** One piece of work of a kind at a time. */
  const start = (what: string, work: () => Promise<void>): void => {
    if (background.has(what)) return
    const done = work()
      .catch((error: unknown) => {
        parts.log.warning(`${what} failed: ${errorMessage(error)}`)
      })
      .finally(() => {
        background.delete(what)
      })
    background.set(what, done)
  }

  return {
    beforeTurn: async ({ words, history, model, signal }) => {
      turns += 1
      const note = await parts.beforeTurn(history)
      if (provider === undefined) return note
      provider.onTurnStart(turns, words, {
        remainingTokens: parts.contextLength(),
        model: model.runtime.model,
        platform: parts.platform,
        toolCount: parts.toolCount,
      })
      const recalled = (await orAborted(provider.prefetch(words), signal)) ?? ""
      return [recalled, note].filter((text) => text !== "").join("\n\n")
    },
    afterTurn: (turn) => {
      const { result, outcome } = turn.end
      const answer = result.finalResponse
      const { saveTrajectory } = parts
      if (saveTrajectory !== undefined) start("saving the trajectory", () => saveTrajectory(turn))
      if (outcome === "interrupted") return
      if (answer !== null) {
        titling.start(turn.input, answer)
        provider?.queueSync({ user: contentText(turn.input), assistant: answer, messages: result.messages })
      }
      const { review } = parts
      if (review !== undefined) start("looking back at the conversation", () => review(turn, stop.signal))
    },
    beforeLoss: async (doomed, layer, signal) => {
      await parts.memorySettled()
      if (layer === 5) {
        await parts.flushMemory(doomed, signal).catch((error: unknown) => {
          parts.log.warning(`memory was not brought up to date before the summary: ${errorMessage(error)}`)
        })
      }
      if (provider === undefined) return ""
      await provider.drain()
      return await provider.onPreCompress(doomed)
    },
    rotated: ({ from, to }) => {
      provider?.onSessionSwitch(to, { parentSessionId: from, reset: false, rewound: false })
    },
    close: async (history) => {
      await titling.finish()
      stop.abort()
      start("tidying up", parts.tidyUp)
      await Promise.all(background.values())
      await provider?.close({ messages: history })
    },
  }
}

/** Names the conversation after its first exchange, beside the next turn; leaving waits for it, but not long. */
function createTitling(parts: CompanionParts, signal: AbortSignal) {
  let making: Promise<void> | undefined
  let made = parts.resumed
  let tries = 0
  return {
    start: (input: UserInput, answer: string): void => {
      const { makeTitle } = parts
      if (makeTitle === undefined || making !== undefined || made || tries >= MAX_TITLE_TRIES) return
      tries += 1
      making = makeTitle({ user: contentText(input), assistant: answer }, signal)
        .then(async (title) => {
          if (title === undefined) return
          made = true
          await parts.retitle(title)
        })
        .catch((error: unknown) => {
          parts.log.warning(`no title could be made: ${errorMessage(error)}`)
        })
        .finally(() => {
          making = undefined
        })
    },
    finish: async (): Promise<void> => {
      if (making === undefined) return
      await orAborted(making, AbortSignal.timeout(TITLE_PATIENCE_MS))
    },
  }
}
