import { freeCompilerMemoryAtOnce } from "../base/compiler-memory.ts"

/** A process that has sent so many requests has loaded what its conversations need. */
const LONG_RUN_REQUESTS = 100

let requests = 0

/** Call it for each model request of this process. */
export function countRequest(): void {
  requests += 1
  if (requests === LONG_RUN_REQUESTS) freeCompilerMemoryAtOnce()
}
