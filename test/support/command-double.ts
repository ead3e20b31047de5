import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** A stand-in for a program we cannot run here: it writes down how it was called and answers as the real one would. */
export interface CommandDouble {
  /** To be put at the front of PATH. */
  readonly directory: string
  /** The argument lists of all calls, in order. */
  calls(): readonly (readonly string[])[]
}

/** `script` is the body of a shell script; `$state` is a directory it may keep files in. */
export function createCommandDouble(folder: string, name: string, script: string): CommandDouble {
  const directory = join(folder, `double-${name}`)
  const log = join(directory, "calls")
  mkdirSync(directory, { recursive: true })
  writeFileSync(log, "")
  const program = join(directory, name)
  writeFileSync(
    program,
    `#!/bin/sh\n{ printf '%s\\002' "$@"; printf '\\001\\n'; } >>'${log}'\nstate='${directory}'\n${script}\n`,
  )
  chmodSync(program, 0o755)
  return {
    directory,
    calls: () =>
      readFileSync(log, "utf8")
        .split("\u0001\n")
        .filter((call) => call !== "")
        .map((call) => call.split("\u0002").slice(0, -1)),
  }
}
