import { collectGarbage, freeCompilerMemoryAtOnce } from "../base/engine-memory.ts"

/** A process that has sent so many requests has loaded what its conversations need, and has left garbage worth collecting. */
const LONG_RUN_REQUESTS = 100

let requests = 0
let awaited = 0

/** Call it for each model request of this process, before it is sent, and the result when the reply is complete. */
export function countRequest(): () => void {
  requests += 1
  awaited += 1
  if (requests === LONG_RUN_REQUESTS) freeCompilerMemoryAtOnce()
  // While the only conversation waits for the model, nobody notices a pause.
  if (requests % LONG_RUN_REQUESTS === 0 && awaited === 1) setTimeout(collectGarbage, 1).unref()
  return () => {
    awaited -= 1
  }
}
