import { DEFAULT_IDENTITY } from "../../agent/prompt/build-prompt.ts"
import { bundledSkills, syncBundle } from "../../app/services/bundled-skills.ts"
import type { Result } from "../../base/result.ts"
import type { Home } from "../../config/home.ts"
import { createProfile } from "../../config/profiles/profile-create.ts"
import type { CreatedProfile, CreateProfileOptions } from "../../config/profiles/profile-create.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"

/** Creates a profile with the default `SOUL.md` and the bundled skills. */
export async function createProfileWithDefaultSoul(
  { home, environment }: HomeContext,
  options: Omit<CreateProfileOptions, "soul" | "seedSkills">,
): Promise<Result<CreatedProfile, AdminFailure>> {
  const seedSkills = async (created: Home): Promise<void> => {
    const bundle = bundledSkills({ home: created, environment })
    if (bundle !== undefined) await syncBundle(bundle, created)
  }
  const soul = `${DEFAULT_IDENTITY}\n`
  return await createProfile({ home, environment }, { ...options, soul, seedSkills })
}
