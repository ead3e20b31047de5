import { Worker } from "node:worker_threads"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ShrinkTask } from "./image-worker.ts"
import { readImageFacts } from "./image-header.ts"
import type { ImageLimits } from "./image-limits.ts"
import type { SmallerImage } from "./shrink-pixels.ts"

/** Decoding takes about 25 bytes for a pixel; the photographs of today's phones are below this. */
const MAX_PIXELS = 52_000_000
const PATIENCE_MS = 60_000

/**
 * A copy of an image within the limits; the error says why there is none. The work is done in a thread of its own: the terminal
 * stays alive, the memory is given back afterwards, and a decoder that breaks takes nobody with it.
 */
export async function shrinkImage(
  bytes: Uint8Array,
  limits: ImageLimits,
  { signal }: { readonly signal: AbortSignal },
): Promise<Result<SmallerImage>> {
  const facts = readImageFacts(bytes)
  if (facts === undefined) return fail("it is no PNG, JPEG, GIF or WebP image")
  if (facts.width * facts.height > MAX_PIXELS) {
    const millions = Math.round((facts.width * facts.height) / 1_000_000)
    return fail(`it has ${millions} million pixels, more than can be worked on here`)
  }
  return await inThread({ bytes, facts, limits }, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]))
}

async function inThread(task: ShrinkTask, signal: AbortSignal): Promise<Result<SmallerImage>> {
  if (signal.aborted) return fail("interrupted")
  // What a decoder prints while it breaks is not for the person's terminal, so both streams are kept from it.
  const thread = new Worker(workerFile(), { workerData: task, execArgv: [], env: {}, stdout: true, stderr: true })
  const { promise, resolve } = Promise.withResolvers<Result<SmallerImage>>()
  thread.on("message", (copy: SmallerImage | undefined) => {
    resolve(copy === undefined ? fail("no copy of it is small enough") : ok(copy))
  })
  thread.on("error", (error) => {
    resolve(fail(`it could not be decoded (${errorMessage(error)})`))
  })
  thread.on("exit", () => {
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
    await thread.terminate()
  }
}

/** In the sources beside this file; in the build one folder up, where files with a fixed name are. */
function workerFile(): URL {
  return new URL(import.meta.url.endsWith(".ts") ? "image-worker.ts" : "../image-worker.js", import.meta.url)
}
