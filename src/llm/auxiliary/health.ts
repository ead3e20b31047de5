import type { Clock } from "../../base/clock.ts"
import type { ModelRuntime } from "../model.ts"

/** Where credit has run out, nothing changes for a while. */
export const NO_CREDIT_REST_MS = 600_000
/** A key or a login may be added at any time. */
export const MISSING_REST_MS = 60_000

/** Who is not worth asking at the moment. */
export interface Health {
  rest(name: string, mark: { readonly forMs: number; readonly why: string }): void
  /** The reason why it rests, or undefined when it may be asked. */
  restingFor(name: string): string | undefined
}

export function createHealth(clock: Clock): Health {
  const marks = new Map<string, { readonly until: number; readonly why: string }>()
  return {
    rest: (name, { forMs, why }) => {
      marks.set(name, { until: clock.now() + forMs, why })
    },
    restingFor: (name) => {
      const mark = marks.get(name)
      if (mark === undefined) return undefined
      if (clock.now() < mark.until) return mark.why
      marks.delete(name)
      return undefined
    },
  }
}

/** Credit belongs to a provider at an address, whatever model is asked. */
export function placeOf({ provider, baseUrl }: ModelRuntime): string {
  return `${provider} at ${baseUrl}`
}
