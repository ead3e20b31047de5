import { existsSync, rmSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"

import { nearest } from "../../base/nearest-name.ts"
import { ok, type Result } from "../../base/result.ts"
import { bundledSkills, syncBundle, type SkillBundle } from "../../app/services/bundled-skills.ts"
import { loadJudge } from "../../app/skills/load-judge.ts"
import { editConfig } from "../../config/edit-config.ts"
import { ensureHome } from "../../config/home.ts"
import {
  NO_BUNDLED_SKILLS,
  readBundledManifest,
  writeBundledManifest,
} from "../../knowledge/skills/bundled-manifest.ts"
import { bundledDirectories, syncBundledSkills } from "../../knowledge/skills/bundled-sync.ts"
import { readHubLock } from "../../knowledge/skills/hub-lock.ts"
import { scanSkillRoot } from "../../knowledge/skills/scan-skills.ts"
import type { Skill } from "../../knowledge/skills/skill.ts"
import { contentHash } from "../../knowledge/skills/skill-files.ts"
import { createSkillStore, type SkillStore } from "../../knowledge/skills/skill-store.ts"
import { scanThreats } from "../../knowledge/threat-scan.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"

export type SkillOrigin = "builtin" | "hub" | "local" | "external"

export interface ListedSkill {
  readonly skill: Skill
  readonly origin: SkillOrigin
  /** `refused`: the guard keeps it from being loaded. */
  readonly state: ReturnType<SkillStore["stateOf"]> | "refused"
  /** Why it is refused. */
  readonly refusal?: string
}

/** All skills of a home and of the directories it names, with where they come from. `cwd` adds those of a project. */
export async function listSkills(context: HomeContext, cwd?: string): Promise<readonly ListedSkill[]> {
  const { home, config, environment, clock } = await loadHome(context)
  const bundle = bundledSkills({ home, environment })
  const store = createSkillStore({
    home,
    config,
    environment,
    clock,
    loadJudge,
    platform: "cli",
    ...(cwd === undefined ? {} : { project: cwd }),
    ...(bundle === undefined
      ? {}
      : {
          prepare: async () => {
            await syncBundle(bundle, home)
          },
        }),
  })
  const { skills } = await store.all()
  const installed = new Set(
    readHubLock(home.file("skills")).map((entry) => join(home.file("skills"), entry.install_path)),
  )
  const listed: ListedSkill[] = []
  for (const skill of skills) {
    const refusal = (await store.refusal(skill)) ?? refusedDescription(skill)
    const state = refusal === undefined ? store.stateOf(skill) : "refused"
    listed.push({ skill, origin: originOf(skill, installed), state, ...(refusal === undefined ? {} : { refusal }) })
  }
  return listed
}

/** The prompt leaves out a skill of the project whose description looks like an attack. */
function refusedDescription({ name, description, source }: Skill): string | undefined {
  if (source !== "project") return undefined
  const threats = scanThreats(`${name}\n${description}`, "context")
  return threats.length === 0 ? undefined : `its description looks like an attack (${threats.join(", ")})`
}

function originOf(skill: Skill, installed: ReadonlySet<string>): SkillOrigin {
  if (skill.source !== "home") return "external"
  if (installed.has(skill.directory)) return "hub"
  return skill.bundled ? "builtin" : "local"
}

/** Adds a skill to `skills.disabled` or removes it. Returns false when nothing had to change. */
export async function setSkillEnabled(
  context: HomeContext,
  name: string,
  enabled: boolean,
): Promise<Result<boolean, AdminFailure>> {
  const { config } = await loadHome(context)
  const disabled = config.get("skills.disabled")
  const isKnown = (await listSkills(context)).some(({ skill }) => skill.name === name)
  if (!isKnown && !disabled.includes(name)) return failed(`there is no skill ${name}; hermes skills list shows them`)
  if (disabled.includes(name) !== enabled) return ok(false)
  const value = enabled ? disabled.filter((other) => other !== name) : [...disabled, name]
  const edited = await editConfig(context, [{ path: "skills.disabled", value }])
  return edited.ok ? ok(true) : edited
}

/** Stops copying bundled skills into the home; `remove` also removes those that the user has not changed. */
export function optOut({ home, environment }: HomeContext, options: { readonly remove: boolean }): readonly string[] {
  ensureHome(home, environment)
  writeFileSync(home.file(NO_BUNDLED_SKILLS), "")
  if (!options.remove) return []
  const root = home.file("skills")
  const recorded = readBundledManifest(root)
  const removed = scanSkillRoot({ path: root, kind: "home" }).skills.filter(({ directory }) => {
    const hash = recorded.get(basename(directory))
    return hash !== undefined && hash === contentHash(directory)
  })
  for (const { directory } of removed) rmSync(directory, { recursive: true })
  const names = removed.map(({ directory }) => basename(directory))
  writeBundledManifest(root, new Map([...recorded].filter(([name]) => !names.includes(name))))
  return names
}

/** Copies bundled skills again, at the next start or now. Returns the names that were copied. */
export async function optIn(context: HomeContext, options: { readonly sync: boolean }): Promise<readonly string[]> {
  const { home, environment } = context
  rmSync(home.file(NO_BUNDLED_SKILLS), { force: true })
  const bundle = bundledSkills({ home, environment })
  if (!options.sync || bundle === undefined) return []
  const { added } = await syncBundledSkills({ bundle: bundle.directory, skillsRoot: home.file("skills") })
  return added
}

/** The bundle that has the original of a skill. Fails where there is none. */
export async function findOriginal(
  { home, environment }: HomeContext,
  name: string,
): Promise<Result<SkillBundle, AdminFailure>> {
  const bundle = bundledSkills({ home, environment })
  if (bundle === undefined)
    return failed("bundled skills are turned off in this home; hermes skills opt-in turns them on")
  const names = (await bundledDirectories(bundle.directory)).map((path) => basename(path))
  if (names.includes(name)) return ok(bundle)
  const near = nearest(name, names)
  return failed(
    `the skill ${name} does not belong to Hermes, so there is no original${near === undefined ? "" : `; did you mean ${near}?`}`,
  )
}

/** Replaces a bundled skill with the original, also one that was deleted. */
export async function resetBundledSkill(context: HomeContext, name: string): Promise<Result<undefined, AdminFailure>> {
  const { home } = context
  const found = await findOriginal(context, name)
  if (!found.ok) return found
  const root = home.file("skills")
  const existing = scanSkillRoot({ path: root, kind: "home" }).skills.find(
    ({ directory }) => basename(directory) === name,
  )
  if (existing !== undefined && existsSync(existing.directory)) rmSync(existing.directory, { recursive: true })
  const recorded = readBundledManifest(root)
  writeBundledManifest(root, new Map([...recorded].filter(([other]) => other !== name)))
  await syncBundledSkills({ bundle: found.value.directory, skillsRoot: root })
  return ok(undefined)
}
