import { existsSync, mkdirSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { runProgram } from "../run-program.ts"
import { serversDirectory } from "./server-paths.ts"

const INSTALL_TIMEOUT_MS = 600_000
const MAX_REASON_CHARS = 500

/**
 * Installs npm packages into the Hermes home, with the user's npm. Does not run install scripts: no server of the table needs them,
 * and a compromised package would use them.
 */
export async function installPackages(
  packages: readonly string[],
  options: {
    readonly home: string
    readonly environment: Readonly<Record<string, string>>
    readonly signal: AbortSignal
  },
): Promise<Result<undefined>> {
  const npm = (options.environment["PATH"] ?? "")
    .split(delimiter)
    .filter((directory) => isAbsolute(directory))
    .map((directory) => join(directory, "npm"))
    .find((file) => existsSync(file))
  if (npm === undefined) return fail("npm is not on the PATH; install Node.js with npm")
  const directory = serversDirectory(options.home)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const manifest = join(directory, "package.json")
  // Without a package.json here, npm would install into the nearest parent directory that has one.
  if (!existsSync(manifest)) writeFileAtomic(manifest, `${JSON.stringify({ private: true }, undefined, 2)}\n`)
  const result = await runProgram(
    [
      npm,
      "install",
      "--prefix",
      directory,
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      ...packages,
    ],
    { environment: options.environment, signal: options.signal, timeoutMs: INSTALL_TIMEOUT_MS },
  )
  if (result.ended === "interrupted") return fail("npm was interrupted")
  if (result.ended === "timed-out") return fail("npm did not finish within 10 minutes")
  if (result.code === 0) return ok(undefined)
  const reason = result.notStarted ?? result.stderr.trim()
  return fail(`npm failed: ${reason === "" ? `it exited with code ${result.code}` : reason.slice(0, MAX_REASON_CHARS)}`)
}
