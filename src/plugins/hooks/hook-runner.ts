import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { safeMessage } from "../safe-message.ts"
import { HOOK_EVENTS, HOOK_SCHEMA } from "./hook-events.ts"
import type { HookEvent, HookPayload } from "./hook-events.ts"

/** One callback of a plugin or one command of the settings. */
export interface HookListener {
  /** For the log: `plugin weather`, `hook ./check.sh`. */
  readonly owner: string
  readonly event: HookEvent
  /** Only for calls of these tools. */
  readonly matches?: (tool: string, foreign: ForeignCall | undefined) => boolean
  /** Replaces the limit of the event, for commands with a timeout of their own. */
  readonly limitMs?: number
  call(payload: HookPayload, signal: AbortSignal, foreign: ForeignCall | undefined): unknown
}

/** A tool call in the words of another agent, for hooks that were written for it. */
export interface ForeignCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** Our names of arguments → theirs. */
  readonly renamed: Readonly<Record<string, string>>
}

/** Calls hooks one after the other, in the order of the list. A hook that throws or takes too long is logged and skipped. */
export interface HookRunner {
  has(event: HookEvent): boolean
  observe(event: HookEvent, payload: HookPayload, foreign?: ForeignCall): Promise<void>
  /** The first answer that `read` accepts; later hooks are not called. */
  first<T>(
    event: HookEvent,
    payload: HookPayload,
    read: (answer: unknown) => T | undefined,
    foreign?: ForeignCall,
  ): Promise<T | undefined>
  /** Every answer that `read` accepts. */
  all<T>(
    event: HookEvent,
    payload: HookPayload,
    read: (answer: unknown) => T | undefined,
    foreign?: ForeignCall,
  ): Promise<readonly T[]>
}

const OBSERVER_LIMIT_MS = 5000
const DECIDING_LIMIT_MS = 10_000

export function createHookRunner(
  listeners: () => readonly HookListener[],
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): HookRunner {
  const of = (event: HookEvent, payload: HookPayload, foreign: ForeignCall | undefined): readonly HookListener[] => {
    const tool = payload["tool_name"]
    return listeners().filter(
      (listener) =>
        listener.event === event &&
        (listener.matches === undefined || (typeof tool === "string" && listener.matches(tool, foreign))),
    )
  }
  const ask = async <T>(
    listener: HookListener,
    payload: HookPayload,
    read: (answer: unknown) => T | undefined,
    foreign: ForeignCall | undefined,
  ): Promise<T | undefined> => {
    const limitMs = listener.limitMs ?? (HOOK_EVENTS[listener.event].decides ? DECIDING_LIMIT_MS : OBSERVER_LIMIT_MS)
    const over = new AbortController()
    const waiting = new AbortController()
    const limit = clock.sleep(limitMs, { signal: waiting.signal }).then(
      () => LATE,
      () => LATE,
    )
    try {
      // A plugin must not be able to change the call or the history that it is shown.
      const copy = structuredClone({ schema: HOOK_SCHEMA, ...payload })
      const answer = await Promise.race([Promise.resolve(listener.call(copy, over.signal, foreign)), limit])
      if (answer === LATE) {
        log.warning(`${listener.owner}: ${listener.event} took longer than ${limitMs / 1000} s and was skipped`)
        return undefined
      }
      return read(answer)
    } catch (error) {
      log.warning(`${listener.owner}: ${listener.event} failed: ${safeMessage(error)}`)
      return undefined
    } finally {
      waiting.abort()
      over.abort()
    }
  }
  const all: HookRunner["all"] = async (event, payload, read, foreign) => {
    const answers = []
    for (const listener of of(event, payload, foreign)) {
      const answer = await ask(listener, payload, read, foreign)
      if (answer !== undefined) answers.push(answer)
    }
    return answers
  }
  return {
    has: (event) => listeners().some((listener) => listener.event === event),
    observe: async (event, payload, foreign) => {
      await all(event, payload, () => undefined, foreign)
    },
    first: async (event, payload, read, foreign) => {
      for (const listener of of(event, payload, foreign)) {
        const answer = await ask(listener, payload, read, foreign)
        if (answer !== undefined) return answer
      }
      return undefined
    },
    all,
  }
}

const LATE = Symbol("late")
