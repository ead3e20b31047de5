import { existsSync } from "node:fs"

import { lazy } from "../../base/lazy.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import type { Redactor } from "../../base/redact.ts"
import type { Config } from "../../config/load-config.ts"
import type { EmbeddingClient } from "../../llm/embeddings/embedding-client.ts"
import type { Environment } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import type { Home } from "../../config/home.ts"
import type { Lexicon } from "../../knowledge/semantic-search/lexicon.ts"
import type { SemanticSearch } from "../../knowledge/semantic-search/semantic-search.ts"
import { StoreError } from "../../state/store.ts"
import type { SessionStore } from "../../state/store.ts"

/** The databases of an app. Each is opened on first use and stays open until the app closes. */
export interface Stores {
  of(home: Home): Promise<SessionStore>
  storeOf(profile: string): Promise<SessionStore>
  /** Sentences for the user about databases that were repaired since the last call. */
  takeStoreNotices(): readonly string[]
  semanticSearch(): Promise<SemanticSearch>
  /** Knowledge about words, for searches. Built on first use. */
  lexicon(): Promise<Lexicon>
  /** Runs `last` on the app's own sessions, if they were opened, then closes everything. */
  close(last: (own: SessionStore) => Promise<void>): Promise<void>
}

export function createStores(options: {
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
  readonly config: Config
  readonly redactor: Redactor
}): Stores {
  const { home: ownHome, clock, log } = options
  const opened = new Map<string, Promise<SessionStore>>()
  const notices: string[] = []
  const open = async (home: Home): Promise<SessionStore> => {
    const { openSqliteStore } = await import("../../state/sqlite/open-store.ts")
    return await openSqliteStore({
      path: home.file("state.db"),
      clock,
      log,
      onRepair: (notice) => notices.push(notice),
    })
  }
  const of = (home: Home): Promise<SessionStore> => {
    const known = opened.get(home.path)
    if (known !== undefined) return known
    const opening = open(home)
    opened.set(home.path, opening)
    return opening
  }
  const lexicon = lazy(async () => {
    const { createLexicon } = await import("../../knowledge/semantic-search/lexicon.ts")
    return createLexicon()
  })
  const semanticSearch = lazy(async () => {
    const [{ openSemanticIndex }, { createSemanticSearch }] = await Promise.all([
      import("../../state/sqlite/semantic-index/semantic-index.ts"),
      import("../../knowledge/semantic-search/semantic-search.ts"),
    ])
    const embedder = await openEmbedder(options)
    const index = await openSemanticIndex({ path: ownHome.file("memory_index.db"), clock, log })
    return {
      search: createSemanticSearch({
        index,
        clock,
        lexicon: await lexicon(),
        ...(embedder !== undefined && { embedder }),
      }),
      close: async () => {
        embedder?.close()
        await index.close()
      },
    }
  })

  return {
    of,
    takeStoreNotices: () => notices.splice(0),
    storeOf: async (profile) => {
      const { isProfileName, normalizeProfileName } = await import("../../config/profiles/profile-name.ts")
      const { profilePath } = await import("../../config/profiles/profiles.ts")
      const name = normalizeProfileName(profile)
      const other =
        name === "default" || isProfileName(name)
          ? homeAt(profilePath(ownHome.root, name), options.environment)
          : undefined
      if (other === undefined || !existsSync(other.file("state.db"))) {
        throw new StoreError("unavailable", `There are no sessions of a profile "${profile}".`)
      }
      return await of(other)
    },
    semanticSearch: async () => (await semanticSearch()).search,
    lexicon,
    close: async (last) => {
      const own = await opened.get(ownHome.path)?.catch(() => undefined)
      if (own !== undefined) await last(own)
      await (await semanticSearch.peek()?.catch(() => undefined))?.close()
      for (const opening of opened.values()) await (await opening.catch(() => undefined))?.close()
    },
  }
}

/** Undefined unless `memory.semantic` is enabled and usable; `hermes doctor` explains what is missing. */
async function openEmbedder(sources: Parameters<typeof createStores>[0]): Promise<EmbeddingClient | undefined> {
  if (!sources.config.get("memory.semantic.enabled")) return undefined
  const { openEmbeddings } = await import("./embeddings.ts")
  const opened = await openEmbeddings(sources)
  if (!opened.ok) sources.log.warning(`semantic search has no embeddings: ${opened.error}`)
  return opened.ok ? opened.value : undefined
}
