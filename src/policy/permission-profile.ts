import type { Config } from "../config/load-config.ts"
import { PERMISSION_PROFILES } from "../config/permission-profiles.ts"

export type PermissionProfile = (typeof PERMISSION_PROFILES)[number]

export function isPermissionProfile(name: string): name is PermissionProfile {
  return PERMISSION_PROFILES.some((profile) => profile === name)
}

/** The permission profile of the settings: `approvals.profile`, else the one that `approvals.mode` names. */
export function configuredProfile(config: Pick<Config, "get">): PermissionProfile {
  const mode = config.get("approvals.mode")
  return config.get("approvals.profile") ?? (isPermissionProfile(mode) ? mode : PROFILE_OF_MODE[mode])
}

const PROFILE_OF_MODE = { manual: "default", smart: "auto", off: "full-auto" } as const
