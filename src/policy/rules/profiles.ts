import { PERMISSION_PROFILES } from "../../config/permission-profiles.ts"
import type { ProfileDefinition } from "./permission-rules.ts"

type BuiltInProfile = (typeof PERMISSION_PROFILES)[number]

const BUILT_IN: Readonly<Record<BuiltInProfile, Pick<ProfileDefinition, "default" | "classifier">>> = {
  plan: { default: "plan" },
  default: { default: "detector" },
  "accept-edits": { default: "workspace" },
  auto: { default: "detector", classifier: "ml" },
  "full-auto": { default: "allow" },
}

/** The built-in permission profiles, from strictest to loosest. */
export const BUILT_IN_PROFILES: ReadonlyMap<string, ProfileDefinition> = new Map(
  PERMISSION_PROFILES.map((name) => [
    name,
    { name, rules: [], scope: "session", inheritable: true, ...BUILT_IN[name] } as const,
  ]),
)

/** The profile that applies where the named one does not exist: nothing is allowed. */
export function unknownProfile(name: string): ProfileDefinition {
  return { name, rules: [], scope: "session", inheritable: true, default: "deny" }
}
