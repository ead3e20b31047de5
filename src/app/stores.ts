import { existsSync } from "node:fs"

import type { Clock } from "../base/clock.ts"
import type { Logger } from "../base/logger.ts"
import type { Environment } from "../config/environment.ts"
import { homeAt } from "../config/home.ts"
import type { Home } from "../config/home.ts"
import type { Recall } from "../knowledge/recall/recall.ts"
import { StoreError } from "../state/store.ts"
import type { SessionStore } from "../state/store.ts"

/** The databases of an app. Each is opened with its first use and stays open until the end. */
export interface Stores {
  of(home: Home): Promise<SessionStore>
  storeOf(profile: string): Promise<SessionStore>
  recall(): Promise<Recall>
  /** `last` is done with the app's own sessions, if they were ever opened. */
  close(last: (own: SessionStore) => Promise<void>): Promise<void>
}

export function createStores(options: {
  readonly home: Home
  readonly environment: Environment
  readonly clock: Clock
  readonly log: Logger
}): Stores {
  const { home, clock, log } = options
  const opened = new Map<string, Promise<SessionStore>>()
  let recalling: Promise<{ readonly recall: Recall; close(): Promise<void> }> | undefined

  const of = (place: Home): Promise<SessionStore> => {
    const known = opened.get(place.path)
    if (known !== undefined) return known
    const opening = open(place)
    opened.set(place.path, opening)
    return opening
  }
  const open = async (place: Home): Promise<SessionStore> => {
    const { openSqliteStore } = await import("../state/sqlite/open-store.ts")
    return await openSqliteStore({ path: place.file("state.db"), clock, log })
  }
  const openRecall = async (): Promise<{ readonly recall: Recall; close(): Promise<void> }> => {
    const [{ openRecallIndex }, { createRecall }] = await Promise.all([
      import("../state/sqlite/recall-index.ts"),
      import("../knowledge/recall/recall.ts"),
    ])
    const index = await openRecallIndex({ path: home.file("memory_index.db"), clock, log })
    return { recall: createRecall({ index, clock }), close: () => index.close() }
  }

  return {
    of,
    storeOf: async (profile) => {
      const { isProfileName, normalizeProfileName } = await import("../config/profiles/profile-name.ts")
      const { profilePath } = await import("../config/profiles/profiles.ts")
      const name = normalizeProfileName(profile)
      const other =
        name === "default" || isProfileName(name)
          ? homeAt(profilePath(home.root, name), options.environment)
          : undefined
      if (other === undefined || !existsSync(other.file("state.db"))) {
        throw new StoreError("unavailable", `There are no sessions of a profile "${profile}".`)
      }
      return await of(other)
    },
    recall: async () => (await (recalling ??= openRecall())).recall,
    close: async (last) => {
      const own = await opened.get(home.path)?.catch(() => undefined)
      if (own !== undefined) await last(own)
      await (await recalling?.catch(() => undefined))?.close()
      for (const opening of opened.values()) await (await opening.catch(() => undefined))?.close()
    },
  }
}
