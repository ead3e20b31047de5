import { assertNever } from "../../base/assert-never.ts"
import type { CommandFinding, Effect, Walls } from "../commands/command-verdict.ts"
import { isWithin } from "../file-floor.ts"

/**
 * The findings that still need an answer where the command runs: a finding goes when the walls prevent everything it would do. The
 * floor stays, except in a container, where a command cannot reach the host.
 */
export function withoutPrevented(findings: readonly CommandFinding[], walls: Walls): readonly CommandFinding[] {
  if (walls.kind === "none" || findings.length === 0) return findings
  if (walls.kind === "container") return []
  return findings.filter(
    ({ level, effects }) =>
      level === "hardline" ||
      level === "sudo_guard" ||
      effects.length === 0 ||
      !effects.every((effect) => isPrevented(effect, walls)),
  )
}

function isPrevented(effect: Effect, walls: Extract<Walls, { kind: "sandbox" }>): boolean {
  switch (effect.kind) {
    case "write":
    case "delete":
      return effect.path !== undefined && isContained(effect.path, walls)
    case "network":
      // With a list of hosts, the proxy refuses the others and asks about them itself.
      return walls.network !== "on"
    case "outside":
      return walls.network === "off" && walls.sockets === undefined
    case "system":
    case "privileges":
    case "code":
      return true
    case "credentials":
    case "person":
      return false
    default:
      return assertNever(effect)
  }
}

/** Outside the writable directories nothing changes. Inside, a checkpoint must be able to restore it. */
function isContained(path: string, { writable, isRestorable }: Extract<Walls, { kind: "sandbox" }>): boolean {
  if (writable.some((directory) => isWithin(path, directory))) return isRestorable(path)
  // A directory above a writable one: the change would reach what is inside.
  return !writable.some((directory) => isWithin(directory, path))
}
