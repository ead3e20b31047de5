import type { Compression } from "./compression.ts"

const NO_FIGURES = { lastPromptTokens: 0, thresholdTokens: 0, targetTokens: 0, contextLength: 0, compressionCount: 0 }

/** For short auxiliary conversations, which are never compressed. */
export const noCompression: Compression = {
  figures: NO_FIGURES,
  modelSwitched: () => undefined,
  beforeTurn: none,
  beforeRequest: allow,
  estimatedRequestTokens: () => 0,
  noteUsage: () => undefined,
  afterToolResults: none,
  afterAnswer: none,
  // oxlint-disable-next-line require-yield -- the interface is a generator, but there is no event to emit
  afterOverflow: async function* ({ failure }) {
    const { reason, message } = failure
    return await Promise.resolve({
      exitReason: "all_retries_exhausted_no_response",
      code: "compaction_disabled",
      reason,
      message,
    })
  },
  compressBeforeNextTurn: () => undefined,
  // oxlint-disable-next-line require-yield -- as above
  compressNow: () => {
    throw new Error("an auxiliary conversation cannot be compressed")
  },
}

// oxlint-disable-next-line require-yield -- as above
async function* none(): ReturnType<Compression["beforeTurn"]> {
  await Promise.resolve()
}

// oxlint-disable-next-line require-yield -- as above
async function* allow(): ReturnType<Compression["beforeRequest"]> {
  return await Promise.resolve(undefined)
}
