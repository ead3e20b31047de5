import type { EffectiveRules } from "../policy/decide.ts"
import type { PermissionProfile } from "../policy/permission-profile.ts"

/** What a session may do, and whether somebody is there to be asked. Grants live and die with the session. */
export interface Permissions {
  rules(): EffectiveRules
  grant(rule: string): void
  /** A person can answer questions of this run. */
  readonly attended: boolean
  /** What "ask" means when nobody is there. */
  readonly headless: "deny" | "approve"
  readonly askTimeoutMs: number
}

export function createPermissions(options: {
  readonly profile: PermissionProfile
  readonly attended: boolean
  readonly headless: "deny" | "approve"
  readonly askTimeoutMs: number
}): Permissions {
  const granted = new Set<string>()
  return {
    rules: () => ({ profile: options.profile, granted }),
    grant: (rule) => {
      granted.add(rule)
    },
    attended: options.attended,
    headless: options.headless,
    askTimeoutMs: options.askTimeoutMs,
  }
}
