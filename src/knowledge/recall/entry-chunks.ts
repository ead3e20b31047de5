import { fingerprint } from "../../base/random-and-hash.ts"
import { chunksOf } from "./chunks.ts"
import type { Lexicon } from "./lexicon.ts"
import type { IndexChunk, RecallKind } from "./recall-index.ts"

export interface RecallEntry {
  readonly kind: RecallKind
  /** Names the text where it came from; for messages see `messageRef`. */
  readonly ref: string
  readonly text: string
  /** Epoch seconds. */
  readonly createdAt: number
}

/** A megabyte that somebody pasted is found by its beginning. */
const MAX_CHUNKS = 64

export function chunksOfEntry({ kind, ref, text, createdAt }: RecallEntry, lexicon: Lexicon): readonly IndexChunk[] {
  return chunksOf(text)
    .slice(0, MAX_CHUNKS)
    .map((part, chunk) => ({
      kind,
      ref,
      chunk,
      text: part,
      terms: lexicon.indexTerms(part),
      textHash: fingerprint(part),
      createdAt,
    }))
}
