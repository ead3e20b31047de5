import type { Clock } from "../base/clock.ts"
import type { Answer } from "../protocol/events.ts"

/** The open questions of a session. Each is answered once: by a person, by its time limit or by an interrupt. */
export class Interactions {
  readonly #clock: Clock
  readonly #open = new Map<string, { readonly kind: Answer["kind"]; readonly resolve: (answer: Answer) => void }>()
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nextId(prefix: string): string {
    this.#count += 1
    return `${prefix}_${this.#count}`
  }

  /** False when there is no such question, when it is answered already or when the answer is of another kind. */
  answer(requestId: string, answer: Answer): boolean {
    const open = this.#open.get(requestId)
    if (open === undefined || open.kind !== answer.kind) return false
    this.#open.delete(requestId)
    open.resolve(answer)
    return true
  }

  /** Waits for the answer to a question that was put to the person under this id. */
  async wait<Kind extends Answer["kind"]>(
    request: { readonly id: string; readonly kind: Kind; readonly timeoutMs: number },
    signal: AbortSignal,
  ): Promise<Extract<Answer, { kind: Kind }> | "timeout" | "interrupted"> {
    if (signal.aborted) return "interrupted"
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#open.set(request.id, { kind: request.kind, resolve })
    const waiting = new AbortController()
    const limits = AbortSignal.any([signal, waiting.signal])
    const timeout = isTimed(request.timeoutMs)
      ? this.#clock.sleep(request.timeoutMs, { signal: limits })
      : forever(limits)
    try {
      const first = await Promise.race([
        promise,
        timeout.then(
          () => "timeout" as const,
          () => "interrupted" as const,
        ),
      ])
      if (typeof first === "string") return first
      return isKind(first, request.kind) ? first : "interrupted"
    } finally {
      this.#open.delete(request.id)
      waiting.abort()
    }
  }
}

function isKind<Kind extends Answer["kind"]>(answer: Answer, kind: Kind): answer is Extract<Answer, { kind: Kind }> {
  return answer.kind === kind
}

/** A timer that is longer than the system can count would go off at once; nobody waits for it either. */
function isTimed(timeoutMs: number): boolean {
  return timeoutMs > 0 && timeoutMs < 2 ** 31
}

function forever(signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<undefined>()
  signal.addEventListener(
    "abort",
    () => {
      reject(new Error("interrupted"))
    },
    { once: true },
  )
  return promise
}
