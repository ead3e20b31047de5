import { existsSync } from "node:fs"
import { dirname, isAbsolute, join, resolve } from "node:path"

import type { Config } from "../../config/load-config.ts"
import type { Home } from "../../config/home.ts"
import type { SkillRoot } from "./skill.ts"

/** Where other agents keep the skills of an account and of a project. */
const ACCOUNT_DIRECTORIES = [".claude/skills", ".codex/skills", ".agents/skills", ".config/opencode/skills"]
const PROJECT_DIRECTORIES = [".hermes/skills", ".agents/skills", ".claude/skills", ".codex/skills"]
const MAX_ANCESTORS = 40

/**
 * The directories that are searched for skills, in order of precedence: the home, `skills.external_dirs`, and where other agents keep
 * theirs (`skills.other_agents`). Only directories that exist.
 */
export function skillRoots({
  home,
  config,
  project,
}: {
  readonly home: Home
  readonly config: Pick<Config, "get">
  /** The working directory of a session on this machine whose project may bring skills. */
  readonly project: string | undefined
}): readonly SkillRoot[] {
  const discovered = config.get("skills.other_agents")
  const candidates: readonly SkillRoot[] = [
    { path: home.file("skills"), kind: "home" },
    ...config.get("skills.external_dirs").map((path): SkillRoot => ({ path: expanded(path, home), kind: "external" })),
    ...(discovered === "all" || discovered === "user"
      ? ACCOUNT_DIRECTORIES.map((path): SkillRoot => ({ path: join(home.userHome, path), kind: "user" }))
      : []),
    ...(project !== undefined && (discovered === "all" || discovered === "project") ? projectRoots(project, home) : []),
  ]
  const seen = new Set<string>()
  return candidates.filter(({ path }) => {
    if (seen.has(path) || !existsSync(path)) return false
    seen.add(path)
    return true
  })
}

/** In the working directory and above it in the same repository; outside a repository only in the working directory. */
function projectRoots(cwd: string, { userHome, path: hermesHome }: Home): readonly SkillRoot[] {
  const ancestors: string[] = []
  for (let directory = cwd; ancestors.length < MAX_ANCESTORS; directory = dirname(directory)) {
    // The directories of the account are not those of a project.
    if (directory === userHome || join(directory, ".hermes") === hermesHome || directory === ancestors.at(-1)) break
    ancestors.push(directory)
    if (existsSync(join(directory, ".git"))) return ancestors.flatMap(rootsIn)
  }
  return ancestors.slice(0, 1).flatMap(rootsIn)
}

function rootsIn(directory: string): readonly SkillRoot[] {
  return PROJECT_DIRECTORIES.map((name): SkillRoot => ({ path: join(directory, name), kind: "project" }))
}

function expanded(path: string, { userHome, path: hermesHome }: Home): string {
  const full = path.replace(/^~(?=\/|$)/u, userHome).replaceAll(/\$\{HERMES_HOME\}|\$HERMES_HOME\b/gu, hermesHome)
  return isAbsolute(full) ? full : resolve(hermesHome, full)
}
