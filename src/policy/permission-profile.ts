/** The built-in permission profiles, from strictest to loosest. */
export const PERMISSION_PROFILES = ["plan", "default", "accept-edits", "auto", "full-auto"] as const
export type PermissionProfile = (typeof PERMISSION_PROFILES)[number]

export function isPermissionProfile(name: string): name is PermissionProfile {
  return PERMISSION_PROFILES.some((profile) => profile === name)
}
