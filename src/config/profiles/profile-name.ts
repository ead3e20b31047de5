/** Names that would conflict with the product, the root home or well-known accounts. */
const RESERVED: readonly string[] = ["hermes", "default", "test", "tmp", "root", "sudo"]

export function isProfileName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name)
}

/** Names are lower case: `Coder` becomes `coder`. */
export function normalizeProfileName(name: string): string {
  return name.trim().toLowerCase()
}

export function isReservedProfileName(name: string): boolean {
  return RESERVED.includes(name)
}
