import { posix } from "node:path"

/** What the operand of a delete really names, so that `//`, `/.` and `/usr/..` are no way around. */

export function isWholeDisk(operand: string): boolean {
  const path = place(operand)
  return path === "/" || path.startsWith("/{")
}

export function isSystemDirectory(operand: string): boolean {
  return SYSTEM_DIRECTORIES.has(place(operand).toLowerCase())
}

export function isUserHome(operand: string): boolean {
  return HOMES.has(place(operand))
}

/** Without a final slash or `*`, and with `.` and `..` worked out. */
function place(operand: string): string {
  const path = posix.normalize(operand.replace(/\*+$/, ""))
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
}

const HOMES = new Set(["~", "$HOME", "${HOME}"])

const SYSTEM_DIRECTORIES = new Set(
  "home root etc usr var bin sbin boot lib lib64 opt dev proc sys users system library applications"
    .split(" ")
    .map((name) => `/${name}`),
)
