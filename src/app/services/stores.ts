import { existsSync } from "node:fs"

import { lazy } from "../../base/lazy.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import type { Environment } from "../../config/environment.ts"
import { homeAt } from "../../config/home.ts"
import type { Home } from "../../config/home.ts"
import type { SemanticSearch } from "../../knowledge/semantic-search/semantic-search.ts"
import { StoreError } from "../../state/store.ts"
import type { SessionStore } from "../../state/store.ts"

/** The databases of an app. Each is opened on first use and stays open until the app closes. */
export interface Stores {
  of(home: Home): Promise<SessionStore>
  storeOf(profile: string): Promise<SessionStore>
  semanticSearch(): Promise<SemanticSearch>
  /** Runs `last` on the app's own sessions, if they were opened, then closes everything. */
  close(last: (own: SessionStore) => Promise<void>): Promise<void>
}

export function createStores(options: {
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
}): Stores {
  const { home: ownHome, clock, log } = options
  const opened = new Map<string, Promise<SessionStore>>()
  const open = async (home: Home): Promise<SessionStore> => {
    const { openSqliteStore } = await import("../../state/sqlite/open-store.ts")
    return await openSqliteStore({ path: home.file("state.db"), clock, log })
  }
  const of = (home: Home): Promise<SessionStore> => {
    const known = opened.get(home.path)
    if (known !== undefined) return known
    const opening = open(home)
    opened.set(home.path, opening)
    return opening
  }
  const semanticSearch = lazy(async () => {
    const [{ openSemanticIndex }, { createSemanticSearch }] = await Promise.all([
      import("../../state/sqlite/semantic-index/semantic-index.ts"),
      import("../../knowledge/semantic-search/semantic-search.ts"),
    ])
    const index = await openSemanticIndex({ path: ownHome.file("memory_index.db"), clock, log })
    return { search: createSemanticSearch({ index, clock }), close: () => index.close() }
  })

  return {
    of,
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
    close: async (last) => {
      const own = await opened.get(ownHome.path)?.catch(() => undefined)
      if (own !== undefined) await last(own)
      await (await semanticSearch.peek()?.catch(() => undefined))?.close()
      for (const opening of opened.values()) await (await opening.catch(() => undefined))?.close()
    },
  }
}
