import { delimiter, isAbsolute } from "node:path"

import { findProgram, findTrustedProgram } from "../base/find-program.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"

/** A program outside Hermes that opens a workspace: docker, ssh and so on. */
export interface ClientProgram {
  /** The first one that is found is used. */
  readonly names: readonly string[]
  /** The environment variable with which the user chooses another program. */
  readonly variable: string
  /** Searched after the `PATH`. */
  readonly directories?: readonly string[]
  /** What to do where none is installed, as a sentence without its full stop. */
  readonly missing: string
}

/**
 * Finds a client where only an administrator can have installed it, because it runs outside the sandbox and commands may have filled
 * other directories of the `PATH`. The user can name any program with the variable.
 */
export function findClientProgram(
  client: ClientProgram,
  environment: Readonly<Record<string, string>>,
): Result<string> {
  const [first] = findClientPrograms(client, environment)
  if (first !== undefined) return ok(first)
  return fail(untrustedText(client, environment) ?? client.missing)
}

/** All candidates, the configured one alone if there is one. */
export function findClientPrograms(
  { names, variable, directories = [] }: ClientProgram,
  environment: Readonly<Record<string, string>>,
): readonly string[] {
  const configured = environment[variable] ?? ""
  // A relative path would depend on the working directory, which commands can fill.
  if (configured !== "") return isAbsolute(configured) ? [configured] : []
  const path = [environment["PATH"] ?? "", ...directories].join(delimiter)
  return names.flatMap((name) => findTrustedProgram(name, path) ?? findOnMac(name, directories) ?? [])
}

/** Homebrew and Docker Desktop install programs as the user. They are found in their own directories only, not on the `PATH`. */
function findOnMac(name: string, directories: readonly string[]): string | undefined {
  return process.platform === "darwin" ? findProgram(name, directories.join(delimiter)) : undefined
}

/** Explains why an installed program is not used. */
export function untrustedText(
  { names, variable }: ClientProgram,
  environment: Readonly<Record<string, string>>,
): string | undefined {
  const configured = environment[variable] ?? ""
  if (configured !== "") return isAbsolute(configured) ? undefined : `${variable} must be an absolute path`
  const found = names.map((name) => findProgram(name, environment["PATH"] ?? "")).find((path) => path !== undefined)
  return found === undefined
    ? undefined
    : `${found} is not used, because commands could have put it there; if you trust it, set ${variable}=${found}`
}
