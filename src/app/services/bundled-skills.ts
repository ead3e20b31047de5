import { existsSync } from "node:fs"
import { join } from "node:path"

import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import { BUNDLED_SKILLS } from "../../knowledge/skills/bundled.generated.ts"
import { NO_BUNDLED_SKILLS } from "../../knowledge/skills/bundled-manifest.ts"
import { saveSnapshot } from "../../knowledge/skills/load-skills.ts"
import { readSkillSnapshot } from "../../knowledge/skills/skill-snapshot.ts"
import { snapshotPath } from "../../knowledge/skills/skill-store.ts"
import { ownProgram } from "../permissions/program-root.ts"

/** The skills that come with this release. */
export interface SkillBundle {
  readonly directory: string
  /** Changes when one of them changes. */
  readonly hash: string
}

/** Undefined when the user wants none, or the package has none. */
export function bundledSkills({
  home,
  environment,
}: {
  readonly home: Home
  readonly environment: Environment
}): SkillBundle | undefined {
  if (existsSync(home.file(NO_BUNDLED_SKILLS))) return undefined
  const named = environment.get("HERMES_BUNDLED_SKILLS")?.trim() ?? ""
  if (named !== "") return { directory: named, hash: "" }
  const { programRoot } = ownProgram()
  return programRoot === undefined ? undefined : { directory: join(programRoot, "skills"), hash: BUNDLED_SKILLS.hash }
}

/** Copies the bundled skills into the home, unless exactly these were copied before. Returns whether there was work. */
export async function syncBundle({ directory, hash }: SkillBundle, home: Home): Promise<boolean> {
  const path = snapshotPath(home)
  if (hash !== "" && readSkillSnapshot(path).bundle === hash) return false
  if (!existsSync(directory)) return false
  const { syncBundledSkills } = await import("../../knowledge/skills/bundled-sync.ts")
  await syncBundledSkills({ bundle: directory, skillsRoot: home.file("skills") })
  saveSnapshot(path, { ...readSkillSnapshot(path), bundle: hash })
  return true
}
