import type { Clock } from "../base/clock.ts"
import type { Answer } from "../protocol/events.ts"

/** The open questions of a session to the user. Each is settled once: by an answer, its timeout or an interrupt. */
export class Interactions {
  readonly #clock: Clock
  readonly #open = new Map<string, { readonly kind: Answer["kind"]; readonly resolve: (answer: Answer) => void }>()
  readonly #watchers = new Set<(areOpen: boolean) => void>()
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nextId(prefix: string): string {
    this.#count += 1
    return `${prefix}_${this.#count}`
  }

  /** Returns false when no such question is open or when the answer has the wrong kind. */
  answer(requestId: string, answer: Answer): boolean {
    const open = this.#open.get(requestId)
    if (open === undefined || open.kind !== answer.kind) return false
    this.#open.delete(requestId)
    open.resolve(answer)
    return true
  }

  /** Calls back when the first question opens and when the last one is settled. Returns a function that ends it. */
  watch(changed: (areOpen: boolean) => void): () => void {
    this.#watchers.add(changed)
    if (this.#open.size > 0) changed(true)
    return () => this.#watchers.delete(changed)
  }

  #emit(): void {
    for (const changed of this.#watchers) changed(this.#open.size > 0)
  }

  /** Opens a question under this id and waits for its answer. */
  async wait<Kind extends Answer["kind"]>(
    request: { readonly id: string; readonly kind: Kind; readonly timeoutMs: number },
    signal: AbortSignal,
  ): Promise<Extract<Answer, { kind: Kind }> | "timeout" | "interrupted"> {
    if (signal.aborted) return "interrupted"
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#open.set(request.id, { kind: request.kind, resolve })
    this.#emit()
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
      this.#emit()
      waiting.abort()
    }
  }
}

function isKind<Kind extends Answer["kind"]>(answer: Answer, kind: Kind): answer is Extract<Answer, { kind: Kind }> {
  return answer.kind === kind
}

/** Node fires a timer of 2^31 ms or more at once; such a question has no timeout. */
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
