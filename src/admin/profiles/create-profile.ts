import { DEFAULT_IDENTITY } from "../../agent/prompt/build-prompt.ts"
import type { Result } from "../../base/result.ts"
import { createProfile } from "../../config/profiles/profile-create.ts"
import type { CreatedProfile, CreateProfileOptions } from "../../config/profiles/profile-create.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"

/** Creates a profile with the default `SOUL.md`. This release has no bundled skills to install. */
export async function createProfileWithDefaultSoul(
  { home, environment }: HomeContext,
  options: Omit<CreateProfileOptions, "soul" | "seedSkills">,
): Promise<Result<CreatedProfile, AdminFailure>> {
  const seedSkills = (): Promise<void> => Promise.resolve()
  const soul = `${DEFAULT_IDENTITY}\n`
  return await createProfile({ home, environment }, { ...options, soul, seedSkills })
}
