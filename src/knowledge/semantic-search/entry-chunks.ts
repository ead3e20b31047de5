import { fingerprint } from "../../base/random-and-hash.ts"
import { splitIntoChunks } from "./chunks.ts"
import type { Lexicon } from "./lexicon.ts"
import type { TextChunk, EntryKind } from "../../protocol/semantic-index.ts"

export interface IndexEntry {
  readonly kind: EntryKind
  /** Identifies the text at its source; for messages see `messageRef`. */
  readonly ref: string
  readonly text: string
  /** Epoch seconds. */
  readonly createdAt: number
}

/** Only the beginning of a very long text is indexed. */
const MAX_CHUNKS = 64

export function chunkEntry({ kind, ref, text, createdAt }: IndexEntry, lexicon: Lexicon): readonly TextChunk[] {
  return splitIntoChunks(text)
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
