/** The built-in permission profiles, from strictest to loosest. */
export const PERMISSION_PROFILES = ["plan", "default", "accept-edits", "auto", "full-auto"] as const
