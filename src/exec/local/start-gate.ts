import { availableParallelism } from "node:os"

import { orAborted } from "../../base/abort.ts"

/** A command needs a core until it waits for something or has ended. One that runs longer no longer counts as starting. */
const STARTING_MS = 50

/**
 * Lets only as many commands start at the same time as there are cores: a dozen conversations that start theirs together would otherwise
 * leave no core for this process, and every conversation would stand still.
 */
export interface StartGate {
  /** Calls `begin` as soon as there is room. Resolves to undefined when the signal aborts first. */
  start<T extends { readonly exit: Promise<unknown> }>(
    begin: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined>
}

export function createStartGate(places = Math.max(2, availableParallelism())): StartGate {
  let free = places
  const waiting = new Set<() => void>()
  const leave = (): void => {
    const [next] = waiting
    if (next === undefined) free += 1
    else next()
  }
  const enter = async (signal: AbortSignal): Promise<boolean> => {
    if (free > 0) {
      free -= 1
      return true
    }
    const place = Promise.withResolvers<true>()
    const take = (): void => {
      waiting.delete(take)
      place.resolve(true)
    }
    waiting.add(take)
    if ((await orAborted(place.promise, signal)) === true) return true
    // It may have received the place at the same moment.
    if (!waiting.delete(take)) leave()
    return false
  }
  const leaveAfter = (exit: Promise<unknown>): void => {
    let isStarting = true
    const end = (): void => {
      if (isStarting) leave()
      isStarting = false
      clearTimeout(timer)
    }
    const timer = setTimeout(end, STARTING_MS).unref()
    exit.then(end, end)
  }
  return {
    start: async (begin, signal) => {
      if (!(await enter(signal))) return undefined
      const begun = begin()
      leaveAfter(begun.then(({ exit }) => exit))
      return await begun
    },
  }
}
