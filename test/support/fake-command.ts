import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** Replaces a program that cannot run in tests: a shell script that records its arguments and prints what the real one would. */
export interface FakeCommand {
  /** Contains the program; add it to the front of PATH. */
  readonly directory: string
  /** The argument lists of all calls, in order. */
  calls(): readonly (readonly string[])[]
}

/** `script` is the body of the shell script. It may keep files in the directory `$state`. */
export function createFakeCommand(parent: string, name: string, script: string): FakeCommand {
  const directory = join(parent, `fake-${name}`)
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
