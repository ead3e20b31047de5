import { basename, join } from "node:path"

import type { FacetLayer, PromptRequest } from "../../agent/facet.ts"
import { platformOf, type Surface } from "../../agent/origin.ts"
import { projectSkillsLayer, skillsIndexLayer } from "../../agent/prompt/skills-index.ts"
import type { IndexedSkill } from "../../agent/prompt/skills-index.ts"
import { lazy } from "../../base/lazy.ts"
import { fail, ok } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { isDeniedForWriting } from "../../config/dotenv-lines.ts"
import { isBlockedVariable } from "../../exec/command-environment.ts"
import { readBundledManifest, suppressedNames } from "../../knowledge/skills/bundled-manifest.ts"
import { BUNDLED_SKILLS } from "../../knowledge/skills/bundled.generated.ts"
import { loadSkills } from "../../knowledge/skills/load-skills.ts"
import type { Skill } from "../../knowledge/skills/skill.ts"
import { createSkillStore, disabledNames, snapshotPath, type SkillStore } from "../../knowledge/skills/skill-store.ts"
import { skillSlug } from "../../knowledge/skills/skill-text.ts"
import type { ViewedSkill } from "../../knowledge/skills/view-skill.ts"
import type { SkillsPort } from "../../toolkit/ports/skills.ts"
import { bundledSkills, syncBundle, type SkillBundle } from "../services/bundled-skills.ts"
import { loadJudge } from "../skills/load-judge.ts"
import type { LoadingContext } from "../skills/loaded-skill.ts"
import type { AppFacet, FacetContext } from "../session/facet-context.ts"
import type { SkillCommand, SkillCommands } from "../session/skill-commands.ts"

/** Saved procedures: their index in the prompt, the tools that load and change them, and their slash commands. */
export function skillsFacet(context: FacetContext): AppFacet | undefined {
  const { services, workspace, options } = context
  const { config, environment, home, log, clock } = services
  if (environment.truthy("HERMES_SAFE_MODE")) return undefined
  const bundle = bundledSkills({ home, environment })
  /** Copies the bundled skills once, before a tool or a command looks for one. */
  const prepared = lazy(async () => {
    if (context.isPreview || bundle === undefined) return
    try {
      await syncBundle(bundle, home)
    } catch (error) {
      log.warning(`the bundled skills could not be copied: ${errorMessage(error)}`)
    }
  })
  /** Values that the user has typed in this session. */
  const typed = new Map<string, string>()
  const isLocal = workspace.kind === "local"
  const obeysProject = isLocal && !environment.truthy("HERMES_IGNORE_RULES")
  const store = createSkillStore({
    home,
    config,
    environment: { ...environment, get: (name) => typed.get(name) ?? environment.get(name) },
    clock,
    loadJudge,
    platform: platformOf(options.origin),
    ...(obeysProject ? { project: workspace.cwd() } : {}),
    sessionId: () => context.session().conversation.id,
    tools: () => toolNames(context),
    ...(isLocal
      ? {}
      : { inWorkspace: (path) => path.replace(home.path, join(workspace.files.resolve("~"), ".hermes")) }),
    prepare: prepared,
  })
  const sentWith = new Map<string, string>()
  let sentNext = ""
  return {
    name: "skills",
    ports: () => ({ skills: lazy(() => Promise.resolve(skillsPort(store, { context, typed }))) }),
    promptLayers: async (request) => await indexLayers(request, { store, bundle, context }),
    awaitingReply: async () => {
      await prepared()
    },
    beforeTurn: ({ text }) => {
      const texts = [sentNext, sentWith.get(text) ?? ""].filter((one) => one !== "")
      sentNext = ""
      sentWith.delete(text)
      return Promise.resolve(texts.length === 0 ? undefined : texts.join("\n\n"))
    },
    abilities: () => ({
      skills: skillCommands(store, {
        sendWith: (message, text) => {
          sentWith.set(message, text)
        },
        sendNext: (text) => {
          sentNext = [sentNext, text].filter((one) => one !== "").join("\n\n")
        },
        load: async (skill) => {
          const { loaded } = await import("../skills/loaded-skill.ts")
          const notes = await loaded(skill, store, { context, typed })
          const { skillMessage } = await import("../../knowledge/skills/skill-message.ts")
          return [skillMessage(skill), ...notes].join("\n\n")
        },
      }),
    }),
    close: async () => {
      await prepared.peek()
    },
  }
}

function skillsPort(store: SkillStore, { context, typed }: LoadingContext): SkillsPort {
  const { config } = context.services
  const shell = [...context.session().dispatch.tools.values()].find(({ role }) => role === "shell")
  return {
    ...store,
    loaded: async (skill) => {
      const { loaded } = await import("../skills/loaded-skill.ts")
      return await loaded(skill, store, { context, typed })
    },
    change: async (change, accept) =>
      config.get("skills.write_approval") ? await store.stage(change) : await store.change(change, accept),
    ...(shell === undefined || !config.get("skills.inline_shell")
      ? {}
      : { inlineCommands: { tool: shell.name, timeoutSeconds: config.get("skills.inline_shell_timeout") } }),
    ...(TYPED_SURFACES.has(context.options.origin.surface)
      ? {
          secrets: {
            // Plan mode leaves nothing behind, and a skill has no use for what commands never see.
            canStore: (name: string) =>
              context.session().dispatch.permissions.profile !== "plan" &&
              !isBlockedVariable(name) &&
              !isDeniedForWriting(name),
            store: async (name: string, value: string) => {
              const { storeTyped } = await import("../skills/loaded-skill.ts")
              return await storeTyped(name, value, { context, typed })
            },
          },
        }
      : {}),
  }
}

