import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { bestCandidates, tellingForms } from "./candidates.ts"
import { chunksOfEntry } from "./entry-chunks.ts"
import type { RecallEntry } from "./entry-chunks.ts"
import { indexSessions } from "./index-sessions.ts"
import type { CatchUpOptions, SessionSource } from "./index-sessions.ts"
import { createLexicon } from "./lexicon.ts"
import type { Lexicon } from "./lexicon.ts"
import { withKnownForms } from "./known-forms.ts"
import { conceptsOf } from "./concepts.ts"
import { diversified, hybridScores, keywordScores } from "./ranking.ts"
import type { FoundChunk, IndexChunk, RecallIndex, RecallKind } from "./recall-index.ts"
import { createVectors } from "./vectors.ts"
import type { Embed } from "./vectors.ts"

/** Finding by other words: over sessions, memory and learnings. Operations reject when the index cannot be used. */
export interface Recall {
  /** Keeps the entries; those with a known kind and ref are replaced. */
  index(entries: readonly RecallEntry[]): Promise<void>
  /** Makes the entries everything there is of a kind. */
  replace(kind: RecallKind, entries: readonly Omit<RecallEntry, "kind">[]): Promise<void>
  /** Forgets a ref; a session id forgets all its messages. */
  remove(ref: string): Promise<void>
  search(query: string, options: RecallQuery): Promise<readonly RecallHit[]>
  /** Indexes what sessions have gained, newest first, for as long as the budget allows. */
  catchUp(source: SessionSource, options: CatchUpOptions): Promise<{ readonly complete: boolean }>
}

export interface RecallQuery {
  readonly limit: number
  /** All unless told otherwise. */
  readonly kinds?: readonly RecallKind[]
  /** Refs that are not looked for, with those below them: what the asker sees anyway. */
  readonly except?: readonly string[]
}

export interface RecallHit {
  readonly kind: RecallKind
  readonly ref: string
  /** The part that matches. */
  readonly text: string
  readonly createdAt: number
  /** 0 to 1; only good for comparing hits of one search. */
  readonly score: number
}

export interface RecallOptions {
  readonly index: RecallIndex
  readonly clock: Clock
  /** Vectors for texts. Without it, or when it fails, search goes by words alone. */
  readonly embed?: Embed
}

const ALL_KINDS: readonly RecallKind[] = ["session", "memory", "user", "learning"]

/** How many entries are looked at closely. */
const CANDIDATES = 100

export function createRecall({ index, clock, embed }: RecallOptions): Recall {
  let prepared: Promise<Lexicon> | undefined
  /** Made at the first use: the word lists take a few milliseconds, and an index made with others is of no use. */
  const lexiconOnce = (): Promise<Lexicon> => (prepared ??= prepareLexicon(index))
  const vectors = embed === undefined ? undefined : createVectors(index, embed)

  const byWords = async (
    query: string,
    isWanted: (id: number) => boolean,
  ): Promise<ReadonlyMap<FoundChunk, number>> => {
    const lexicon = await lexiconOnce()
    const { concepts, use } = await withKnownForms(conceptsOf(query, lexicon), index, lexicon)
    const forms = tellingForms(concepts, use)
    const postings = await index.postings(forms.flatMap(({ terms }) => terms))
    const ids = bestCandidates({ concepts, use, postings }, { limit: CANDIDATES, isWanted })
    return keywordScores(concepts, await index.chunks(ids), use)
  }

  return {
    index: async (entries) => {
      const lexicon = await lexiconOnce()
      const given = entries.map((entry) => ({ ref: entry.ref, chunks: chunksOfEntry(entry, lexicon) }))
      for (const { ref, chunks } of given) if (chunks.length === 0) await index.remove(ref)
      await index.put(given.flatMap(({ chunks }) => chunks))
      await vectors?.fill()
    },
    replace: async (kind, entries) => {
      const lexicon = await lexiconOnce()
      const kept = Map.groupBy(await index.refs(kind), ({ ref }) => ref)
      const chunks = entries.flatMap((entry) => chunksOfEntry({ ...entry, kind }, lexicon))
      const given = Map.groupBy(chunks, ({ ref }) => ref)
      for (const ref of kept.keys()) if (!given.has(ref)) await index.remove(ref)
      const changed = [...given].filter(([ref, parts]) => hashes(kept.get(ref) ?? []) !== hashes(parts))
      if (changed.length === 0) return
      await index.put(changed.flatMap(([, parts]) => parts))
      await vectors?.fill()
    },
    remove: (ref) => index.remove(ref),
    search: async (query, { limit, kinds = ALL_KINDS, except = [] }) => {
      const isWanted = await wantedEntries(index, { kinds, except })
      const keyword = await byWords(query, isWanted)
      const cosine =
        (await vectors?.near(query, { kinds, isWanted, limit: CANDIDATES })) ?? new Map<FoundChunk, number>()
      const scored = hybridScores({ keyword, cosine, now: epochSeconds(clock) })
      return diversified(scored, limit).map(({ chunk: { kind, ref, text, createdAt }, score }) => ({
        kind,
        ref,
        text,
        createdAt,
        score,
      }))
    },
    catchUp: async (source, options) => {
      const outcome = await indexSessions(index, source, { ...options, clock, lexicon: await lexiconOnce() })
      await vectors?.fill()
      return outcome
    },
  }
}

/** Which entries a search may find. Sessions are most of what there is, the other kinds are few: the short list is read. */
async function wantedEntries(
  index: RecallIndex,
  { kinds, except }: { readonly kinds: readonly RecallKind[]; readonly except: readonly string[] },
): Promise<(id: number) => boolean> {
  const unwanted = ALL_KINDS.filter((kind) => !kinds.includes(kind))
  const withSessions = kinds.includes("session")
  const few = new Set(unwanted.length === 0 ? [] : await index.idsOf(withSessions ? unwanted : kinds))
  const isKind = withSessions ? (id: number): boolean => !few.has(id) : (id: number): boolean => few.has(id)
  const left = new Set<number>()
  for (const ref of except) for (const id of await index.idsUnder(ref)) left.add(id)
  return (id) => isKind(id) && !left.has(id)
}

const LEXICON = "lexicon"

async function prepareLexicon(index: RecallIndex): Promise<Lexicon> {
  const lexicon = createLexicon()
  if ((await index.note(LEXICON)) !== lexicon.version) {
    await index.clear()
    await index.setNote(LEXICON, lexicon.version)
  }
  return lexicon
}

function hashes(parts: readonly Pick<IndexChunk, "chunk" | "textHash">[]): string {
  return parts
    .toSorted((a, b) => a.chunk - b.chunk)
    .map(({ textHash }) => textHash)
    .join(" ")
}
