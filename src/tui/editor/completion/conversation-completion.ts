import { createProjectFiles, directoryNames } from "../../../admin/editor-support/project-files.ts"
import { loadHome } from "../../../admin/loaded-home.ts"
import { listOfferedModels } from "../../../admin/models/offered-models.ts"
import type { App } from "../../../app/app.ts"
import type { Session } from "../../../app/session/session.ts"
import type { SkillCommand } from "../../../app/session/skill-commands.ts"
import { assertNever } from "../../../base/assert-never.ts"
import { keepFor } from "../../../base/kept-value.ts"
import { listOwnCommands } from "../../../commands/own-commands.ts"
import type { OwnCommand } from "../../../commands/own-commands.ts"
import type { ArgumentKind } from "../../../commands/slash-command.ts"
import { SLASH_COMMANDS } from "../../../commands/slash-table.ts"
import type { Completion, CompletionSource } from "./completion-source.ts"
import { firstSource } from "./completion-source.ts"
import { pathSource } from "./path-source.ts"
import { referenceSource } from "./reference-source.ts"
import type { NamedReference } from "./reference-source.ts"
import { slashSource } from "./slash-source.ts"
import type { SlashEntry } from "./slash-source.ts"

export interface ConversationCompletionOptions {
  readonly app: App
  /** The conversation that is open now. */
  readonly session: () => Session
  readonly skins: () => readonly NamedReference[]
  readonly personalities: () => readonly NamedReference[]
}

const RECENT_SESSIONS = 100
const KEPT_MS = 5000
const MAX_WAIT_MS = 10_000

/** Completes slash commands with their arguments, `@` references, and paths in a command after `!`. */
export function conversationCompletion(options: ConversationCompletionOptions): CompletionSource {
  const { app, session } = options
  const projectFiles = createProjectFiles(app)
  const skills = keepFor(KEPT_MS, { clock: app.clock, load: async (of: Session) => (await of.skills?.list()) ?? [] })
  const ownCommands = keepFor(KEPT_MS, { clock: app.clock, load: (of: Session) => listOwnCommands(app, of) })
  const values = keepFor(KEPT_MS, { clock: app.clock, load: (kind: ArgumentKind) => valuesOf(kind, options) })
  return firstSource([
    slashSource(async () =>
      slashEntries(options, { skills: await skills(session()), own: await ownCommands(session()), values }),
    ),
    pathSource((path) => directoryNames(path, { cwd: session().facts.cwd, userHome: app.home.userHome })),
    referenceSource({
      files: () => projectFiles(session().facts.cwd),
      sessions: () => recentSessions(app),
      skills: async () => (await skills(session())).map(({ name, description }) => ({ name, detail: description })),
    }),
  ])
}

/** All commands in the order of `/help`, then those of the user, of plugins, skills and MCP servers that no other command hides. */
function slashEntries(
  { app, session }: ConversationCompletionOptions,
  known: {
    readonly skills: readonly SkillCommand[]
    readonly own: readonly OwnCommand[]
    readonly values: (kind: ArgumentKind) => Promise<readonly Completion[]>
  },
): readonly SlashEntry[] {
  const builtin = SLASH_COMMANDS.map(({ name, help, aliases, argument, completes }): SlashEntry => ({
    name,
    detail: help,
    ...(aliases === undefined ? {} : { aliases }),
    ...(argument === undefined ? {} : { argument }),
    ...(completes === undefined ? {} : { values: () => known.values(completes) }),
  }))
  const others: readonly SlashEntry[] = [
    ...known.own.map(({ name, help, argument = "" }) => ({ name, detail: help, argument })),
    ...app
      .pluginCommands()
      .map(({ name, description = "", argsHint = "" }) => ({ name, detail: description, argument: argsHint })),
    ...known.skills.map(({ slug, description }) => ({ name: slug, detail: description })),
    ...(session().mcp?.prompts() ?? []).map(({ command, description }) => ({ name: command, detail: description })),
  ]
  const taken = new Set(builtin.flatMap(({ name, aliases = [] }) => [name, ...aliases]))
  return [
    ...builtin,
    ...others.filter(({ name }) => {
      const isNew = !taken.has(name)
      taken.add(name)
      return isNew
    }),
  ]
}

async function valuesOf(
  kind: ArgumentKind,
  { app, session, skins, personalities }: ConversationCompletionOptions,
): Promise<readonly Completion[]> {
  switch (kind) {
    case "model": {
      const provider = { id: session().facts.provider }
      const home = await loadHome(app)
      const signal = AbortSignal.timeout(MAX_WAIT_MS)
      const { models } = await listOfferedModels(home, { provider, prefer: "cache", version: app.version, signal })
      return models.map(({ id, price }) => value(id, price))
    }
    case "session":
      return (await recentSessions(app)).map(({ name, detail }) => ({ text: `${name} `, label: detail, detail: name }))
    case "tool":
      return session().facts.tools.map((name) => value(name))
    case "permission-profile":
      return session().permissions.profiles.map((name) => value(name))
    case "skin":
      return skins().map(({ name, detail }) => value(name, detail))
    case "personality":
      return personalities().map(({ name, detail }) => value(name, detail))
    case "command":
      return SLASH_COMMANDS.map(({ name, help }) => value(name, help))
    default:
      return assertNever(kind)
  }
}

function value(name: string, detail?: string): Completion {
  return { text: `${name} `, label: name, ...(detail === undefined ? {} : { detail }) }
}

async function recentSessions(app: App): Promise<readonly NamedReference[]> {
  const store = await app.store()
  const sessions = await store.list({ limit: RECENT_SESSIONS, orderBy: "last-activity", excludeSources: ["tool"] })
  return sessions.map(({ id, title, preview }) => ({ name: id, detail: title ?? preview }))
}
