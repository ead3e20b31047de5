import { secretHex } from "../../base/random-and-hash.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { HostQuestion, RunServedCall, ServedCall, ServedResult } from "./served-call.ts"

/** What a call waits for: an answer of the host's user, or nothing more. */
export type Step =
  | { readonly kind: "question"; readonly question: HostQuestion }
  | { readonly kind: "result"; readonly result: ServedResult }

/** What one request of the host contributes to a call. A call with a question takes at least two requests. */
export interface Round {
  readonly signal: AbortSignal
  readonly onProgress?: (text: string) => void
}

export interface OpenCall {
  /** Cannot be guessed: another client must not answer the question. */
  readonly id: string
  /** Answers the open question; undefined declines. Without an open question it does nothing. */
  answer(text: string | undefined): void
  /** Waits for the next question or the result. An aborted round cancels the call. */
  step(round: Round): Promise<Step>
  /** Resolves when the call has ended. */
  cancel(): Promise<void>
}

/** The calls of all clients that wait for an answer, because a host answers with a new request. */
export interface OpenCalls {
  start(call: StartedCall): OpenCall
  /** Undefined when the call has ended, or was another one. */
  find(id: string, call: Pick<StartedCall, "tool" | "args">): OpenCall | undefined
  /** Cancels all calls. */
  close(): Promise<void>
}

export interface StartedCall extends Pick<ServedCall, "tool" | "args"> {
  readonly canAsk: boolean
}

/** The oldest is declined when more are open: a client may ask and never come back. */
const MAX_OPEN = 100

export function createOpenCalls(run: RunServedCall): OpenCalls {
  const open = new Map<string, { readonly call: OpenCall; readonly fingerprint: string }>()
  return {
    start: (started) => {
      const call = startCall(run, started, () => {
        open.delete(call.id)
      })
      open.set(call.id, { call, fingerprint: fingerprintOf(started) })
      const [oldest] = open.values()
      if (open.size > MAX_OPEN && oldest !== undefined) {
        oldest.call.answer(undefined)
        open.delete(oldest.call.id)
      }
      return call
    },
    find: (id, call) => {
      const found = open.get(id)
      return found?.fingerprint === fingerprintOf(call) ? found.call : undefined
    },
    close: async () => {
      await Promise.all([...open.values()].map(({ call }) => call.cancel()))
    },
  }
}

function startCall(run: RunServedCall, { tool, args, canAsk }: StartedCall, onCollected: () => void): OpenCall {
  const cancelled = new AbortController()
  let next = Promise.withResolvers<Step>()
  let question: HostQuestion | undefined
  let answered = Promise.withResolvers<string | undefined>()
  let report: Round["onProgress"]
  const ask: NonNullable<ServedCall["ask"]> = async (asked, signal) => {
    question = asked
    answered = Promise.withResolvers()
    const decline = (): void => answer(undefined)
    signal.addEventListener("abort", decline, { once: true })
    next.resolve({ kind: "question", question: asked })
    if (signal.aborted) decline()
    try {
      return await answered.promise
    } finally {
      signal.removeEventListener("abort", decline)
    }
  }
  const answer = (text: string | undefined): void => {
    if (question === undefined) return
    question = undefined
    next = Promise.withResolvers()
    answered.resolve(text)
  }
  const ended = run({
    tool,
    args,
    signal: cancelled.signal,
    onProgress: (text) => report?.(text),
    ...(canAsk ? { ask } : {}),
  }).then(
    (result) => next.resolve({ kind: "result", result }),
    (error: unknown) => {
      next.resolve({
        kind: "result",
        result: { text: JSON.stringify({ error: errorMessage(error) }), outcome: "error" },
      })
    },
  )
  return {
    id: secretHex(16),
    answer,
    step: async ({ signal, onProgress }) => {
      report = onProgress
      const cancel = (): void => cancelled.abort()
      signal.addEventListener("abort", cancel, { once: true })
      if (signal.aborted) cancel()
      try {
        const step = await next.promise
        if (step.kind === "result") onCollected()
        return step
      } finally {
        report = undefined
        signal.removeEventListener("abort", cancel)
      }
    },
    cancel: async () => {
      cancelled.abort()
      await ended
    },
  }
}

function fingerprintOf({ tool, args }: Pick<StartedCall, "tool" | "args">): string {
  return JSON.stringify([tool, args])
}
