import { Worker } from "node:worker_threads"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ShrinkTask } from "./image-worker.ts"
import { readImageHeader } from "./image-header.ts"
import type { ImageLimits } from "./image-limits.ts"
import type { ShrunkImage } from "./shrink-pixels.ts"

/** Decoding takes about 25 bytes per pixel; photos of current phones are below this limit. */
const MAX_PIXELS = 52_000_000
const TIMEOUT_MS = 60_000

/**
 * Returns a copy of the image within the limits, or why there is none. Works in a separate thread: the terminal stays
 * responsive, the memory is released afterwards, and a crashing decoder does not end the process.
 */
export async function shrinkImage(
  bytes: Uint8Array,
  limits: ImageLimits,
  { signal }: { readonly signal: AbortSignal },
): Promise<Result<ShrunkImage>> {
  const header = readImageHeader(bytes)
  if (header === undefined) return fail("it is not a PNG, JPEG, GIF or WebP image")
  if (header.width * header.height > MAX_PIXELS) {
    const millions = Math.round((header.width * header.height) / 1_000_000)
    return fail(`it has ${millions} million pixels, more than Hermes can process`)
  }
  return await shrinkInWorker({ bytes, header, limits }, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]))
}

async function shrinkInWorker(task: ShrinkTask, signal: AbortSignal): Promise<Result<ShrunkImage>> {
  if (signal.aborted) return fail("interrupted")
  // Capture both streams: the output of a crashing decoder must not reach the user's terminal.
  const worker = new Worker(workerFile(), { workerData: task, execArgv: [], env: {}, stdout: true, stderr: true })
  const { promise, resolve } = Promise.withResolvers<Result<ShrunkImage>>()
  worker.on("message", (copy: ShrunkImage | undefined) => {
    resolve(copy === undefined ? fail("no copy is small enough") : ok(copy))
  })
  worker.on("error", (error) => {
    resolve(fail(`it could not be decoded (${errorMessage(error)})`))
  })
  worker.on("exit", () => {
    resolve(fail("it could not be decoded"))
  })
  const stop = (): void => {
    resolve(fail("it took too long"))
  }
  signal.addEventListener("abort", stop, { once: true })
  try {
    return await promise
  } finally {
    signal.removeEventListener("abort", stop)
    await worker.terminate()
  }
}

/** Next to this file in the sources; one directory up in the build, where files with fixed names are. */
function workerFile(): URL {
  return new URL(import.meta.url.endsWith(".ts") ? "image-worker.ts" : "../image-worker.js", import.meta.url)
}
