import { posix } from "node:path"

export function isWholeDisk(operand: string): boolean {
  const path = normalizeTarget(operand)
  return path === "/" || path.startsWith("/{")
}

export function isSystemDirectory(operand: string): boolean {
  return SYSTEM_DIRECTORIES.has(normalizeTarget(operand).toLowerCase())
}

export function isUserHome(operand: string): boolean {
  return HOMES.has(normalizeTarget(operand))
}

/** Resolves `.`, `..` and `//` and removes a trailing slash or `*`, so that other spellings of a path match too. */
function normalizeTarget(operand: string): string {
  const path = posix.normalize(operand.replace(/\*+$/, ""))
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
}

const HOMES = new Set(["~", "$HOME", "${HOME}"])

const SYSTEM_DIRECTORIES = new Set(
  "home root etc usr var bin sbin boot lib lib64 opt dev proc sys users system library applications"
    .split(" ")
    .map((name) => `/${name}`),
)
