import { readFileSync, rmSync, statSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"
import { isProgram } from "../../base/find-program.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Environment } from "../environment.ts"
import type { Home } from "../home.ts"
import { isReservedProfileName } from "./profile-name.ts"

interface WrapperContext {
  readonly home: Home
  readonly environment: Environment
}

/** Creates a command `<name>` that starts the profile. Refusals are hints, not failures: the profile works without it. */
export function writeWrapper(
  name: string,
  { home, environment, commands }: WrapperContext & { readonly commands: readonly string[] },
): { readonly path?: string; readonly hints: readonly string[] } {
  const refusal = refuseName(name, { home, environment, commands })
  if (refusal !== undefined) return { hints: [`${refusal}; start the profile with: hermes -p ${name}`] }
  const path = wrapperPath(name, home)
  try {
    makeDirectories(join(home.userHome, ".local", "bin"), 0o755)
    writeFileAtomic(path, `#!/bin/sh\n${marker(name)}\nexec hermes -p ${name} "$@"\n`, { mode: 0o755 })
  } catch (cause) {
    return {
      hints: [
        `could not write ${home.display(path)}: ${explainSystemError(cause)}; start the profile with: hermes -p ${name}`,
      ],
    }
  }
  const onPath = searchPath(environment).includes(resolve(home.userHome, ".local", "bin"))
  return { path, hints: onPath ? [] : [`~/.local/bin is not on your PATH; add it to use the command ${name}`] }
}

/** The wrapper's path if it exists and is ours. */
export function wrapperOf(name: string, { home }: WrapperContext): string | undefined {
  const path = wrapperPath(name, home)
  return isOurs(path, name) ? path : undefined
}

/** Removes the wrapper if it is ours; returns whether it was. */
export function removeWrapper(name: string, context: WrapperContext): boolean {
  const path = wrapperOf(name, context)
  if (path !== undefined) rmSync(path, { force: true })
  return path !== undefined
}

function refuseName(
  name: string,
  { home, environment, commands }: WrapperContext & { readonly commands: readonly string[] },
): string | undefined {
  if (isReservedProfileName(name)) return `the command "${name}" was not created because the name is reserved`
  if (commands.includes(name))
    return `the command "${name}" was not created because hermes has a subcommand of that name`
  const other = searchPath(environment)
    .map((directory) => join(directory, name))
    .find((path) => isProgram(path) && !isOurs(path, name))
  if (other !== undefined) return `the command "${name}" was not created because ${other} exists`
  const own = wrapperPath(name, home)
  if (statSync(own, { throwIfNoEntry: false }) !== undefined && !isOurs(own, name)) {
    return `the command "${name}" was not created because ${home.display(own)} exists`
  }
  return undefined
}

function wrapperPath(name: string, home: Home): string {
  return join(home.userHome, ".local", "bin", name)
}

function marker(name: string): string {
  return `# Made by hermes: starts the profile ${name}.`
}

/** Whether the file is a script of this or the Python edition that only starts this profile. */
function isOurs(path: string, name: string): boolean {
  try {
    const text = readFileSync(path, "utf8")
    return text.length < 4_000 && (text.includes(marker(name)) || new RegExp(`hermes\\S* -p ${name}\\b`).test(text))
  } catch {
    // Missing, a directory or unreadable: not a wrapper that we wrote.
    return false
  }
}

function searchPath(environment: Environment): readonly string[] {
  const entries = (environment.get("PATH") ?? "").split(delimiter)
  return entries.filter((entry) => entry !== "").map((entry) => resolve(entry))
}
