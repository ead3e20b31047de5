import type { Clock } from "../../base/clock.ts"
import type { ModelRuntime } from "../model.ts"

/** After credit has run out, it is unlikely to return soon. */
export const NO_CREDIT_COOLDOWN_MS = 600_000
/** The user may add a key or login at any time, so this cooldown is short. */
export const NO_CREDENTIAL_COOLDOWN_MS = 60_000

/** Names of candidates and endpoints that are skipped for a while after a failure. */
export interface Cooldowns {
  start(name: string, cooldown: { readonly ms: number; readonly reason: string }): void
  /** Returns the reason of a running cooldown, or undefined when there is none. */
  reasonFor(name: string): string | undefined
}

export function createCooldowns(clock: Clock): Cooldowns {
  const running = new Map<string, { readonly end: number; readonly reason: string }>()
  return {
    start: (name, { ms, reason }) => {
      running.set(name, { end: clock.now() + ms, reason })
    },
    reasonFor: (name) => {
      const cooldown = running.get(name)
      if (cooldown === undefined) return undefined
      if (clock.now() < cooldown.end) return cooldown.reason
      running.delete(name)
      return undefined
    },
  }
}

/** Identifies an endpoint. Credit belongs to a provider at an address, regardless of the model. */
export function endpointKey({ provider, baseUrl }: ModelRuntime): string {
  return `${provider} at ${baseUrl}`
}