/** Where a user types at this machine. A secret in a chat would be stored by the service. */
const TYPED_SURFACES: ReadonlySet<Surface> = new Set(["cli", "tui"])

interface IndexSources {
  readonly store: SkillStore
  readonly bundle: SkillBundle | undefined
  readonly context: FacetContext
}

async function indexLayers(
  { tools, style }: PromptRequest,
  { store, bundle, context }: IndexSources,
): Promise<readonly FacetLayer[]> {
  if (style === "lean" || !tools.some(({ role }) => role === "skills")) return []
  const { skills: found, categories, snapshot } = await offeredBefore(store, tools, context)
  // The names of another bundle are known once it has been copied.
  const isPending = bundle !== undefined && bundle.hash !== "" && snapshot.bundle !== bundle.hash
  const fresh = isPending ? bundledEntries(found, context) : []
  // The copies will be in the home, which wins over every other root.
  const copied = new Set(fresh.map(({ name }) => name))
  const skills = found.filter(({ name, source }) => source === "home" || !copied.has(name.toLowerCase()))
  const own = skills.filter(({ source }) => source !== "project")
  const fromProject = skills.filter(({ source }) => source === "project")
  const index = skillsIndexLayer([...own.map(indexed), ...fresh], categories)
  if (fromProject.length === 0) return [index]
  const { scanThreats } = await import("../../knowledge/threat-scan.ts")
  const [safe, refused] = partition(fromProject, ({ name, description }) => {
    return scanThreats(`${name}\n${description}`, "context").length === 0
  })
  return [
    index,
    projectSkillsLayer(safe.map(indexed)),
    ...refused.map((skill): FacetLayer => ({
      tier: "context",
      name: "project skills",
      text: "",
      warning: `The skill ${join(skill.directory, "SKILL.md")} is not offered, because its description looks like an attack.`,
    })),
  ]
}

/** The prompt is built before the session knows its tools. Bundled skills are copied later, so that no start waits for it. */
async function offeredBefore(
  store: SkillStore,
  tools: PromptRequest["tools"],
  context: FacetContext,
): Promise<Awaited<ReturnType<SkillStore["all"]>>> {
  const { home } = context.services
  const { skills, ...rest } = await loadSkills(store.roots(), snapshotPath(home))
  const names = namesAndToolsets(
    tools.map(({ name }) => name),
    context,
  )
  return { ...rest, skills: skills.filter((skill) => store.stateOf(skill, names) === "offered") }
}

/** The bundled skills that will be copied into the home. They are listed at once, because no start waits for the copying. */
function bundledEntries(skills: readonly Skill[], { services, options }: FacetContext): readonly IndexedSkill[] {
  const root = services.home.file("skills")
  const present = skills.filter(({ source }) => source === "home")
  const taken = new Set([
    ...present.flatMap(({ name, directory }) => [name, basename(directory)]),
    ...disabledNames(services.config, platformOf(options.origin)),
    // Copied before: those that are gone were deleted by the user.
    ...readBundledManifest(root).keys(),
    ...suppressedNames(root),
  ])
  return Object.entries(BUNDLED_SKILLS.categories).flatMap(([category, names]) =>
    names.filter((name) => !taken.has(name)).map((name) => ({ name, description: "", category, nameOnly: true })),
  )
}

function indexed({ name, description, category, bundled }: Skill): IndexedSkill {
  return { name, description, category, nameOnly: bundled }
}

function toolNames(context: FacetContext): ReturnType<typeof namesAndToolsets> {
  return namesAndToolsets([...context.session().dispatch.tools.keys()], context)
}

function namesAndToolsets(names: readonly string[], { services: { registry } }: FacetContext) {
  const { tools } = registry.snapshot()
  return {
    names: new Set(names),
    toolsets: new Set(names.flatMap((name) => tools.get(name)?.toolset ?? [])),
  }
}

function skillCommands(
  store: SkillStore,
  send: {
    readonly sendWith: (message: string, text: string) => void
    readonly sendNext: (text: string) => void
    readonly load: (skill: ViewedSkill) => Promise<string>
  },
): SkillCommands {
  const list = async (): Promise<readonly SkillCommand[]> => {
    const commands = new Map<string, SkillCommand>()
    for (const { name, description } of (await store.offered()).skills) {
      const slug = skillSlug(name)
      if (slug !== undefined && !commands.has(slug)) commands.set(slug, { slug, name, description })
    }
    return [...commands.values()].toSorted((a, b) => (a.slug < b.slug ? -1 : 1))
  }
  return {
    list,
    invoke: async (slug, instruction) => {
      const command = (await list()).find((one) => one.slug === slug)
      if (command === undefined) return undefined
      const found = await store.view(command.name)
      if (!found.ok) return fail(found.error.message)
      const message = `/${slug}${instruction === "" ? "" : ` ${instruction}`}`
      send.sendWith(message, await send.load(found.value))
      await store.recordUse(command.name, { kind: "used" })
      return ok(message)
    },
    preload: async (names) => {
      const found = await Promise.all(names.map(async (name) => ({ name, skill: await store.view(name, NAMED) })))
      const problems = found.flatMap(({ skill }) => (skill.ok ? [] : [skill.error.message]))
      if (problems.length > 0) return fail(problems.join("; "))
      const texts: string[] = []
      for (const { skill } of found) if (skill.ok) texts.push(await send.load(skill.value))
      send.sendNext(texts.join("\n\n"))
      return ok(undefined)
    },
  }
}

const NAMED = { isNamedByUser: true }

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const { yes = [], no = [] } = Object.groupBy(items, (item) => (test(item) ? "yes" : "no"))
  return [yes, no]
}
