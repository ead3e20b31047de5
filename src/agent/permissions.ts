import type { EffectiveRules } from "../policy/decide.ts"
import type { PermissionProfile } from "../policy/permission-profile.ts"
import type { Origin } from "./origin.ts"

/** What a session may do, and whether a user is present to ask. Grants last as long as the session. */
export interface Permissions {
  rules(): EffectiveRules
  grant(rule: string): void
  readonly profile: PermissionProfile
  /** Applies from the next call on; grants stay. */
  setProfile(profile: PermissionProfile): void
  attended(): boolean
  /** What "ask" means without a user. */
  readonly headless: "deny" | "approve"
  readonly askTimeoutMs: number
}

export function createPermissions(options: {
  readonly profile: PermissionProfile
  readonly origin: Pick<Origin, "attended">
  readonly headless: "deny" | "approve"
  readonly askTimeoutMs: number
}): Permissions {
  const granted = new Set<string>()
  let current = options.profile
  return {
    rules: () => ({ profile: current, granted }),
    grant: (rule) => {
      granted.add(rule)
    },
    get profile() {
      return current
    },
    setProfile: (profile) => {
      current = profile
    },
    attended: () => options.origin.attended(),
    headless: options.headless,
    askTimeoutMs: options.askTimeoutMs,
  }
}
