import { statSync } from "node:fs"

/**
 * The sockets that variables of our own environment name: of the agent with the person's keys, of the editor, the terminal or the
 * session that Hermes was started in. Each would do outside what is asked inside. The key to the screen counts as one.
 */
export function namedSockets(variables: Readonly<Record<string, string>>): readonly string[] {
  const paths = Object.values(variables).flatMap((value) => value.match(ABSOLUTE_PATH) ?? [])
  const screen = variables["XAUTHORITY"]
  return [...new Set(paths.filter(isSocket)), ...(screen === undefined ? [] : [screen])]
}

/** `/run/agent.sock`, `unix:/run/bus`, `unix:path=/run/bus,guid=1`, `/tmp/tmux-1/default,12,0`. */
const ABSOLUTE_PATH = /(?<![^:=])\/[^,:;]+/gu

function isSocket(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isSocket() === true
  } catch {
    // It cannot be reached, by commands neither.
    return false
  }
}
