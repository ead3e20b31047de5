import { readdirSync } from "node:fs"
import type { HomeContext } from "../home-context.ts"
import { LOG_NAMES } from "../logs/log-files.ts"

const RECENT_SESSIONS = 50

/** Each source imports its code on use: the shell waits for the candidates while the user types. */
const SOURCES = {
  profile: async (context) => {
    const { listProfiles } = await import("../../config/profiles/profiles.ts")
    return (await listProfiles(context)).map((profile) => profile.name)
  },
  session: async (context) => {
    const { withSessionStore } = await import("../sessions/session-store.ts")
    const sessions = await withSessionStore(context, (store) =>
      store.list({ limit: RECENT_SESSIONS, orderBy: "last-activity" }),
    )
    return (sessions ?? []).map((session) => session.title ?? session.id)
  },
  provider: async () => {
    const { PROVIDERS } = await import("../../llm/providers.ts")
    return PROVIDERS.map((provider) => provider.id)
  },
  toolset: async () => {
    const { TOOLSETS } = await import("../../toolkit/toolset-table.ts")
    return Object.keys(TOOLSETS)
  },
  skill: ({ home }) => Promise.resolve(skillNames(home.file("skills"))),
  setting: async () => {
    const { settingKeys } = await import("../../config/settings.ts")
    return settingKeys()
  },
  log: () => Promise.resolve([...LOG_NAMES, "list"]),
} satisfies Record<string, (context: HomeContext) => Promise<readonly string[]>>

export type CandidateKind = keyof typeof SOURCES

export function isCandidateKind(kind: string): kind is CandidateKind {
  return Object.hasOwn(SOURCES, kind)
}

/** Returns the words of one kind that the shell can offer. A failure offers nothing, so that it cannot disturb typing. */
export async function completionCandidates(kind: CandidateKind, context: HomeContext): Promise<readonly string[]> {
  try {
    return (await SOURCES[kind](context)).map((word) => word.replaceAll(/[\r\n\t]+/g, " "))
  } catch {
    // A message would end up in the middle of the command line; `hermes doctor` reports what is broken.
    return []
  }
}

/** A skill is a directory with a SKILL.md, at the top level or inside a category. */
function skillNames(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name === "SKILL.md")
    .map((entry) => entry.parentPath.split(/[\\/]/).at(-1) ?? "")
    .toSorted()
}
