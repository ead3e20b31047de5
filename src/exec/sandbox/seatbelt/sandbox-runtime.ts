import { realpathSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"

import { isProgram } from "../../../base/find-program.ts"
import { fail, ok } from "../../../base/result.ts"
import type { Result } from "../../../base/result.ts"
import { errorMessage } from "../../../base/system-error.ts"
import type { RuntimeParameters } from "./runtime-parameters.ts"

/** Turns walls into a command line that starts a program inside them. Throws when it cannot. */
export interface SandboxRuntime {
  wrap(parameters: RuntimeParameters): readonly string[]
}

/** `path` is the PATH on which the package looks for a program. */
export type LoadSandboxRuntime = (path: string) => Promise<Result<SandboxRuntime>>

/** The version that the parameters were written for. The package is a preview, and its rules change between versions. */
const PACKAGE = "@anthropic-ai/sandbox-runtime@0.0.83"
const INSTALL = `install it with \`npm install -g ${PACKAGE}\``

/**
 * Loads the package that writes Seatbelt profiles. Its manager is one per process, with one network and asynchronous; the function below it
 * needs neither, so that conversations have walls of their own.
 */
export async function loadSandboxRuntime(path: string): Promise<Result<SandboxRuntime>> {
  try {
    const { wrapCommandWithSandboxMacOS } =
      await import("@anthropic-ai/sandbox-runtime/dist/sandbox/macos-sandbox-utils.js")
    const runtime = seatbeltRuntime(wrapCommandWithSandboxMacOS, path)
    return keepsWalls(runtime)
      ? ok(runtime)
      : fail(`the installed @anthropic-ai/sandbox-runtime does not fit; ${INSTALL}`)
  } catch (error) {
    return fail(
      isMissing(error)
        ? `@anthropic-ai/sandbox-runtime is not installed; ${INSTALL}`
        : `@anthropic-ai/sandbox-runtime cannot be used (${errorMessage(error)}); ${INSTALL}`,
    )
  }
}

function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    (error.code === "ERR_MODULE_NOT_FOUND" || error.code === "MODULE_NOT_FOUND")
  )
}

type WrapCommand = (parameters: Omit<RuntimeParameters, "variables"> & { command: string }) => string

/** Enough for the commands of the conversations that are active at the same time. */
const MAX_REMEMBERED = 32
const SHELL = "/bin/bash"

export function seatbeltRuntime(wrapCommand: WrapCommand, path: string): SandboxRuntime {
  // The package starts a program for each command line that it writes.
  const remembered = new Map<string, string>()
  const wrapped = (parameters: Omit<RuntimeParameters, "variables">): string => {
    const key = JSON.stringify(parameters)
    const known = remembered.get(key)
    if (known !== undefined) return known
    refuseReplacedProgram("which", { path, writable: parameters.writeConfig?.literalAllowOnly ?? [] })
    const line = wrapCommand({ ...parameters, command: `exec ${ENV} "$@"`, binShell: SHELL })
    if (!line.startsWith("env ")) throw new Error("the command line of @anthropic-ai/sandbox-runtime has another form")
    for (const oldest of remembered.keys()) if (remembered.size >= MAX_REMEMBERED) remembered.delete(oldest)
    remembered.set(key, line)
    return line
  }
  return {
    wrap: ({ variables, ...parameters }) => {
      const line = wrapped(parameters).slice("env ".length)
      // The package sets TMPDIR to a directory of its own; the command keeps the one it has.
      const script = `exec ${ENV} ${line} bash "TMPDIR=\${TMPDIR:-/tmp}" "$@"`
      return ["/bin/sh", "-c", script, "sh", ...Object.entries(variables).map(([name, value]) => `${name}=${value}`)]
    },
  }
}

/** By its path: it runs outside the walls, and a command may have written to a directory of the PATH. */
const ENV = "/usr/bin/env"

function refuseReplacedProgram(
  name: string,
  { path, writable }: { readonly path: string; readonly writable: readonly string[] },
): void {
  // Like the system, which takes an empty or relative entry as a directory below the working directory.
  const found = path
    .split(delimiter)
    .map((directory) => join(resolve(directory), name))
    .find(isProgram)
  if (found === undefined) return
  const names = [found, realpathSync(found)]
  if (writable.some((directory) => names.some((one) => one.startsWith(`${directory}/`))))
    throw new Error(
      `${found} can be written by commands and would run outside the sandbox; remove its directory from the PATH`,
    )
}

/** Whether the rules for reading, writing and the network are in the profile. In another version a parameter may have another name. */
function keepsWalls(runtime: SandboxRuntime): boolean {
  const profile = runtime
    .wrap({
      needsNetworkRestriction: true,
      readConfig: { denyOnly: [], literalDenyOnly: ["/probe-hidden"], literalAllowWithinDeny: ["/probe-hidden/shown"] },
      writeConfig: {
        allowOnly: [],
        literalAllowOnly: ["/probe-writable"],
        denyWithinAllow: [],
        literalDenyWithinAllow: ["/probe-writable/protected"],
      },
      variables: {},
    })
    .join(" ")
  return (
    [
      String.raw`\(deny default`,
      String.raw`\(deny file-read\*\s+\(subpath "/probe-hidden"\)`,
      String.raw`\(allow file-read\*\s+\(subpath "/probe-hidden/shown"\)`,
      String.raw`\(allow file-write\*\s+\(subpath "/probe-writable"\)`,
      String.raw`\(deny file-write\*\s+\(subpath "/probe-writable/protected"\)`,
    ].every((rule) => new RegExp(rule, "u").test(profile)) && !profile.includes("(allow network*)")
  )
}
