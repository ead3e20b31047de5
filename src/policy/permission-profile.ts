import type { Config } from "../config/load-config.ts"
import { PERMISSION_PROFILES } from "../config/permission-profiles.ts"

/** The name of a built-in profile or of one in `approvals.profiles`. */
export type PermissionProfile = string

/** The profiles that a session may use: the built-in ones, then those of the settings. */
export function profileNames(config: Pick<Config, "get">): readonly PermissionProfile[] {
  return [...PERMISSION_PROFILES, ...Object.keys(config.get("approvals.profiles"))]
}

export function unknownProfileText(name: PermissionProfile, known: readonly PermissionProfile[]): string {
  return `Unknown permission profile "${name}". Use one of: ${known.join(", ")}.`
}

/** The permission profile of the settings: `approvals.profile`, else the one that `approvals.mode` names. */
export function configuredProfile(config: Pick<Config, "get">): PermissionProfile {
  const mode = config.get("approvals.mode")
  return (
    config.get("approvals.profile") ?? (Object.hasOwn(PROFILE_OF_MODE, mode) ? (PROFILE_OF_MODE[mode] ?? mode) : mode)
  )
}

const PROFILE_OF_MODE: Readonly<Record<string, string>> = { manual: "default", smart: "auto", off: "full-auto" }

/** What a call means that the auto profile cannot decide. The legacy mode `smart` always asked. */
export function configuredEscalation(config: Pick<Config, "get">): "ask" | "deny" {
  const isLegacy = config.get("approvals.profile") === null && config.get("approvals.mode") === "smart"
  return isLegacy ? "ask" : config.get("approvals.auto_escalation")
}
