import { nearest } from "../base/nearest-name.ts"

/** The built-in permission profiles, from strictest to loosest. */
export const PERMISSION_PROFILES = ["plan", "default", "accept-edits", "auto", "full-auto"] as const

/** What to write instead of a profile that does not exist; undefined when it does. `custom` are the names in `approvals.profiles`. */
export function unknownProfileFix(name: string, custom: readonly string[]): string | undefined {
  const names = [...PERMISSION_PROFILES, ...custom]
  if (names.includes(name)) return undefined
  const similar = nearest(name.replaceAll("_", "-"), names)
  return `use one of ${names.join(", ")}${similar === undefined ? "" : ` (did you mean ${similar}?)`}`
}
