import { fingerprint } from "../../base/random-and-hash.ts"
import { MEMORY_TARGETS } from "../../knowledge/memory/memory-file.ts"
import type { IndexEntry } from "../../knowledge/semantic-search/entry-chunks.ts"
import type { ToolPorts } from "../../toolkit/tool.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import { createMessageIndexing } from "./message-indexing.ts"

const GUIDANCE =
  "When the user refers to earlier work, look it up with session_search before you ask them to repeat it."

/** Past sessions for the search tool. */
export function sessionsFacet(context: FacetContext): AppFacet {
  const { services, session, ports } = context
  const indexing = createMessageIndexing(services)
  return {
    name: "past sessions",
    beforeTurn: () => {
      indexing.pause()
      return Promise.resolve(undefined)
    },
    afterTurn: () => indexing.resume(),
    close: () => indexing.close(),
    ports: () => ({
      sessions: {
        sessionId: () => session().conversation.id,
        store: (profile) =>
          profile === undefined || profile === services.home.profile ? services.store() : services.storeOf(profile),
        lexicon: () => services.lexicon(),
        semanticSearch: () => services.semanticSearch(),
        indexInBackground: () => indexing.request(),
        notes: () => notes(ports()),
      },
    }),
    promptLayers: ({ tools, style }) => {
      const isOffered = style === "full" && tools.some(({ role }) => role === "session-search")
      return Promise.resolve([{ tier: "stable", name: "session search", text: isOffered ? GUIDANCE : "" }])
    },
  }
}

const MAX_LEARNINGS = 1000

/** The current entries of memory and learnings, which the same search finds. */
async function notes({ memory, learnings }: ToolPorts): Promise<readonly IndexEntry[]> {
  const entries = MEMORY_TARGETS.flatMap((kind) => {
    const read = memory?.read(kind)
    const texts = read?.kind === "done" ? read.entries : []
    return texts.map((text) => ({ kind, ref: `${kind}:${fingerprint(text)}`, text, createdAt: 0 }))
  })
  const listed = (await learnings?.())?.list(MAX_LEARNINGS)
  const learned = (listed?.ok === true ? listed.value : []).map(({ id, pattern, fix, createdAt }) => ({
    kind: "learning" as const,
    ref: `learning:${id}`,
    text: `${pattern}\n${fix}`,
    createdAt,
  }))
  return [...entries, ...learned]
}
