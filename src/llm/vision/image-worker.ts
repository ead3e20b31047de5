// Worker thread of shrink-image.ts; the build emits it as a separate file next to the main script.
import { parentPort, workerData } from "node:worker_threads"

import type { ImageHeader } from "./image-header.ts"
import type { ImageLimits } from "./image-limits.ts"
import { shrinkPixels } from "./shrink-pixels.ts"

export interface ShrinkTask {
  readonly bytes: Uint8Array
  readonly header: ImageHeader
  readonly limits: ImageLimits
}

if (parentPort !== null) {
  const { bytes, header, limits }: ShrinkTask = workerData
  parentPort.postMessage(shrinkPixels(bytes, header, limits), [])
}
