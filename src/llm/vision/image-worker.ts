// Runs in a thread of its own, started by shrink-image.ts; the build makes it a file beside the command.
import { parentPort, workerData } from "node:worker_threads"

import type { ImageFacts } from "./image-header.ts"
import type { ImageLimits } from "./image-limits.ts"
import { shrinkPixels } from "./shrink-pixels.ts"

export interface ShrinkTask {
  readonly bytes: Uint8Array
  readonly facts: ImageFacts
  readonly limits: ImageLimits
}

if (parentPort !== null) {
  const { bytes, facts, limits }: ShrinkTask = workerData
  parentPort.postMessage(shrinkPixels(bytes, facts, limits), [])
}
