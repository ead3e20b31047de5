import { readdirSync } from "node:fs"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import { LOG_NAMES } from "../logs/log-files.ts"

const RECENT_SESSIONS = 50

interface Place {
  readonly home: Home
  readonly environment: Environment
}

const SOURCES = {
  profile: async (place) => {
    const { listProfiles } = await import("../../config/profiles/profiles.ts")
    return (await listProfiles(place)).map((profile) => profile.name)
  },
  session: async ({ home }) => {
    const { withSessions } = await import("../session-store.ts")
    return withSessions<readonly string[]>(home, {
      absent: () => [],
      work: async (store) => {
        const sessions = await store.list({ limit: RECENT_SESSIONS, orderBy: "last-activity" })
        return sessions.map((session) => session.title ?? session.id)
      },
    })
  },
  provider: async () => {
    const { PROVIDERS } = await import("../../llm/providers.ts")
    return PROVIDERS.map((provider) => provider.id)
  },
  toolset: async () => {
    const { STATIC_TOOLSETS } = await import("../../toolkit/toolset-table.ts")
    return Object.keys(STATIC_TOOLSETS)
  },
  skill: ({ home }) => Promise.resolve(skillNames(home.file("skills"))),
  setting: async () => {
    const { settingKeys } = await import("../../config/settings.ts")
    return settingKeys()
  },
  log: () => Promise.resolve([...LOG_NAMES, "list"]),
} satisfies Record<string, (place: Place) => Promise<readonly string[]>>

export type CandidateKind = keyof typeof SOURCES

export function isCandidateKind(kind: string): kind is CandidateKind {
  return Object.hasOwn(SOURCES, kind)
}

/** The words that fit at a place. A completion must never disturb the line being typed, so a failure offers nothing. */
export async function candidates(kind: CandidateKind, place: Place): Promise<readonly string[]> {
  try {
    return (await SOURCES[kind](place)).map((word) => word.replaceAll(/[\r\n\t]+/g, " "))
  } catch {
    // The person asked for help with a word, not for a report; `hermes doctor` tells what is broken.
    return []
  }
}

/** A skill is a folder with SKILL.md, alone or inside a category. */
function skillNames(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === "SKILL.md")
    .map((entry) => entry.parentPath.split(/[\\/]/).at(-1) ?? "")
    .toSorted()
}
