import type { Compression } from "./compression.ts"

const NO_FIGURES = { lastPromptTokens: 0, thresholdTokens: 0, targetTokens: 0, contextLength: 0, compressionCount: 0 }

/** For short side conversations that never grow: nothing is ever shortened. */
export const withoutCompression: Compression = {
  figures: NO_FIGURES,
  beforeTurn: none,
  beforeRequest: nothingToSay,
  requestTokens: () => 0,
  noteUsage: () => undefined,
  afterBatch: none,
  afterAnswer: none,
  // oxlint-disable-next-line require-yield -- nothing happens, so there is nothing to tell
  afterRefusal: async function* ({ failure }) {
    const { reason, message } = failure
    return await Promise.resolve({
      exitReason: "all_retries_exhausted_no_response",
      code: "compaction_disabled",
      reason,
      message,
    })
  },
  distrustNextRequest: () => undefined,
  // oxlint-disable-next-line require-yield -- as above
  now: () => {
    throw new Error("a side conversation is never shortened")
  },
}

// oxlint-disable-next-line require-yield -- as above
async function* none(): ReturnType<Compression["beforeTurn"]> {
  await Promise.resolve()
}

// oxlint-disable-next-line require-yield -- as above
async function* nothingToSay(): ReturnType<Compression["beforeRequest"]> {
  return await Promise.resolve(undefined)
}
