import type { ProfileDefinition, RuleLayer } from "./permission-rules.ts"
import { BUILT_IN_PROFILES } from "./profiles.ts"

/** What the settings, files and flags say about permissions, apart from what changes during a session. */
export interface PermissionPolicy {
  readonly profiles: ReadonlyMap<string, ProfileDefinition>
  /** All layers except those of the session and the profile. */
  readonly layers: readonly RuleLayer[]
  /** `command_allowlist`. */
  readonly allowedKeys: ReadonlySet<string>
  readonly planAllowsWeb: boolean
  readonly escalation: "ask" | "deny"
  /** Why the user's rules are not known. */
  readonly unreadable?: string
}

/** The built-in profiles without any rules of the user. */
export const BUILT_IN_POLICY: PermissionPolicy = {
  profiles: BUILT_IN_PROFILES,
  layers: [],
  allowedKeys: new Set(),
  planAllowsWeb: true,
  escalation: "deny",
}
