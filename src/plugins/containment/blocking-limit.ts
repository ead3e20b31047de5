import { createContext, Script } from "node:vm"

/** Calls functions that may block. Undefined is returned when the call was stopped; what the function throws is thrown. */
export type LimitedCall = <T>(limitMs: number, work: () => T) => { readonly value: T } | undefined

/**
 * V8 can stop a running script from another thread, and Node offers that for scripts of `node:vm`. The script does nothing but call
 * the function, so an endless loop in it ends, and nothing else of the process is affected.
 */
export function createLimitedCall(): LimitedCall {
  const slot: { call: () => void } = { call: () => undefined }
  const context = createContext(slot)
  const script = new Script("call()")
  return (limitMs, work) => {
    let outcome: { readonly value: ReturnType<typeof work> } | undefined
    let thrown: { readonly error: unknown } | undefined
    slot.call = () => {
      try {
        outcome = { value: work() }
      } catch (error) {
        thrown = { error }
      }
    }
    try {
      script.runInContext(context, { timeout: limitMs })
    } catch {
      // Only the time limit is reported here, because what the function throws was caught above. It may have ended in the same moment.
    }
    if (thrown !== undefined) throw thrown.error
    return outcome
  }
}
