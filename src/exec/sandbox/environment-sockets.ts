import { statSync } from "node:fs"

/**
 * Finds sockets whose paths appear in environment variables: the SSH agent, the editor, the terminal or the session that Hermes was
 * started in. A sandboxed command could use each of them to run something outside. Includes the X authority file, which grants access to
 * the display.
 */
export function socketsInEnvironment(variables: Readonly<Record<string, string>>): readonly string[] {
  const paths = Object.values(variables).flatMap((value) => value.match(ABSOLUTE_PATH) ?? [])
  const authority = variables["XAUTHORITY"]
  return [...new Set(paths.filter(isSocket)), ...(authority === undefined ? [] : [authority])]
}

/** `/run/agent.sock`, `unix:/run/bus`, `unix:path=/run/bus,guid=1`, `/tmp/tmux-1/default,12,0`. */
const ABSOLUTE_PATH = /(?<![^:=])\/[^,:;]+/gu

function isSocket(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isSocket() === true
  } catch {
    // Not accessible, so commands cannot access it either.
    return false
  }
}
